package sim

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// resize does what kubectl scale does to a pool.
func (s *Sim) resize(p model.Pool, replicas int64) {
	for _, old := range s.Store.Objects().Pools {
		if old.Name == p.Name {
			p.Generation, p.Conditions = old.Generation+1, old.Conditions
		}
	}
	p.Replicas = &replicas
	s.Store.Put(p)
}

func staticPool() model.Pool {
	p := pool()
	p.Name, p.UID, p.Limits = "fixed", "fixed-uid", map[string]int64{model.ResourceNodes: 4}
	return p
}

func (s *Sim) ready(n int) func() bool {
	return func() bool {
		o, ready := s.Store.Objects(), 0
		for _, x := range o.Claims {
			if x.Is(model.Initialized) && !x.Deleting() {
				ready++
			}
		}
		return ready == n && len(o.Claims) == n && len(o.Nodes) == n
	}
}

// A machine that the audit refuses is not bought for a static pool either.
func TestAStaticPoolBuysNothingUnsound(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	var refused atomic.Int32
	decide := func(in place.Input) place.Plan {
		p := place.Decide(in)
		if broken.Load() {
			p.Price++
		}
		return p
	}
	c := Config{Settings: control.Settings{StaticCapacity: true}, Decide: decide, Refused: func(evidence.Case) { refused.Add(1) }}
	Run(t, c, func(s *Sim) {
		s.Store.Put(class(), daemon())
		s.resize(staticPool(), 2)
		s.Pass(time.Minute)
		if n := len(s.Store.Objects().Claims); n != 0 || refused.Load() == 0 || refused.Load() > 12 {
			t.Errorf("%d claims come from unsound plans, of which %d were refused in a minute", n, refused.Load())
		}
		broken.Store(false)
		s.Until("two nodes are ready", 5*time.Minute, s.ready(2))
	})
}

func TestAStaticPoolHasAsManyNodesAsAPersonWants(t *testing.T) {
	Run(t, Config{Settings: control.Settings{StaticCapacity: true}}, func(s *Sim) {
		s.Store.Put(class(), daemon())
		s.resize(staticPool(), 0)
		s.Pass(time.Minute)
		if n := len(s.Store.Objects().Claims); n != 0 {
			t.Fatalf("%d claims for no replicas", n)
		}
		s.resize(staticPool(), 3)
		s.Until("three nodes are ready", 2*time.Minute, s.ready(3))

		// Its nodes are ordinary capacity: pods land there, nothing is bought, and they stay although pods leave.
		s.Scale("inflate", 2, oneCore())
		s.Until("both pods run", time.Minute, s.runs("inflate", 2))
		s.Scale("inflate", 0, oneCore())
		s.Pass(30 * time.Minute)
		if n := s.Cloud.Accepted(); n != 3 || !s.ready(3)() {
			t.Errorf("%d machines were bought, want 3, all of them still there", n)
		}

		killed := s.Store.Objects().Nodes[0]
		if !s.Cloud.Evict(killed.ProviderID) {
			t.Fatalf("no machine %s", killed.ProviderID)
		}
		s.Until("the lost machine is replaced", 5*time.Minute, func() bool { return s.ready(3)() && s.Cloud.Accepted() == 4 })

		s.Scale("keep", 1, oneCore())
		s.Until("the pod runs", time.Minute, s.runs("keep", 1))
		home := s.Pods("keep")[0].Node
		s.resize(staticPool(), 1)
		s.Until("one node is left", 3*time.Minute, s.ready(1))
		if left := s.Store.Objects().Nodes[0].Name; left != home {
			t.Errorf("node %s is left, want %s, where the pod is", left, home)
		}
		s.Scale("keep", 0, oneCore())
		s.resize(staticPool(), 0)
		s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
	})
}

func TestAStaticPoolIsFilledOnceWhateverDies(t *testing.T) {
	for _, point := range []control.Point{control.PointPlanned, control.PointClaimCreated, control.PointAccepted} {
		t.Run(string(point), func(t *testing.T) {
			Run(t, Config{Settings: control.Settings{StaticCapacity: true}}, func(s *Sim) {
				s.Store.Put(class(), daemon())
				s.KillAt(point)
				s.resize(staticPool(), 3)
				s.Until("three nodes are ready", 3*time.Minute, s.ready(3))
				if n := s.Cloud.Accepted(); n != 3 || s.Killed(point) != 1 {
					t.Errorf("%d machines were bought, want 3; died %d times at %q, want once", n, s.Killed(point), point)
				}
			})
		})
	}
}

func TestAStaticPoolKeepsItsLimit(t *testing.T) {
	Run(t, Config{Settings: control.Settings{StaticCapacity: true}}, func(s *Sim) {
		s.Store.Put(class(), daemon())
		s.resize(staticPool(), 6)
		s.Until("as many as the limit allows are ready", 3*time.Minute, s.ready(4))
		s.Pass(10 * time.Minute) // check() looks at the limit ten times a second
		if n := s.Cloud.Accepted(); n != 4 {
			t.Errorf("%d machines were bought, want 4", n)
		}
	})
}

func TestWithoutTheGateAStaticPoolIsLeftAlone(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(class(), daemon())
		s.resize(staticPool(), 3)
		s.Scale("inflate", 1, oneCore())
		s.Pass(5 * time.Minute)
		if n := s.Cloud.Accepted(); n != 0 {
			t.Errorf("%d machines were bought, want none", n)
		}
	})
}
