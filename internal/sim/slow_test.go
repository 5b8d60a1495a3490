package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// A scheduler that looks at twenty pods a second (kube-scheduler does fifty, of ten times as many, with its default rate of requests) takes longer than machines take to join.
// They get the machines of one plan all the same: pods of one template are planned for as soon as the first of them was found to fit nowhere.
func TestASlowSchedulerCostsNoMachines(t *testing.T) {
	const apart, small = 30, 270
	cat, err := bench.Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			plans := 0
			cfg := Config{Cloud: memcloud.Config{Catalog: cat, BootDelay: time.Second}, Settings: control.Settings{Nominate: true}, Join: time.Second, JoinSpread: 3 * time.Second,
				Rand: rand.New(rand.NewPCG(seed, 0)), Shuffle: true, Queue: true, Pace: 2, Decide: func(in place.Input) place.Plan {
					plan := place.Decide(in)
					if len(plan.NewClaims) > 0 {
						plans++
					}
					return plan
				}}
			Run(t, cfg, func(s *Sim) {
				p := pool()
				p.Limits, p.ConsolidateAfter = nil, nil
				s.Store.Put(p, class(), daemon())
				one := core(200)
				one.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{"default"},
					Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"apart"}}}}}}
				s.Scale("apart", apart, one)
				s.Scale("small", small, core(100))
				s.Until("all pods run", 10*time.Minute, func() bool {
					pods := s.Store.Objects().Pods
					return len(pods) >= apart+small && !slices.ContainsFunc(pods, func(p model.Pod) bool { return p.Node == "" })
				})
				if n := s.Cloud.Accepted(); n != apart || plans != 1 {
					t.Errorf("%d machines were bought in %d plans, want %d in one", n, plans, apart)
				}
			})
		})
	}
}
