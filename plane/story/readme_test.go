package story

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestFirstTenMinutes is the README's story with the README's manifests.
func TestFirstTenMinutes(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	watch := l.watched()
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	if n := len(l.nodes()); n != 0 {
		t.Fatalf("%d nodes before anything was asked for", n)
	}
	l.scale("inflate", 5)
	l.until("NodeClaims are there", time.Minute, func() bool { return len(l.claims()) > 0 })
	l.until("all five pods run", 2*time.Minute, func() bool { return l.running("inflate", 5) })

	l.sizesAreRight()
	l.resourcesBelongToNodes()

	victim := l.pods("inflate")[0].Spec.NodeName
	began := time.Now()
	if err := l.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: victim}}); err != nil {
		t.Fatal(err)
	}
	l.until("the deleted node is tainted before it goes", time.Minute, func() bool {
		var n corev1.Node
		if err := l.Get(t.Context(), client.ObjectKey{Name: victim}, &n); err != nil {
			return client.IgnoreNotFound(err) == nil
		}
		for _, x := range n.Spec.Taints {
			if x.Key == "karpenter.sh/disrupted" {
				return true
			}
		}
		return false
	})
	l.until("the deleted node is gone", 3*time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.Name == victim {
				return false
			}
		}
		for _, r := range l.resources() {
			if strings.HasPrefix(r.Name, victim) {
				return false
			}
		}
		return true
	})
	l.until("its pods run elsewhere", 3*time.Minute, func() bool { return l.running("inflate", 5) })
	t.Logf("a node deleted by hand was drained and replaced in %.1f s", time.Since(began).Seconds())

	l.everyLimitAndSpot()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("every node, VM, NIC and disk is gone", 3*time.Minute, l.nothingLeft)
	watch.hasWhatIsAskedFor()
	l.olderManifests()
	l.do("kubectl", "delete", "nodepools,aksnodeclasses", "--all")
	l.theTutorialWorks()
}

// everyLimitAndSpot gives the pool limits of each resource, and a second pool a spot machine: dashboards ask for them.
func (l *lab) everyLimitAndSpot() {
	l.t.Helper()
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "merge", "-p",
		`{"spec":{"limits":{"cpu":"100","memory":"1000Gi","nodes":"50","pods":"5000","ephemeral-storage":"10000Gi"}}}`)
	l.do("kubectl", "apply", "-f", "story/testdata/pool-of-spot.yaml")
	l.scale("inflate", 12)
	l.until("twelve pods run", 2*time.Minute, func() bool { return l.running("inflate", 12) })
	l.until("one of their nodes is spot", time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.Labels["karpenter.sh/capacity-type"] == "spot" {
				return true
			}
		}
		return false
	})
}

// olderManifests applies what convert makes of manifests that the API server does not know.
func (l *lab) olderManifests() {
	l.t.Helper()
	const older = "../examples/older/general-purpose.yaml"
	l.do("kubectl", "delete", "nodepools,aksnodeclasses", "--all")
	if out, err := l.try("kubectl", "apply", "-f", older); err == nil {
		l.t.Errorf("the API server takes karpenter.sh/v1beta1: is convert of any use?\n%s", out)
	}
	cmd := exec.CommandContext(l.t.Context(), filepath.Join(bin, "karpenter"), "convert", older)
	cmd.Dir = ".."
	text, err := cmd.Output()
	if err != nil {
		l.t.Fatal(err)
	}
	file := filepath.Join(l.t.TempDir(), "converted.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.do("kubectl", "apply", "-f", file)
	l.do("kubectl", "wait", "--for=condition=Ready", "nodepool/general-purpose", "--timeout", "50s")
}

// sizesAreRight checks that every node is a D-family amd64 on-demand machine and that together they cost at most 5 %
// more than the cheapest machines that hold the pods.
func (l *lab) sizesAreRight() {
	l.t.Helper()
	var paid float64
	for _, n := range l.nodes() {
		for k, want := range map[string]string{"karpenter.azure.com/sku-family": "D", "kubernetes.io/arch": "amd64", "karpenter.sh/capacity-type": "on-demand"} {
			if got := n.Labels[k]; got != want {
				l.t.Errorf("node %s: %s=%q, want %q", n.Name, k, got, want)
			}
		}
		price := priceOf(l.t, n.Labels["node.kubernetes.io/instance-type"])
		l.t.Logf("bought %s in %s at $%.4f/h", n.Labels["node.kubernetes.io/instance-type"], n.Labels["topology.kubernetes.io/zone"], price)
		paid += price
	}
	best := cheapest(l.t, 5)
	l.t.Logf("paid $%.4f/h, the cheapest that fits costs $%.4f/h", paid, best)
	if paid > best*1.05 {
		l.t.Errorf("paid $%.4f/h, more than 5 %% above the cheapest, $%.4f/h", paid, best)
	}
}

// resourcesBelongToNodes checks that the cloud holds one VM, NIC and disk for each node and nothing else.
func (l *lab) resourcesBelongToNodes() {
	l.t.Helper()
	count := map[string]int{}
	for _, r := range l.resources() {
		count[r.Type[strings.LastIndex(r.Type, "/")+1:]]++
	}
	n := len(l.nodes())
	for _, kind := range []string{"virtualMachines", "networkInterfaces", "disks"} {
		if count[kind] != n {
			l.t.Errorf("the cloud holds %d %s for %d nodes: %v", count[kind], kind, n, count)
		}
	}
}

// TestFiveHundredPodsWithinLimits scales far, and watches that the pool's limit is never exceeded on the way.
func TestFiveHundredPodsWithinLimits(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")

	watch, stop := context.WithCancel(t.Context())
	worst := make(chan resource.Quantity, 1)
	go func() {
		var most resource.Quantity
		for watch.Err() == nil {
			var sum resource.Quantity
			for _, c := range l.claims() {
				sum.Add(c.Status.Capacity[corev1.ResourceCPU])
			}
			if sum.Cmp(most) > 0 {
				most = sum
			}
			time.Sleep(100 * time.Millisecond)
		}
		worst <- most
	}()
	l.scale("inflate", 150)
	l.until("as many pods run as the limit of 100 cores allows", 5*time.Minute, func() bool {
		n := 0
		for _, p := range l.pods("inflate") {
			if p.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n >= 85
	})
	time.Sleep(5 * time.Second)
	stop()
	if most := <-worst; most.Cmp(resource.MustParse("100")) > 0 {
		t.Errorf("the claims had %s cores together, the limit is 100", most.String())
	} else {
		t.Logf("at most %s of 100 cores were bought", most.String())
	}
	l.until("a pod is told why it waits", time.Minute, func() bool {
		for _, e := range list(l, &corev1.EventList{}, client.InNamespace("default")).Items {
			if e.Reason == "FailedScheduling" && e.Source.Component != "default-scheduler" && strings.Contains(e.Message, "limits") {
				t.Logf("event: %s", e.Message)
				return true
			}
		}
		return false
	})
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "merge", "-p", `{"spec":{"limits":{"cpu":"1000"}}}`)
	began := time.Now()
	l.scale("inflate", 500)
	l.until("500 pods run", 5*time.Minute, func() bool { return l.running("inflate", 500) })
	t.Logf("from 150 to 500 pods took %.1f s", time.Since(began).Seconds())
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 5*time.Minute, l.nothingLeft)
	l.apply("inflate.yaml")
	l.scale("inflate", 500)
	l.until("500 pods run, from nothing", 5*time.Minute, func() bool { return l.running("inflate", 500) })
}
