package sim

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/place"
)

// A plan that takes half a minute is told of after ten seconds, on the pools, while it is still being made.
func TestAPlanThatTakesLongIsToldOf(t *testing.T) {
	var making atomic.Bool
	cfg := Config{Decide: func(in place.Input) place.Plan {
		making.Store(true)
		defer making.Store(false)
		time.Sleep(30 * time.Second)
		return place.Decide(in)
	}}
	Run(t, cfg, func(s *Sim) {
		s.furnish()
		s.Scale("web", 1, oneCore())
		told := func() bool {
			return slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool { return e.Reason == "PlanTakesLong" })
		}
		s.Until("it is told of", 20*time.Second, told)
		if !making.Load() {
			t.Error("it was told of when the plan was there")
		}
		s.Until("the pod runs", 5*time.Minute, func() bool { return s.Running("web") == 1 })
	})
}
