package disrupt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/model"
)

// TestOneMarkedNodeIsJudgedAsAllAre draws worlds and asks about each claim alone and about all.
func TestOneMarkedNodeIsJudgedAsAllAre(t *testing.T) {
	words := []string{"tainted", "tainted", "tainted", "protected", "not-ready", "deleting", "fresh", "podEvent=1h"}
	leave, stay, moves := 0, 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		text := "pool p\n"
		for c := range 4 {
			text += fmt.Sprintf("claim c%d", c)
			for range 1 + r.IntN(2) {
				text += " " + words[r.IntN(len(words))]
			}
			text += "\n"
			if r.IntN(3) == 0 {
				text += fmt.Sprintf("pod default/x%d on=c%d\n", c, c)
			}
		}
		in := input(scenario.Ask(t, "decide now=1h", text))
		if r.IntN(2) == 0 { // a move that was begun, and what replaces its node is there
			x := &in.World.Claims[0]
			record := disrupt.Record{Why: model.WhyUnderutilized, Claims: []string{x.Name}, Since: in.Now.Add(-time.Hour)}
			x.Annotations = map[string]string{model.AnnotationMove: record.Text()}
			moves++
		}
		asked := 0
		in.Expected = func() map[string]bool { asked++; return map[string]bool{"node-c1": true} }
		all := disrupt.Decide(in)
		for _, c := range in.World.Claims {
			want := slices.ContainsFunc(all.Moves, func(m disrupt.Move) bool {
				return m.Marked && len(m.Record.Claims) == 0 && slices.Contains(m.Claims, c.Name)
			})
			if got := disrupt.Still(in, c.Name); got != want {
				t.Fatalf("seed %d: %s still leaves: %v, of all: %v\n%s", seed, c.Name, got, want, strings.TrimSpace(text))
			}
			if want {
				leave++
			} else {
				stay++
			}
		}
	}
	if leave < 50 || stay < 50 || moves < 50 {
		t.Errorf("%d leave, %d stay, %d moves: there is little to compare", leave, stay, moves)
	}
}
