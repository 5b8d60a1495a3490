package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// A node waited empty for a pod, which came and went. It is not kept for that pod any longer, and goes as soon as the pool lets it.
func TestANodeThatWasLeftIsNotKept(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := pool()
		at := time.Duration(0)
		p.ConsolidateAfter = &at
		s.Store.Put(p, class(), daemon())
		s.Scale("web", 1, oneCore())
		s.Until("a machine is on its way", time.Minute, func() bool { return len(s.Store.Objects().Claims) == 1 })
		s.deaf.Store(true)
		s.Until("it is there", 2*time.Minute, func() bool { return s.Store.Objects().Claims[0].Is(model.Initialized) })
		s.Pass(10 * time.Second)
		s.deaf.Store(false)
		s.Until("the pod runs", time.Minute, s.runs("web", 1))
		s.Pass(time.Minute)
		s.Scale("web", 0, oneCore())
		s.Until("its node leaves", 10*time.Second, func() bool {
			claims := s.Store.Objects().Claims
			return len(claims) == 0 || claims[0].Deleting()
		})
	})
}
