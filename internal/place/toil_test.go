package place

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// entangled is a world in which everybody minds everybody: each pod is a workload of its own, every other one looks for the one before it in its
// zone, all refuse the one before them on their machine, and are spread, over machines and over zones, with nearly all others.
func entangled(t *testing.T, nodes, pods int) model.World {
	var b strings.Builder
	b.WriteString("type D4 cpu=4 memory=16Gi zones=1,2,3 price=0.20\ntype D8 cpu=8 memory=32Gi zones=1,2,3 price=0.40\npool general\n")
	for i := range nodes {
		fmt.Fprintf(&b, "node n%d pool=general type=D4 zone=%d cpu=4 memory=16Gi initialized\n", i, 1+i%3)
		fmt.Fprintf(&b, "claim c%d pool=general node=n%d cpu=4 memory=16Gi is=Launched,Registered,Initialized\n", i, i)
	}
	for i := range pods {
		fmt.Fprintf(&b, "pod p%04d cpu=%dm label.app=a%d near=zone:app=a%d apart=host:app=a%d spread=host:1:app!=a%d spread=zone:1:app!=a%d\n",
			i, 100+i%7, i, i-i%2, (i+pods-1)%pods, (i+2)%pods, (i+3)%pods)
	}
	w, err := worldtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWorkIsBounded counts the work of plans for a world in which everybody minds everybody: never more than four times the limit, beside one
// question that was begun in time. Pods left over because of that say so.
func TestWorkIsBounded(t *testing.T) {
	w := entangled(t, 40, 140)
	free := 0
	once := len(w.Pods) * 8 // to ask the pool about every form, in every attempt that is made
	p := Decide(Input{World: w, Limit: 1 << 30, spent: &free})
	if p.BudgetExceeded {
		t.Fatal("cut short although there was no limit")
	}
	t.Logf("without a limit: %d", free)
	for _, limit := range []int{100, 1_000, 10_000} {
		spent := 0
		p := Decide(Input{World: w, Limit: limit, spent: &spent})
		t.Logf("limit %d: %d, %d pods left", limit, spent, len(p.Unscheduled))
		if most := 4*limit + len(w.Pods) + once; spent > most {
			t.Errorf("limit %d: the work is %d, more than %d", limit, spent, most)
		}
		if free <= 4*limit {
			t.Errorf("limit %d: without one the work is %d only", limit, free)
		}
		if !p.BudgetExceeded {
			t.Errorf("limit %d: the plan does not say that it was cut short", limit)
		}
		said := slices.ContainsFunc(p.Unscheduled, func(l answer.Unscheduled) bool {
			return slices.ContainsFunc(l.Refusals, func(r answer.Refusal) bool { return r.Why == model.WhyPlanCut })
		})
		if len(p.Unscheduled) > 0 && !said && limit <= 1_000 {
			t.Errorf("limit %d: %d pods are left, and none says that the search ended before its turn", limit, len(p.Unscheduled))
		}
	}
}

// TestOnlyAPlanThatWasCutShortSaysSo: of random worlds, and of some in which pods find no place beside others of the same plan in a pool without limits.
func TestOnlyAPlanThatWasCutShortSaysSo(t *testing.T) {
	left := 0
	for i := range uint64(300) {
		seed := i
		if some := []uint64{2063, 2151, 2814, 2919, 3888}; i < uint64(len(some)) {
			seed = some[i]
		}
		p := Decide(Input{World: worldgen.Small(seed)})
		for _, l := range p.Unscheduled {
			left++
			for _, r := range l.Refusals {
				if r.Why == model.WhyPlanCut && !p.BudgetExceeded {
					t.Errorf("seed %d: %s: %s: %s", seed, l.Pod, r.Why, r.Detail)
				}
			}
		}
	}
	if left < 100 {
		t.Errorf("%d pods are left: there is little to judge", left)
	}
}

// TestUsualPlansAreNotCutShort: large inputs, and a large cluster that many pods wait in, need a part of the usual limit only.
func TestUsualPlansAreNotCutShort(t *testing.T) {
	cluster := workload.Cluster(1_000, 30_000, true, 1)
	cluster.Pods = append(cluster.Pods, workload.World(workload.Families(), workload.Topology(4_000, 2)).Pods...)
	for _, c := range []struct {
		name string
		w    model.World
	}{
		{"topology", workload.World(workload.Families(), workload.Topology(50_000, 1))},
		{"topology in a large cluster", cluster},
	} {
		spent := 0
		p := Decide(Input{World: c.w, spent: &spent})
		t.Logf("%s: %d for %d pods", c.name, spent, len(Waiting(c.w)))
		if p.BudgetExceeded {
			t.Errorf("%s: cut short", c.name)
		}
	}
}

// TestSetUpIsCharged draws worlds with pools that ask for much choice: to find out what can be sold to whom is charged, and whatever it comes to, no plan costs more
// than four times the limit beside doing it a few times over.
func TestSetUpIsCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		pods, terms := 20+r.IntN(60), 1+r.IntN(20)
		w := workload.World(workload.Families(), workload.ManyTerms(pods, terms, r.Uint64()))
		cost := func(w model.World, limit int) int {
			spent := 0
			Decide(Input{World: w, Limit: limit, spent: &spent})
			return spent
		}
		plain := cost(w, 1)
		pool := w.Pools[0]
		pool.Requirements = append(slices.Clone(pool.Requirements), model.Requirement{Key: model.LabelInstanceType, Op: model.Exists, MinValues: 2 + r.IntN(30)})
		w.Pools = []model.Pool{pool}
		least := cost(w, 1)
		if least <= plain+terms {
			t.Errorf("%d pods with %d terms each: %d with minValues, %d without: set-up is not charged", pods, terms, least, plain)
		}
		for _, limit := range []int{10, 1_000, 30_000} {
			if spent, most := cost(w, limit), 4*limit+8*least; spent > most {
				t.Errorf("%d pods with %d terms each, pool %v, limit %d: the work is %d, more than %d; to set up took %d", pods, terms, pool.Requirements, limit, spent, most, least)
			}
		}
	}
}

// TestComparingWhatIsForSaleIsCharged: to find out which of many sizes no other beats is work of the plan, and ends with it.
func TestComparingWhatIsForSaleIsCharged(t *testing.T) {
	const sizes = 2_000
	price := rand.New(rand.NewPCG(1, 2)).Perm(sizes)
	cost := func(alike bool, limit int) (spent int, p answer.Plan) {
		var b strings.Builder
		for i := range sizes {
			cpu, mem := 1+i, sizes-i
			if alike {
				cpu, mem = 1, sizes
			}
			fmt.Fprintf(&b, "type T%04d cpu=%d memory=%dGi zones=1 price=0.%06d\n", i, cpu, mem, 100_000+price[i])
		}
		b.WriteString("pool general\npod p cpu=500m memory=1Gi\n")
		w, err := worldtext.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		p = Decide(Input{World: w, Limit: limit, spent: &spent})
		return spent, p
	}
	beaten, _ := cost(true, 0)
	spent, p := cost(false, 0)
	if p.BudgetExceeded || len(p.NewClaims) != 1 {
		t.Fatalf("cut short: %t; %d machines are bought", p.BudgetExceeded, len(p.NewClaims))
	}
	if spent < beaten+10*sizes {
		t.Errorf("the work is %d, and %d where all sizes are the same: to compare them is not charged", spent, beaten)
	}
	for _, limit := range []int{1_000, 10_000} {
		few, q := cost(false, limit)
		if most := 4*limit + 4*sizes; few > most {
			t.Errorf("limit %d: the work is %d, more than %d", limit, few, most)
		}
		if len(q.NewClaims) != 1 || q.Price != p.Price {
			t.Errorf("limit %d: %d machines for %s, want one for %s", limit, len(q.NewClaims), q.Price, p.Price)
		}
	}
}
