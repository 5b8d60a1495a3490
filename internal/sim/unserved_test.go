package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// saysOfFeatures is what the pool says of the kinds that its features need.
func (s *Sim) saysOfFeatures() model.Condition {
	c, _ := model.FindCondition(s.Store.Objects().Pools[0].Conditions, model.FeaturesServed)
	return c
}

// A CRD of a feature is missing: machines are bought and given back as ever, also after a restart and a lost watch, and people are told. Once the CRD
// is there the feature begins by itself, and when it goes again, so does what was there for it.
func TestAFeatureWaitsForItsKindAndNothingElseDoes(t *testing.T) {
	for _, c := range []struct {
		resource string
		// put uses the feature; works holds when it does its work; used has pods use it.
		put, used func(s *Sim)
		works     func(s *Sim) func() bool
	}{
		{memkube.Buffers, func(s *Sim) { s.reserve(3) }, func(*Sim) {},
			func(s *Sim) func() bool { return func() bool { return s.spare() >= 3 && s.provisioned() } }},
		{memkube.Overlays, func(s *Sim) {
			s.Store.Put(model.Overlay{Name: "fuse", Capacity: map[string]int64{"smarter-devices/fuse": 4}})
		}, func(s *Sim) {
			p := oneCore()
			p.Requests = p.Requests.With("smarter-devices/fuse", 1)
			s.Scale("fuse", 2, p)
		}, func(s *Sim) func() bool { return s.runs("fuse", 2) }},
	} {
		t.Run(c.resource, func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.Store.Unserve(c.resource)
				s.furnish()
				s.Scale("inflate", 2, oneCore())
				s.Until("both run", 2*time.Minute, s.runs("inflate", 2))
				s.Until("the pool says what is missing", time.Minute, func() bool {
					c := s.saysOfFeatures()
					return c.Status == model.False
				})
				if says := s.saysOfFeatures().Message; !strings.Contains(says, c.resource) {
					t.Errorf("the pool says %q", says)
				}
				told := func() (n int) {
					for _, e := range s.Store.Events() {
						if e.Reason == "Unserved" && strings.Contains(e.Message, c.resource) {
							n++
						}
					}
					return n
				}
				if told() == 0 {
					t.Error("no event names the kind")
				}
				s.KillAt(control.PointPlanned)
				s.Scale("inflate", 5, oneCore())
				s.Until("three more run, after a restart", 3*time.Minute, s.runs("inflate", 5))
				s.Store.CutWatch()
				s.Scale("inflate", 0, oneCore())
				s.Until("nothing is left", 5*time.Minute, s.nothingLeft)

				c.used(s)
				s.Pass(2 * time.Minute)
				if !s.nothingLeft() {
					t.Fatalf("something was bought for a feature that waits\n%s", s.Describe())
				}
				s.Store.Serve(c.resource)
				c.put(s)
				s.Until("it works, with nobody's help", 3*time.Minute, c.works(s))
				s.Until("the pool says that nothing is missing", time.Minute, func() bool { return s.saysOfFeatures().Status == model.True })

				said := told()
				s.Pass(10 * time.Minute)
				if n := told(); n != said {
					t.Errorf("%d more events say that it is missing", n-said)
				}
				s.Store.Unserve(c.resource)
				s.Scale("fuse", 0, oneCore())
				s.Until("what was there for it goes with it", 5*time.Minute, s.nothingLeft)
				if o := s.Store.Objects(); len(o.Overlays)+len(o.Buffers) > 0 || told() == said || s.saysOfFeatures().Status != model.False {
					t.Errorf("left: %v and %v, or nobody was told again: %+v", o.Overlays, o.Buffers, s.saysOfFeatures())
				}
			})
		})
	}
}
