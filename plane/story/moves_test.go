package story

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// TestNodesMoveAlthoughTheControllerDies changes the template of a pool, kills the controller with SIGKILL at every marked point of the moves
// that follow, and looks for nodes of the new template. Then it takes most of the pods away, and looks for smaller machines.
func TestNodesMoveAlthoughTheControllerDies(t *testing.T) {
	armed := t.TempDir()
	for _, point := range control.MovePoints() {
		if err := os.WriteFile(filepath.Join(armed, string(point)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := upWith(t, []string{"KARPENTER_LAB_DIE_DIR=" + armed}, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	l.scale("inflate", 12)
	l.until("all pods run", 6*time.Minute, func() bool { return l.running("inflate", 12) })
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "merge", "-p",
		`{"spec":{"template":{"metadata":{"labels":{"example.com/generation":"2"}}}}}`)
	l.until("all pods run on nodes of the new template", 10*time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.Labels["example.com/generation"] != "2" {
				return false
			}
		}
		return l.running("inflate", 12) && l.atRest()
	})
	l.resourcesBelongToNodes()
	left, err := os.ReadDir(armed)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("the controller never died at %q", f.Name())
	}
	before := l.allCores()
	l.scale("inflate", 2)
	l.until("two pods are on machines for two", 10*time.Minute, func() bool {
		return l.running("inflate", 2) && l.atRest() && l.allCores() <= 4
	})
	if after := l.allCores(); after >= before {
		t.Errorf("%d cores for two pods, %d for twelve", after, before)
	}
	l.resourcesBelongToNodes()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 6*time.Minute, l.nothingLeft)
}

// atRest holds when nothing leaves, and no claim says that it is about to.
func (l *lab) atRest() bool {
	for _, n := range l.nodes() {
		for _, x := range n.Spec.Taints {
			if x.Key == model.TaintDisrupted {
				return false
			}
		}
	}
	for _, c := range l.claims() {
		if c.DeletionTimestamp != nil || c.Annotations[model.AnnotationMove] != "" {
			return false
		}
	}
	return true
}

// allCores is how many cores all nodes have.
func (l *lab) allCores() (n int64) {
	for _, x := range l.nodes() {
		n += x.Status.Capacity.Cpu().Value()
	}
	return n
}
