package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// Nothing else happens that would have the controller look at the class again.
func TestAClassIsReadyInTimeAlthoughAnswersAreLost(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(pool(), daemon())
		s.Pass(5 * time.Minute)
		s.Store.Fail(memkube.OpCluster, 5, kube.Unavailable)
		s.Store.Put(class())
		s.Until("its pool is ready", 20*time.Second, func() bool {
			pools := s.Store.Objects().Pools
			return model.IsTrue(pools[0].Conditions, model.Ready)
		})
	})
}
