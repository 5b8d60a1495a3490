package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// limited plans at a limit as if it were the usual one, and counts the plans that were cut short.
func limited(limit int, cuts *int) func(place.Input) place.Plan {
	return func(in place.Input) place.Plan {
		in.Limit = limit * max(1, in.Limit/place.DefaultLimit)
		plan := place.Decide(in)
		if plan.BudgetExceeded {
			*cuts++
		}
		return plan
	}
}

// twoPools has a pool for pods that are hard to plan for, and one for others.
func twoPools(s *Sim) {
	one, other := pool(), pool()
	one.Name, other.Name = "hard", "easy"
	for _, p := range []*model.Pool{&one, &other} {
		p.UID, p.Limits, p.ConsolidateAfter = p.Name, nil, nil
		s.Store.Put(*p)
	}
	s.Store.Put(class(), daemon())
}

// in is a pod for one of the pools.
func in(pool string, milli int64) model.Pod {
	p := core(milli)
	p.NodeSelector = map[string]string{model.LabelPool: pool}
	return p
}

// spreading is a pod that is spread over hosts and zones among the pods of some apps.
func spreading(p model.Pod, apps ...string) model.Pod {
	own := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: apps}}}
	for _, key := range []string{model.LabelHostname, model.LabelZone} {
		p.Spread = append(p.Spread, model.Spread{Key: key, MaxSkew: 1, Hard: true, Selector: own, HonorAffinity: true})
	}
	return p
}

// Pods of one pool that are hard to plan for use up the work limit of every plan. The pods of another pool do not wait for them, those that were there as little
// as those that come later; and they get their machines, part by part, also when the controller forgets in between what was too much.
func TestNobodyWaitsForEverWhenPlansAreCutShort(t *testing.T) {
	const hard, easy = 24, 6
	cuts := 0
	Run(t, Config{Decide: limited(40, &cuts)}, func(s *Sim) {
		twoPools(s)
		s.Scale("tied", hard, spreading(in("hard", 300), "tied"))
		s.Scale("plain", easy, in("easy", 100))
		s.Until("the pods of the other pool run", 3*time.Minute, s.runs("plain", easy))
		if cuts == 0 {
			t.Error("no plan was cut short")
		}
		told := slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool { return e.Reason == "PlanCutShort" })
		if !told {
			t.Error("no event says so")
		}
		s.Scale("late", easy, in("easy", 200))
		s.Until("so do those that come later", 3*time.Minute, s.runs("late", easy))
		s.Until("and those that are hard to plan for", 30*time.Minute, s.runs("tied", hard))
	})
}

// hardPods draws pods that are hard to plan for, of one kind.
func hardPods(seed uint64) (what string, pods []model.Pod) {
	r := rand.New(rand.NewPCG(seed, 0))
	n := 8 + r.IntN(16)
	switch r.IntN(5) {
	case 0:
		return "odd shapes", workload.OddShapes(n, seed)
	case 1:
		return "many terms", workload.ManyTerms(n, 1+r.IntN(8), seed)
	case 2:
		return "pairs", workload.HostPairs(n, seed)
	case 3:
		return "topology", workload.Topology(n, seed)
	}
	return "diverse", workload.Diverse(n, seed)
}

// TestEveryPodHasItsTurn draws pods that are hard to plan for, and limits that hardly any plan keeps: whoever a plan without limit places runs after a bounded
// number of plans, also when the controller dies in between. Few do not, and are told of something else than work in their way: those whom they have to share a
// machine with got one that is full by the time that it is their turn.
func TestEveryPodHasItsTurn(t *testing.T) {
	const seeds = 15
	all, cut, stuck := 0, 0, 0
	for seed := range uint64(seeds) {
		what, pods := hardPods(seed)
		limit := []int{10, 40, 160}[seed%3]
		t.Run(fmt.Sprintf("%d %s at %d", seed, what, limit), func(t *testing.T) {
			cuts, plans, last := 0, 0, map[model.PodKey]string{}
			placed := map[model.PodKey]bool{}
			decide := limited(limit, &cuts)
			cfg := Config{Cloud: memcloud.Config{Catalog: workload.Families()}, Decide: func(in place.Input) place.Plan {
				if plans++; plans == 1 {
					free := place.Decide(place.Input{World: in.World, Limit: 1 << 40})
					for _, p := range place.Waiting(in.World) {
						placed[p.Key()] = !slices.ContainsFunc(free.Unscheduled, func(l place.Unscheduled) bool { return l.Pod == p.Key() })
					}
				}
				plan := decide(in)
				for _, l := range plan.Unscheduled {
					last[l.Pod] = fmt.Sprint(l.Why, l.Detail, l.Refusals)
				}
				return plan
			}}
			Run(t, cfg, func(s *Sim) {
				p := pool()
				p.Requirements, p.Limits, p.ConsolidateAfter = nil, nil, nil
				s.Store.Put(p, class(), daemon())
				for _, p := range pods {
					s.Store.Put(p)
				}
				s.KillAt([]control.Point{control.PointPlanned, control.PointClaimCreated}[seed%2])
				waits := func(p model.Pod) bool { return p.Node == "" && placed[p.Key()] }
				for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); s.Pass(time.Second) {
					if plans > 0 && !slices.ContainsFunc(s.Store.Objects().Pods, waits) {
						break
					}
				}
				for _, p := range s.Store.Objects().Pods {
					if waits(p) {
						stuck++
						if why := last[p.Key()]; why == "" || strings.Contains(why, string(model.WhyPlanCut)) {
							t.Errorf("%s: %q", p.Key(), why)
						}
					}
				}
				t.Logf("%d pods, %d plans, %d of them cut short", len(pods), plans, cuts)
				all += len(pods)
				cut += min(cuts, 1)
			})
		})
	}
	if cut < seeds*3/4 {
		t.Errorf("plans were cut short in %d worlds of %d: there is little to see", cut, seeds)
	}
	if stuck > all/50 {
		t.Errorf("%d pods of %d found no place", stuck, all)
	}
}
