package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Pods of one pool that are hard to plan for use up the work limit of every plan, and get nothing. The pods of another pool do not wait for them.
func TestPodsOfOtherPoolsDoNotWaitForAPlanThatIsCutShort(t *testing.T) {
	const hard, easy = 24, 6
	cuts := 0
	cfg := Config{Decide: func(in place.Input) place.Plan {
		in.Limit = 40
		plan := place.Decide(in)
		if plan.Cut {
			cuts++
		}
		return plan
	}}
	Run(t, cfg, func(s *Sim) {
		one, other := pool(), pool()
		one.Name, other.Name = "hard", "easy"
		for _, p := range []*model.Pool{&one, &other} {
			p.UID, p.Limits, p.ConsolidateAfter = p.Name, nil, nil
			s.Store.Put(*p)
		}
		s.Store.Put(class(), daemon())
		tied := core(300)
		tied.NodeSelector = map[string]string{model.LabelPool: "hard"}
		own := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"tied"}}}}
		tied.Spread = []model.Spread{{Key: model.LabelHostname, MaxSkew: 1, Hard: true, Selector: own, HonorAffinity: true}, {Key: model.LabelZone, MaxSkew: 1, Hard: true, Selector: own, HonorAffinity: true}}
		plain := core(100)
		plain.NodeSelector = map[string]string{model.LabelPool: "easy"}
		s.Scale("tied", hard, tied)
		s.Scale("plain", easy, plain)
		s.Until("the pods of the other pool run", 3*time.Minute, func() bool { return s.Running("plain") == easy })
		if cuts == 0 {
			t.Error("no plan was cut short")
		}
		told := slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool { return e.Reason == "PlanCutShort" })
		if !told {
			t.Error("no event says so")
		}
	})
}
