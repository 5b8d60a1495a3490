package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// A pool says only what a label must not be. Its node carries another value from the moment when it joins, and while it is on its way a pod that asks for
// the label is planned onto it.
func TestALabelThatMayBeAnythingElseIsSet(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := pool()
		p.Requirements = append(p.Requirements, model.Requirement{Key: "example.com/tier", Op: model.NotIn, Values: []string{"0", "bronze"}})
		s.Store.Put(class(), daemon(), p)
		small := oneCore()
		small.Requests.CPU = 100
		s.Scale("web", 1, small)
		s.Until("a machine is on its way", time.Minute, func() bool { return len(s.Store.Objects().Claims) == 1 })
		asks := small
		asks.Affinity = []model.Term{{{Key: "example.com/tier", Op: model.Exists}}}
		s.Scale("later", 1, asks)
		s.Until("both run", 10*time.Minute, func() bool { return s.Running("web") == 1 && s.Running("later") == 1 })
		nodes, claims := s.Store.Objects().Nodes, s.Store.Objects().Claims
		if len(nodes) != 1 || nodes[0].Labels["example.com/tier"] != "1" || len(claims) != 1 || claims[0].Labels["example.com/tier"] != "1" {
			t.Errorf("nodes %+v, claims %+v", nodes, claims)
		}
	})
}
