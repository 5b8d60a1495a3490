package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// ofPool is a condition of the story's pool.
func (s *Sim) ofPool(typ string) model.Condition {
	for _, x := range s.Store.Objects().Pools {
		if x.Name == pool().Name {
			c, _ := model.FindCondition(x.Conditions, typ)
			return c
		}
	}
	return model.Condition{}
}

// A pool says whether the machines that are bought for it become nodes; who restarts goes on with what was written, and
// nothing is written while nothing changes.
func TestAPoolSaysWhetherItsMachinesJoin(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		says := func(want model.Status) func() bool {
			return func() bool { return s.ofPool(model.NodeRegistrationHealth).Status == want }
		}
		s.Until("it is not known", time.Minute, says(model.Unknown))
		s.Scale("inflate", 1, oneCore())
		s.Until("a node came", 3*time.Minute, says(model.True))
		for _, c := range s.Store.Objects().Claims {
			s.Until("the node is what was bought", time.Minute, func() bool {
				return slices.ContainsFunc(s.Store.Objects().Claims, func(x model.Claim) bool {
					return x.Name == c.Name && x.Is(model.ConsistentStateFound)
				})
			})
		}
		s.Pass(2 * time.Minute)
		pools, claims := s.Store.Calls(memkube.OpPatchPool), s.Store.Calls(memkube.OpPatchClaim)
		s.Pass(time.Hour)
		if p, c := s.Store.Calls(memkube.OpPatchPool), s.Store.Calls(memkube.OpPatchClaim); p != pools || c != claims {
			t.Errorf("at rest %d writes to pools and %d to claims", p-pools, c-claims)
		}

		s.mute(2)
		s.Scale("stuck", 1, bigPod())
		s.Until("two in a row did not join", time.Hour, says(model.False))
		if x := s.ofPool(model.NodeRegistrationHealth); x.Reason != "RegistrationFailed" || x.Message == "" {
			t.Errorf("it says %+v", x)
		}
		if x := s.ofPool(model.Ready); x.Status != model.True {
			t.Errorf("it goes on buying all the same, and says %+v", x)
		}
		s.Until("the pod runs after all", 10*time.Minute, s.runs("stuck", 1))
		s.Stop()
		s.Start()
		s.Pass(2 * time.Minute)
		if !says(model.False)() {
			t.Error("another process knows better at once")
		}

		p := s.Store.Objects().Pools[0]
		p.Generation++
		s.Store.Put(p)
		s.Until("edited, it is not known", time.Minute, says(model.Unknown))
		c := s.Store.Objects().Classes[0]
		s.Scale("more", 1, bigPod())
		s.Until("a node of the new pool came", 10*time.Minute, says(model.True))
		c.Generation++
		s.Store.Put(c)
		s.Until("the class is edited, it is not known", time.Minute, says(model.Unknown))
	})
}
