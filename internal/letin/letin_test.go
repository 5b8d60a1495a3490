package letin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/letin"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios runs testdata/scenarios: each file's name is the claim that it makes. The command is
//
//	letin pod=NAME     which one change lets the pod of namespace default in?
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata/scenarios", scenario.Commands{
		"letin": func(q *scenario.Question) string {
			in := place.Input{World: q.World()}
			plan := place.Decide(in)
			pod := model.PodKey{Namespace: "default", Name: q.Arg("pod")}
			return text(letin.Find(letin.Input{Place: in, Plan: plan, Pod: pod}))
		},
	})
}

func text(a letin.Answer) string {
	var b strings.Builder
	for _, w := range a.Ways {
		fmt.Fprintf(&b, "%s %s: %s -> %s\n  ", w.Object, w.Field, w.From, w.To)
		if w.Node+w.Claim != "" {
			fmt.Fprintf(&b, "on %s%s", w.Node, w.Claim)
		} else {
			fmt.Fprintf(&b, "%s for %s, %s, beside %d", w.Offering, w.Pool, w.Price, w.With)
		}
		fmt.Fprintf(&b, "; %d others, plan %+d\n", w.Also, w.More)
	}
	fmt.Fprintf(&b, "tried %d, cut %v\n", a.Tried, a.Cut)
	return b.String()
}

// TestNothingIsPromisedThatDoesNotHold asks about pods of random worlds: what is found is no more
// than may be asked, in order, from something to something else; and the same twice.
func TestNothingIsPromisedThatDoesNotHold(t *testing.T) {
	ways := 0
	for seed := range uint64(40) {
		w := worldgen.Small(seed)
		in := place.Input{World: w}
		plan := place.Decide(in)
		for i, u := range plan.Unscheduled {
			if i == 2 {
				break
			}
			ask := letin.Input{Place: in, Plan: plan, Pod: u.Pod}
			a := letin.Find(ask)
			if a.Questions > letin.MostQuestions+10 || len(a.Ways) > 3 {
				t.Errorf("seed %d: %s: %d questions, %d ways",
					seed, u.Pod, a.Questions, len(a.Ways))
			}
			for _, x := range a.Ways {
				if x.From == x.To || x.Node+x.Claim == "" && x.Price <= 0 {
					t.Errorf("seed %d: %s: %+v", seed, u.Pod, x)
				}
			}
			if b := letin.Find(ask); !slices.Equal(a.Ways, b.Ways) {
				t.Errorf("seed %d: %s: %v and then %v", seed, u.Pod, a.Ways, b.Ways)
			}
			ways += len(a.Ways)
		}
	}
	if ways < 10 {
		t.Errorf("only %d ways in were found in all worlds: the test says little", ways)
	}
}
