package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
)

// A pod that was told of its node still counts as waiting: it is bound there, and when the node is lost before, another is
// bought for it.
func TestPodsAreToldOfTheirNodeAndStayOurs(t *testing.T) {
	Run(t, Config{Settings: control.Settings{Nominate: true}}, func(s *Sim) {
		s.furnish()
		told := func() bool {
			for _, p := range s.Pods("inflate") {
				if p.Node != "" || p.Nominated == "" {
					return false
				}
			}
			return len(s.Store.Objects().Nodes) > 0
		}
		s.Scale("inflate", 3, oneCore())
		s.Until("all pods are told of a node", 2*time.Minute, told)
		bought := s.Cloud.Accepted()
		for _, n := range s.Store.Objects().Nodes {
			if !s.Cloud.Evict(n.ProviderID) {
				t.Fatalf("no machine %s", n.ProviderID)
			}
		}
		s.Until("all pods run elsewhere", 10*time.Minute, s.runs("inflate", 3))
		if s.Cloud.Accepted() == bought {
			t.Error("the pods run, but nothing was bought after their node was lost")
		}
	})
}
