package story

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
)

// TestKilledAtEveryPoint kills the controller with SIGKILL at each marked point, one after the other in one story, and looks
// for the same end: all pods run, one machine per claim, nothing leaked. (internal/sim kills at each point alone.)
func TestKilledAtEveryPoint(t *testing.T) {
	armed := t.TempDir()
	for _, point := range control.Points() {
		if err := os.WriteFile(filepath.Join(armed, string(point)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := upWith(t, []string{"KARPENTER_LAB_DIE_DIR=" + armed}, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	l.scale("inflate", 2)
	l.until("both pods run", 6*time.Minute, func() bool { return l.running("inflate", 2) })
	l.resourcesBelongToNodes()
	for _, n := range l.nodes() {
		l.do("kubectl", "delete", "node", n.Name, "--wait=false")
	}
	l.until("both run elsewhere", 6*time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.DeletionTimestamp != nil {
				return false
			}
		}
		return l.running("inflate", 2)
	})
	l.resourcesBelongToNodes()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 6*time.Minute, l.nothingLeft)
	left, err := os.ReadDir(armed)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("the controller never died at %q", f.Name())
	}
}

// knobs sets the simulated Azure's knobs.
func (l *lab) knobs(yaml string) {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "knobs.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.do("knobs", "set", "-f", file)
}

// TestSoldOutEverywhere sells out the size that the controller likes best, at once or after the request was accepted.
func TestSoldOutEverywhere(t *testing.T) {
	for name, atOnce := range map[string]bool{"refused at once": true, "failed after accept": false} {
		t.Run(name, func(t *testing.T) {
			l := up(t, "--boot-time", "0s")
			l.apply("general-purpose.yaml")
			l.apply("inflate.yaml")
			l.scale("inflate", 1)
			l.until("the pod runs", 2*time.Minute, func() bool { return l.running("inflate", 1) })
			favourite := l.nodes()[0].Labels["node.kubernetes.io/instance-type"]
			l.scale("inflate", 0)
			l.until("nothing is left", 2*time.Minute, l.nothingLeft)

			l.knobs(soldOut(favourite, atOnce))
			l.scale("inflate", 1)
			l.until("the pod runs on something else", 3*time.Minute, func() bool { return l.running("inflate", 1) })
			for _, n := range l.nodes() {
				if got := n.Labels["node.kubernetes.io/instance-type"]; got == favourite {
					t.Errorf("node %s is a %s, which is sold out", n.Name, got)
				} else {
					t.Logf("%s is sold out, bought %s", favourite, got)
				}
			}
			l.resourcesBelongToNodes()
			l.do("kubectl", "delete", "deployment", "inflate")
			l.until("nothing is left", 3*time.Minute, l.nothingLeft)
		})
	}
}

// TestAzureIsAwayForAWhile starts with an Azure that does not answer: the controller says so, waits, and recovers by itself.
func TestAzureIsAwayForAWhile(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	now := time.Now().UTC()
	l.knobs(fmt.Sprintf("unreachable:\n- {from: %q, until: %q, drop: true}\n", now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)))
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	l.scale("inflate", 1)
	time.Sleep(10 * time.Second)
	if n := len(l.nodes()); n != 0 {
		t.Fatalf("%d nodes from an Azure that does not answer", n)
	}
	if log := l.do("logs"); !strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the controller's log says nothing of an Azure that does not answer")
	}
	l.knobs("unreachable: []\n")
	l.until("the pod runs", 3*time.Minute, func() bool { return l.running("inflate", 1) })
}

// TestBadInputIsRefusedWithWords applies wrong objects and reads what the API server and the conditions say.
func TestBadInputIsRefusedWithWords(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	for file, want := range map[string]string{
		"pool-bad-label.yaml":    "kubernetes.azure.com",
		"pool-bad-operator.yaml": "operator",
		"class-bad-disk.yaml":    "osDiskSizeGB",
		"class-bad-family.yaml":  "imageFamily",
		"class-bad-gc.yaml":      "imageGC",
	} {
		out, err := l.try("kubectl", "apply", "-f", filepath.Join("story", "testdata", file))
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: want a refusal that names %q, got err=%v\n%s", file, want, err, out)
		}
	}
	l.do("kubectl", "apply", "-f", filepath.Join("story", "testdata", "pool-without-class.yaml"))
	l.until("a pool without its class says so", time.Minute, func() bool {
		out := l.do("kubectl", "get", "nodepool", "lonely", "-o", "jsonpath={.status.conditions}")
		return strings.Contains(out, "NodeClassNotFound") && strings.Contains(out, "missing")
	})
	l.do("kubectl", "apply", "-f", filepath.Join("story", "testdata", "class-with-unused-field.yaml"))
	l.until("a field that nothing acts on is named", time.Minute, func() bool {
		out := l.do("kubectl", "get", "aksnodeclass", "tuned", "-o", "jsonpath={.status.conditions}")
		return strings.Contains(out, "linuxOSConfig.sysctls")
	})
}

// TestDeletingPoolsAndClaims deletes what users delete: a NodeClaim takes its node with it and its pods move; a NodePool
// takes all its nodes with it.
func TestDeletingPoolsAndClaims(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	l.scale("inflate", 3)
	l.until("all three pods run", 2*time.Minute, func() bool { return l.running("inflate", 3) })

	gone := l.claims()[0].Name
	l.do("kubectl", "delete", "nodeclaim", gone, "--wait=false")
	l.until("the deleted NodeClaim is gone with its machine", 3*time.Minute, func() bool {
		for _, c := range l.claims() {
			if c.Name == gone {
				return false
			}
		}
		for _, r := range l.resources() {
			if strings.Contains(r.Name, gone) {
				return false
			}
		}
		return true
	})
	l.until("its pods run elsewhere", 3*time.Minute, func() bool { return l.running("inflate", 3) })

	l.do("kubectl", "delete", "nodepool", "general-purpose", "--wait=false")
	l.until("the deleted NodePool took all its nodes with it", 3*time.Minute, l.nothingLeft)
	l.do("kubectl", "delete", "aksnodeclass", "default")
	if out := l.do("kubectl", "get", "nodepools,aksnodeclasses", "-o", "name"); out != "" {
		t.Errorf("still there: %s", out)
	}
	l.apply("general-purpose.yaml")
	l.until("the pods run on a new pool of the same name", 3*time.Minute, func() bool { return l.running("inflate", 3) })
}
