package judge_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// hearing is a world whose plan is judged.
type hearing struct {
	name   string // in errors: "seed 7"
	world  model.World
	choose judge.Choose          // nil = judge.First
	ask    func(*judge.Question) // what is asked beside the plan; nil = nothing
}

// heard is what came of it.
type heard struct {
	plan     place.Plan
	question judge.Question
	answer   judge.Answer
}

// hear plans for the world and asks the audit, which may object to nothing, and kube-scheduler, whose refusals are the caller's matter.
func hear(t testing.TB, h hearing) heard {
	t.Helper()
	plan := place.Decide(place.Input{World: h.world})
	for _, f := range audit.Check(h.world, plan) {
		t.Errorf("%s: the audit objects: %s", h.name, f)
	}
	choose := h.choose
	if choose == nil {
		choose = judge.First
	}
	q, err := judge.Plan(h.world, plan, choose)
	if err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	if h.ask != nil {
		h.ask(&q)
	}
	a, err := judge.Ask(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	return heard{plan, q, a}
}

// lands fails when kube-scheduler refuses anything.
func (h heard) lands(t testing.TB, name string) {
	t.Helper()
	if len(h.answer.Rejected) > 0 {
		t.Errorf("%s: kube-scheduler refuses: %s", name, h.answer.Rejected[0])
	}
}
