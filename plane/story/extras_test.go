package story

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestFeaturesThatPeopleSwitchOn goes through the examples of static pools, overlays and buffers, under the chart's own
// permissions and against the real scheduler.
func TestFeaturesThatPeopleSwitchOn(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	condition := func(kind, name, typ string) string {
		out, _ := l.try("kubectl", "get", kind, name, "-o", `jsonpath={.status.conditions[?(@.type=="`+typ+`")].status}`)
		return strings.TrimSpace(out)
	}
	ready := func(n int) func() bool {
		return func() bool {
			count := 0
			for _, x := range l.nodes() {
				if x.Labels["karpenter.sh/initialized"] == "true" && x.DeletionTimestamp == nil {
					count++
				}
			}
			return count == n && len(l.claims()) == n
		}
	}

	l.apply("static-pool.yaml")
	l.until("the static pool has its node", 3*time.Minute, ready(1))
	l.do("kubectl", "scale", "nodepool", "fixed", "--replicas", "3")
	l.until("it has three", 3*time.Minute, ready(3))
	l.do("kubectl", "scale", "nodepool", "fixed", "--replicas", "0")
	l.until("nothing is left", 3*time.Minute, l.nothingLeft)
	l.do("kubectl", "delete", "nodepool", "fixed")

	l.apply("node-overlay.yaml")
	l.until("the overlay is ready", time.Minute, func() bool { return condition("nodeoverlay", "agreed-discount", "Ready") == "True" })

	l.apply("capacity-buffer.yaml")
	l.until("there is room for two", 3*time.Minute, func() bool { return condition("capacitybuffer", "spare", "Provisioning") == "True" })
	room := l.nodes()
	if len(room) == 0 {
		t.Fatal("there is room, but no node")
	}
	for _, c := range l.claims() {
		if c.Annotations["karpenter.sh/price-overlay-applied"] != "true" {
			t.Errorf("claim %s does not say that an overlay had a part in it: %v", c.Name, c.Annotations)
		}
	}
	l.apply("inflate.yaml")
	l.scale("inflate", 2)
	l.until("two pods run", time.Minute, func() bool { return l.running("inflate", 2) })
	for _, p := range l.pods("inflate") {
		if !hosts(room, p) {
			t.Errorf("pod %s had to wait for %s, although room was kept", p.Name, p.Spec.NodeName)
		}
	}
	l.until("the room is made good", 3*time.Minute, func() bool {
		return len(l.nodes()) > len(room) && condition("capacitybuffer", "spare", "Provisioning") == "True"
	})
	l.whatPeopleTry()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.do("kubectl", "delete", "capacitybuffer", "spare")
	l.until("nothing is left", 3*time.Minute, l.nothingLeft)
}

func hosts(nodes []corev1.Node, p corev1.Pod) bool {
	for _, n := range nodes {
		if n.Name == p.Spec.NodeName {
			return true
		}
	}
	return false
}
