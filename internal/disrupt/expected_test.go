package disrupt_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/scenario"
)

// What waiting pods are expected where costs a plan: it is asked only when some node would leave otherwise, and once.
func TestExpectedIsAskedOnlyWhenANodeWouldLeave(t *testing.T) {
	for _, c := range []struct {
		name, now, world string
		want             int
	}{
		{"two empty nodes that may leave", "1h", "pool p\nclaim a\nclaim b", 1},
		{"one that was empty only just now", "1h", "pool p\nclaim a podEvent=59m45s", 0},
		{"one that is not empty", "1h", "pool p\nclaim a\npod default/x on=a", 0},
		{"nothing", "1h", "", 0},
	} {
		in := input(scenario.Ask(t, "decide now="+c.now, c.world))
		asked := 0
		in.Expected = func() map[string]bool { asked++; return nil }
		disrupt.Decide(in)
		if asked != c.want {
			t.Errorf("%s: asked %d times, want %d", c.name, asked, c.want)
		}
	}
}
