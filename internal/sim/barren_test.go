package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// A pool whose requirements leave nothing says which, is not ready, and is so again by itself once they are mended; other pools go on.
func TestAPoolThatCanBuyNothingSaysWhy(t *testing.T) {
	poolThatCanBuyNothing(t, "node.kubernetes.io/instance-type In [nonsense]",
		model.Requirement{Key: model.LabelInstanceType, Op: model.In, Values: []string{"nonsense"}})
}

// So does one whose minValues are more than there will ever be.
func TestAPoolThatAsksForTooMuchChoiceSaysWhy(t *testing.T) {
	poolThatCanBuyNothing(t, "label node.kubernetes.io/instance-type: the pool wants at least 50 distinct values to choose from",
		model.Requirement{Key: model.LabelInstanceType, Op: model.Exists, MinValues: 50})
}

func poolThatCanBuyNothing(t *testing.T, culprit string, bad model.Requirement) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		p := pool()
		p.Name, p.UID, p.Weight = "barren", "barren-uid", 50
		good := p.Requirements
		p.Requirements = append(slices.Clone(good), bad)
		s.Store.Put(p)
		of := func(typ string) model.Condition {
			for _, x := range s.Store.Objects().Pools {
				if x.Name == p.Name {
					c, _ := model.FindCondition(x.Conditions, typ)
					return c
				}
			}
			return model.Condition{}
		}
		s.Until("it says so", time.Minute, func() bool {
			return of(model.Ready).Status == model.False && strings.Contains(of(model.InstanceTypesFound).Message, culprit)
		})
		if !slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool {
			return e.Reason == "NoCompatibleInstanceTypes" && strings.Contains(e.Message, culprit)
		}) {
			t.Error("no event names it")
		}
		s.Scale("inflate", 2, oneCore())
		s.Until("the other pool buys", 3*time.Minute, s.runs("inflate", 2))

		stuck := oneCore()
		stuck.NodeSelector = map[string]string{model.LabelPool: p.Name}
		s.Scale("stuck", 1, stuck)
		s.Until("the pod's event names it", 2*time.Minute, func() bool { return strings.Contains(s.toldWhy("stuck"), culprit) })

		i := slices.IndexFunc(s.Store.Objects().Pools, func(x model.Pool) bool { return x.Name == p.Name })
		p = s.Store.Objects().Pools[i]
		p.Generation++
		p.Requirements = good
		s.Store.Put(p)
		s.Until("mended, it is ready", time.Minute, func() bool {
			return of(model.Ready).Status == model.True && of(model.InstanceTypesFound).Status == model.True
		})
		s.Until("and buys", 3*time.Minute, s.runs("stuck", 1))
	})
}
