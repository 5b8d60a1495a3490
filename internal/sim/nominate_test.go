package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/nomination"
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
			cfg := Config{Settings: control.Settings{Nominate: true}, JoinSpread: 20 * time.Second, Rand: rand.New(rand.NewPCG(seed, 0)), Shuffle: true, Queue: true}
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
		s.Until("all pods run elsewhere", 10*time.Minute, func() bool {
			return s.runs("inflate", 3)() && !slices.ContainsFunc(s.Pods("inflate"), func(p model.Pod) bool { return p.Node == node.Name })
		})
		if s.Cloud.Accepted() == bought {
			t.Error("the pods run, but nothing was bought after their node was lost")
		}
	})
}

// A pod that was tried while its room was kept for another waits aside when that other one runs elsewhere, and being told of its node does not
// wake it. That the nomination is taken back does.
func TestAPodThatSleepsWithANominationIsWoken(t *testing.T) {
	for name, nominate := range map[string]bool{"told by us": true, "told before the feature was switched off": false} {
		t.Run(name, func(t *testing.T) {
			Run(t, Config{Settings: control.Settings{Nominate: nominate}, Queue: true}, func(s *Sim) {
				s.furnish()
				s.Store.Put(model.Node{Name: "elsewhere", Created: time.Now(), Ready: model.True, Cordoned: true})
				s.Store.Fail(memkube.OpNominate, 2, kube.Unavailable)
				s.Scale("inflate", 1, oneCore())
				node := s.keepItsNode()
				p := s.Pods("inflate")[0]
				s.Until("it waits beside a node that takes it", time.Minute, func() bool {
					o := s.Store.Objects()
					return len(o.Nodes) == 2 && slices.ContainsFunc(o.Nodes, func(n model.Node) bool { return n.Name == node && admits(n, p) }) && s.queue.aside(p)
				})
				s.Pass(10 * time.Second) // what else becomes of the node would wake it, too
				if !s.queue.aside(p) {
					t.Fatal("it does not wait aside any more")
				}
				s.Store.BindPod(model.PodKey{Namespace: "d", Name: "other"}, "elsewhere")
				if !nominate {
					s.Store.EditPod(p.Key(), func(p *model.Pod) { p.Nominated = node })
				}
				s.Until("it is told", 5*time.Second, func() bool { return s.Pods("inflate")[0].Nominated == node })
				if !s.queue.aside(p) {
					t.Error("being told woke it")
				}
				s.Until("it runs", 40*time.Second, s.runs("inflate", 1))
				if n := s.Cloud.Accepted(); n != 1 {
					t.Errorf("%d machines were bought for one pod", n)
				}
			})
		})
	}
}

// keepItsNode keeps all the room of the first machine for another pod before it takes any, and returns the node's name.
func (s *Sim) keepItsNode() string {
	var node model.Node
	s.Until("its node is there", 2*time.Minute, func() bool {
		for _, n := range s.Store.Objects().Nodes {
			if n.ProviderID != "" {
				node = n
			}
		}
		return node.Name != ""
	})
	s.Store.Put(model.Pod{Namespace: "d", Name: "other", Gated: true, Nominated: node.Name, Requests: node.Allocatable})
	return node.Name
}

// A nomination that leads to nothing is not made for ever: the pod gets a few turns, and is then left alone.
func TestAPodIsToldOfANodeAFewTimesOnly(t *testing.T) {
	Run(t, Config{Settings: control.Settings{Nominate: true}, Queue: true}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Until("its node is there", 2*time.Minute, func() bool { return len(s.Store.Objects().Nodes) > 0 })
		node := s.Store.Objects().Nodes[0].Name
		s.deaf.Store(true)
		turns, last := [2]int{}, ""
		for i := range 1200 {
			s.Pass(100 * time.Millisecond)
			now := s.Pods("inflate")[0].Nominated
			if now == node && last != node {
				turns[i/600]++
			}
			last = now
		}
		if turns[0] != nomination.Turns || turns[1] != 0 || last != "" {
			t.Errorf("told %d times in the first minute and %d times in the second, and at last of %q", turns[0], turns[1], last)
		}
		s.deaf.Store(false)
		s.Until("it runs", time.Minute, s.runs("inflate", 1))
	})
}
