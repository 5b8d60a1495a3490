package story

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestNodesThatMustGo has one lab take a spot machine back, and another of its nodes grow old.
func TestNodesThatMustGo(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/requirements/2/values","value":["spot"]}]`)
	l.apply("inflate.yaml")
	l.scale("inflate", 2)
	l.until("both pods run", 4*time.Minute, func() bool { return l.running("inflate", 2) })
	l.isTakenBack()
	l.isTooOld()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 4*time.Minute, l.nothingLeft)
}

// isTakenBack evicts a machine, and looks that its pods are elsewhere and that nothing of it is left.
func (l *lab) isTakenBack() {
	l.t.Helper()
	pods := l.pods("inflate")
	old, ended := pods[0].Spec.NodeName, ""
	var taken map[string]string
	for _, n := range l.nodes() {
		if n.Name == old {
			taken = n.Labels
		}
	}
	l.do("evict", old)
	l.until("the NodeClaim says by when it goes", time.Minute, func() bool {
		for _, c := range l.claims() {
			if c.Status.NodeName == old && c.DeletionTimestamp != nil {
				ended = c.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]
			}
		}
		return ended != ""
	})
	l.until("all pods run elsewhere", 4*time.Minute, func() bool {
		for _, p := range l.pods("inflate") {
			if p.Spec.NodeName == old {
				return false
			}
		}
		return l.running("inflate", 2)
	})
	l.until("nothing of the machine is left", 4*time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.Name == old {
				return false
			}
		}
		return l.atRest()
	})
	for _, n := range l.nodes() {
		if same(n, taken) && n.CreationTimestamp.After(pods[0].CreationTimestamp.Time) {
			l.t.Errorf("%s is bought as the very machine that was taken back: %v", n.Name, taken)
		}
	}
	l.resourcesBelongToNodes()
}

// same reports whether a node was bought as another was, of which the labels are given.
func same(n corev1.Node, labels map[string]string) bool {
	for _, k := range []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, karpv1.CapacityTypeLabelKey} {
		if n.Labels[k] != labels[k] {
			return false
		}
	}
	return true
}

// isTooOld has the nodes of the pool live for four minutes from now on, and looks that one of these is replaced before.
func (l *lab) isTooOld() {
	l.t.Helper()
	const life = 4 * time.Minute
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "merge", "-p",
		`{"spec":{"template":{"spec":{"expireAfter":"4m"}}}}`)
	var first types.UID
	l.until("a node is bought that lives so long", 6*time.Minute, func() bool {
		for _, c := range l.claims() {
			if c.Spec.ExpireAfter.Duration != nil && *c.Spec.ExpireAfter.Duration == life {
				first = c.UID
			}
		}
		return first != ""
	})
	var claim karpv1.NodeClaim
	var asked time.Time
	l.until("it is replaced", life+4*time.Minute, func() bool {
		for _, c := range l.claims() {
			if c.UID == first {
				claim = c
			}
		}
		err := l.Get(l.t.Context(), client.ObjectKeyFromObject(&claim), &karpv1.NodeClaim{})
		if claim.DeletionTimestamp != nil {
			asked = claim.DeletionTimestamp.Time
		}
		return err != nil || !asked.IsZero()
	})
	if age := asked.Sub(claim.CreationTimestamp.Time); age >= life {
		l.t.Errorf("it was %s old when it was asked to go, and was to live for %s", age, life)
	}
	l.until("both pods run", 4*time.Minute, func() bool { return l.running("inflate", 2) })
}
