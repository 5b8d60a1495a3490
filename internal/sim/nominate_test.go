package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

func core(thousandths int64) model.Pod {
	p := oneCore()
	p.Requests.CPU = thousandths
	return p
}

// sizes are those of many pods that share machines without much room left over.
func sizes() []int64 { return []int64{100, 250, 500, 1000, 1900, 3300, 7000} }

const ofEach = 5 // within the pool's limit

func (s *Sim) mixture() {
	for _, size := range sizes() {
		s.Scale(fmt.Sprintf("size-%d", size), ofEach, core(size))
	}
}

func (s *Sim) mixtureRuns() bool {
	for _, size := range sizes() {
		if !s.runs(fmt.Sprintf("size-%d", size), ofEach)() {
			return false
		}
	}
	return true
}

// Whatever the order in which machines join and pods are tried, the pods fit on what was bought for them when they are told.
func TestAPlanLandsInAnyOrder(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := Config{Settings: control.Settings{Nominate: true}, JoinSpread: 20 * time.Second, Rand: rand.New(rand.NewPCG(seed, 0))}
			Run(t, cfg, func(s *Sim) {
				s.furnish()
				s.mixture()
				s.Until("machines are bought", time.Minute, func() bool { return s.Cloud.Accepted() > 1 })
				s.Pass(10 * time.Second)
				planned := len(s.Store.Objects().Claims)
				s.Until("all pods run", 5*time.Minute, s.mixtureRuns)
				if n := s.Cloud.Accepted(); n != planned {
					t.Errorf("%d machines were bought, %d were planned\n%s", n, planned, s.Describe())
				}
			})
		})
	}
}

// A pod that was told of its node still counts as waiting: when the node is lost before the pod is bound, another is bought for it.
func TestPodsThatWereToldStayOurs(t *testing.T) {
	Run(t, Config{Settings: control.Settings{Nominate: true}}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 3, oneCore())
		s.Until("a node is there", 2*time.Minute, func() bool { return len(s.Store.Objects().Nodes) > 0 })
		node := s.Store.Objects().Nodes[0]
		for _, p := range s.Pods("inflate") {
			s.Store.EditPod(p.Key(), func(p *model.Pod) { p.Nominated = node.Name })
		}
		if !s.Cloud.Evict(node.ProviderID) {
			t.Fatalf("no machine %s", node.ProviderID)
		}
		bought := s.Cloud.Accepted()
		s.Until("all pods run elsewhere", 10*time.Minute, s.runs("inflate", 3))
		if s.Cloud.Accepted() == bought {
			t.Error("the pods run, but nothing was bought after their node was lost")
		}
	})
}
