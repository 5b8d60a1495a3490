package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// A pool of which a value cannot be read buys nothing and loses nothing; the others go on, people are told, and it comes back.
func TestAPoolThatCannotBeReadStandsAlone(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := pool()
		s.Store.Put(p, class(), daemon())
		s.Scale("inflate", 5, oneCore())
		s.Until("all five run", 2*time.Minute, s.runs("inflate", 5))
		bought := s.Cloud.Accepted()

		p.Generation++
		const why = `spec.template.spec.expireAfter: "9999999h": time: invalid duration`
		s.Store.Put(model.Aside(p, why))
		s.Until("the pool says so", time.Minute, func() bool {
			x, _ := model.FindCondition(s.Store.Objects().Pools[0].Conditions, model.ValidationSucceeded)
			return x.Status == model.False && strings.Contains(x.Message, why)
		})
		if !slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool { return e.Reason == "Unreadable" && strings.Contains(e.Message, why) }) {
			t.Error("no event names the value")
		}
		s.Scale("inflate", 0, oneCore())
		s.Scale("wait", 1, core(7000))
		s.Pass(10 * time.Minute)
		if n := s.Cloud.Accepted(); n != bought || s.Running("wait") != 0 || len(s.Store.Objects().Nodes) != bought {
			t.Fatalf("%d machines were bought, then %d; there are %d nodes, and %d more pods run", bought, n, len(s.Store.Objects().Nodes), s.Running("wait"))
		}

		other := pool()
		other.Name, other.UID = "other", "other-uid"
		s.Store.Put(other)
		s.Until("another pool buys", 3*time.Minute, s.runs("wait", 1))

		p.Generation++
		s.Store.Put(p)
		s.Scale("wait", 0, oneCore())
		s.Until("mended, it lets go of what it does not need", 5*time.Minute, s.nothingLeft)
	})
}

// A class of which a value cannot be read builds nothing, and what was built from it stays.
func TestAClassThatCannotBeReadBuildsNothing(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		c := s.Store.Objects().Classes[0]
		c.Generation++
		s.Store.Put(model.Aside(c, "spec.kubelet.cpuCFSQuotaPeriod: no"))
		s.Pass(time.Minute)
		s.Scale("wait", 1, core(7000))
		s.Pass(10 * time.Minute)
		x, _ := model.FindCondition(s.Store.Objects().Classes[0].Conditions, model.ValidationSucceeded)
		if x.Status != model.False || !strings.Contains(x.Message, "cpuCFSQuotaPeriod") || s.Running("wait") != 0 || s.Running("inflate") != 1 {
			t.Fatalf("condition %+v; %d and %d pods run", x, s.Running("inflate"), s.Running("wait"))
		}
		c.Generation++
		c.Unreadable, c.Hash, c.HashVersion = "", "2", "v3"
		s.Store.Put(c)
		s.Until("mended, it builds", 3*time.Minute, s.runs("wait", 1))
	})
}
