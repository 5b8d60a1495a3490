package sim

import (
	"flag"
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

// landers are 500 pods: half of them plain in five sizes, the others with every kind of constraint.
func landers() (out []deployment, names []string) {
	add := func(kind string, n int, cpu int64, edit func(p *model.Pod, own *model.Selector)) {
		name := fmt.Sprintf("%s-%d", kind, len(out))
		p := core(cpu)
		p.Requests.Memory = 64 << 20
		own := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{name}}}}
		if edit != nil {
			edit(&p, own)
		}
		out, names = append(out, deployment{want: n, pod: p}), append(names, name)
	}
	spread := func(key string) func(*model.Pod, *model.Selector) {
		return func(p *model.Pod, own *model.Selector) {
			p.Spread = []model.Spread{{Key: key, MaxSkew: 1, Hard: true, Selector: own, HonorAffinity: true}}
		}
	}
	for _, cpu := range []int64{100, 250, 500, 1000, 1900} {
		add("plain", 50, cpu, nil)
	}
	for _, cpu := range []int64{200, 400, 700, 1000} {
		add("zones", 30, cpu, spread(model.LabelZone))
	}
	add("hosts", 20, 300, spread(model.LabelHostname))
	add("apart", 15, 600, func(p *model.Pod, own *model.Selector) {
		p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Selector: own, Namespaces: []string{"default"}}}
	})
	add("together", 20, 500, func(p *model.Pod, own *model.Selector) {
		p.PodAffinity = []model.PodTerm{{Key: model.LabelZone, Selector: own, Namespaces: []string{"default"}}}
	})
	add("port", 10, 150, func(p *model.Pod, _ *model.Selector) {
		p.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 9000}}
	})
	add("west", 30, 400, func(p *model.Pod, _ *model.Selector) {
		p.NodeSelector = map[string]string{model.LabelZone: "westus3-1"}
	})
	add("large", 5, 7000, nil)
	add("soft", 30, 250, func(p *model.Pod, own *model.Selector) {
		p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Selector: own, HonorAffinity: true}}
	})
	return out, names
}

// without leaves a mechanism of the engine out, to see what it earns in a landing.
var without = flag.String("without", "", "leave this mechanism of the engine out")

// Many pods of all kinds, which the scheduler tries in any order, tries again after a while, and lets in as spread and affinity allow, get what was bought for them.
func TestAMixtureGetsWhatWasBoughtForIt(t *testing.T) {
	cat, err := bench.Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := Config{Cloud: memcloud.Config{Catalog: cat}, Settings: control.Settings{Nominate: true}, JoinSpread: 3 * time.Second,
				Rand: rand.New(rand.NewPCG(seed, 0)), Shuffle: true, Queue: true, Pace: 10}
			if *without != "" {
				cfg.Decide = func(in place.Input) place.Plan {
					in.Without = []place.Mechanism{place.Mechanism(*without)}
					return place.Decide(in)
				}
			}
			Run(t, cfg, func(s *Sim) {
				p := pool()
				p.Limits, p.ConsolidateAfter = nil, nil
				s.Store.Put(p, class(), daemon())
				list, names := landers()
				for i, d := range list {
					s.Scale(names[i], d.want, d.pod)
				}
				s.Until("machines are bought", time.Minute, func() bool { return s.Cloud.Accepted() > 1 })
				s.Pass(3 * time.Second)
				planned := len(s.Store.Objects().Claims)
				s.Until("all pods run", 3*time.Minute, func() bool {
					return !slices.ContainsFunc(s.Store.Objects().Pods, func(p model.Pod) bool { return p.Node == "" })
				})
				t.Logf("machines planned %d, bought beside %d", planned, s.Cloud.Accepted()-planned)
				if n := s.Cloud.Accepted() - planned; n > 0 {
					t.Errorf("%d machines were planned, and %d bought beside these", planned, n)
				}
			})
		})
	}
}
