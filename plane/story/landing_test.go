package story

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// landingPatience bounds how long 500 pods may take to run once their machines are bought. A busy machine needs a minute; a pod that waits
// until kube-scheduler flushes its queue needs five.
const landingPatience = 150 * time.Second

// missed bounds for how many of the 500 pods another machine may be bought, or was before they found another place, when kube-scheduler is told what was planned: mostly 1
// to 7 were seen, twice over 20. Without, there are about 80. Of pods that may go only to some zone, the last may find the room that is left there in pieces that are too small.
const missed = 40

// TestLanding lets 500 pods of mixed shapes wait, then opens a pool for them: one plan is made, kube-scheduler is told of it, and the real one must
// bind the pods to what was bought for them.
func TestLanding(t *testing.T) {
	l := up(t, "--boot-time", "0s", "--boot-spread", "3s", "--feature-gates", "nominatedNodes=true")
	planned, again, more := l.landMixture()
	l.until("each claim has its node", time.Minute, func() bool { return len(l.claims()) == len(l.nodes()) }) // the last pod may run before
	t.Logf("%d machines were planned, %d are there; bought for again: %d of 500 pods: %s", planned, len(l.nodes()), len(again), strings.Join(again, ", "))
	t.Logf("the machines that were not planned at first are for: %s", strings.Join(more, "; "))
	if len(again) > missed {
		t.Errorf("too many pods did not get the place that was bought for them: %s", strings.Join(again, ", "))
	}
	l.do("kubectl", "delete", "deployments", "--all")
	l.do("kubectl", "delete", "nodepool", "landing", "--wait=false")
	l.until("nothing is left", 2*time.Minute, l.nothingLeft)
}

// landMixture returns how many machines were planned at once, the pods that more than one was bought for, and what the machines that were
// bought later were bought for.
func (l *lab) landMixture() (planned int, again, more []string) {
	l.t.Helper()
	l.apply("general-purpose.yaml")
	l.remove(pool("general-purpose", nil))
	list := mixture()
	total := 0
	for _, w := range list {
		l.create(w.deployment())
		total += w.pods
	}
	if total != 500 {
		l.t.Fatalf("the mixture has %d pods", total)
	}
	l.until("the scheduler found no place for any of them", 2*time.Minute, func() bool {
		waiting := 0
		for _, w := range list {
			for _, p := range l.pods(w.name) {
				if unschedulable(p) {
					waiting++
				}
			}
		}
		return waiting == total
	})
	l.create(pool("landing", func(p *karpv1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	}))
	first := map[string]bool{}
	l.until("a machine is bought for every pod", time.Minute, func() bool {
		pods := map[string]bool{}
		clear(first)
		for _, c := range l.claims() {
			first[c.Name] = true
			for pod := range strings.SplitSeq(c.Annotations["karpenter.azure.com/planned-pods"], ",") {
				pods[pod] = true
			}
		}
		return len(pods) == total
	})
	l.land(landingPatience, func() {}, list...)
	for _, c := range l.claims() {
		if !first[c.Name] {
			more = append(more, c.Annotations["karpenter.azure.com/planned-pods"])
		}
	}
	return len(first), l.boughtTwice(), more
}

func unschedulable(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// mixture is 500 pods: half of them plain in five sizes, the others with every kind of constraint.
func mixture() []workload {
	var out []workload
	add := func(kind string, pods int, cpu string, edit func(w workload, s *corev1.PodSpec)) {
		w := workload{name: fmt.Sprintf("%s-%d", kind, len(out)), pods: pods, cpu: cpu}
		bare := w
		w.edit = func(s *corev1.PodSpec) {
			if edit != nil {
				edit(bare, s)
			}
		}
		out = append(out, w)
	}
	for _, cpu := range []string{"100m", "250m", "500m", "1", "1900m"} {
		add("plain", 50, cpu, nil)
	}
	spread := func(key string) func(workload, *corev1.PodSpec) {
		return func(w workload, s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: w.selector()},
			}
		}
	}
	for _, cpu := range []string{"200m", "400m", "700m", "1"} {
		add("zones", 30, cpu, spread(zoneKey))
	}
	add("hosts", 20, "300m", spread(hostKey))
	add("apart", 15, "600m", func(w workload, s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: hostKey, LabelSelector: w.selector()}},
		}}
	})
	add("together", 20, "500m", func(w workload, s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: zoneKey, LabelSelector: w.selector()}},
		}}
	})
	add("port", 10, "150m", func(_ workload, s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9000, HostPort: 9000}}
	})
	add("west", 30, "400m", func(_ workload, s *corev1.PodSpec) { s.NodeSelector = map[string]string{zoneKey: "westus3-1"} })
	add("large", 5, "7", nil)
	add("soft", 30, "250m", func(w workload, s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{TopologyKey: zoneKey, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: w.selector()},
		}
	})
	return out
}
