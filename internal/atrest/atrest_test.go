package atrest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/atrest"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// machine is a type that is sold, in cores and millionths of a dollar.
type machine struct {
	name  string
	cores int64
	price model.Price
}

var sold = []machine{{"D2", 2, 110_000}, {"D4", 4, 200_000}, {"D8", 8, 390_000}}

const types = `
type D2 cpu=2 memory=8Gi zones=1 price=0.11
type D4 cpu=4 memory=16Gi zones=1 price=0.20
type D8 cpu=8 memory=32Gi zones=1 price=0.39
pool general
`

// stands writes a node with its claim.
func stands(name, typ string, cores int64) string {
	labels := "label.node.kubernetes.io/instance-type=" + typ +
		" label.topology.kubernetes.io/zone=1 label.karpenter.sh/capacity-type=on-demand"
	return fmt.Sprintf("node %s pool=general provider-id=p-%s cpu=%d memory=%dGi initialized %s\n"+
		"claim %s pool=general node=%s provider-id=p-%s is=Launched,Registered,Initialized %s\n",
		name, name, cores, 4*cores, labels, name, name, name, labels)
}

func parse(t *testing.T, text string) model.World {
	t.Helper()
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return w
}

// cheapest tries every way to put the pods, in cores, onto machines.
func cheapest(pods []int64, bins []int64) model.Price {
	if len(pods) == 0 {
		var sum model.Price
		for _, n := range bins {
			best := model.Price(0)
			for _, m := range sold {
				if m.cores*1000 >= n && (best == 0 || m.price < best) {
					best = m.price
				}
			}
			sum += best
		}
		return sum
	}
	best := cheapest(pods[1:], append(bins[:len(bins):len(bins)], pods[0]))
	for i := range bins {
		if bins[i]+pods[0] > 8000 {
			continue
		}
		next := append([]int64(nil), bins...)
		next[i] += pods[0]
		best = min(best, cheapest(pods[1:], next))
	}
	return best
}

func TestNothingCostsLessThanTheBound(t *testing.T) {
	tight := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var text strings.Builder
		text.WriteString(types)
		var pods []int64
		var kept []disrupt.Kept
		var price model.Price
		for n := range 1 + r.IntN(3) {
			m, name := sold[r.IntN(len(sold))], fmt.Sprintf("n%d", n)
			text.WriteString(stands(name, m.name, m.cores))
			kept = append(kept, disrupt.Kept{Claim: name, Node: name, Why: []model.Why{
				model.WhyBudget, model.WhyPDB, model.WhyNoCheaperHome}[r.IntN(3)]})
			price += m.price
			for left := m.cores * 1000; left > 400 && len(pods) < 6; {
				size := 100 * (1 + r.Int64N(min(left, 5000)/100))
				fmt.Fprintf(&text, "pod x%d cpu=%dm node=%s\n", len(pods), size, name)
				pods, left = append(pods, size), left-size
			}
		}
		got := atrest.Judge(parse(t, text.String()), kept, bound.Quick)
		best := cheapest(pods, nil)
		if got.Price != price || got.Bound > best {
			t.Fatalf("seed %d: %+v, but %s are paid and %s would do\n%s",
				seed, got, price, best, text.String())
		}
		if got.Bound*2 > best {
			tight++
		}
		var gap model.Price
		nodes := 0
		for i, s := range got.Gap {
			gap, nodes = gap+s.Price, nodes+s.Nodes
			if s.Price < -1 || i > 0 && s.Price > got.Gap[i-1].Price {
				t.Errorf("seed %d: the gap is %+v", seed, got.Gap)
			}
		}
		if gap != got.Price-got.Bound || nodes != len(kept) {
			t.Errorf("seed %d: the gap of %s is %+v", seed, got.Price-got.Bound, got.Gap)
		}
	}
	if tight < 150 {
		t.Errorf("of 200 bounds only %d are worth half of the cheapest plan", tight)
	}
}

func TestTheGapIsWhereNodesAreHeld(t *testing.T) {
	text := types + stands("full", "D4", 4) + stands("held", "D4", 4) + stands("idle", "D2", 2) +
		"pod a cpu=4 node=full\npod b cpu=1 node=held\n"
	kept := []disrupt.Kept{{Claim: "full", Why: model.WhyNoCheaperHome},
		{Claim: "held", Why: model.WhyDoNotDisrupt}, {Claim: "idle", Why: model.WhyBudget}}
	// Nothing is cheaper than a D4 for the one pod and a D2 for the other.
	want := "$0.5100/h, at least $0.3100/h: 1 disruption-budget $0.1100/h, " +
		"1 do-not-disrupt $0.0900/h, 1 no-cheaper-home $0.0000/h"
	got := atrest.Judge(parse(t, text), kept, bound.Quick)
	var parts []string
	for _, s := range got.Gap {
		parts = append(parts, fmt.Sprintf("%d %s %s", s.Nodes, s.Why, s.Price))
	}
	said := fmt.Sprintf("%s, at least %s: %s", got.Price, got.Bound, strings.Join(parts, ", "))
	if said != want {
		t.Errorf("%s\nwant %s", said, want)
	}
}

func TestANodeOfWhichNoPriceIsKnownDoesNotCount(t *testing.T) {
	text := types + stands("old", "D3", 3) + stands("full", "D4", 4) +
		"pod a cpu=4 node=full\npod b cpu=3 node=old\n"
	got := atrest.Judge(parse(t, text), nil, bound.Quick)
	if got.Unknown != 1 || got.Price != 200_000 || got.Bound > 200_000 || got.Bound < 195_000 {
		t.Errorf("%+v", got)
	}
}

// What is no longer on sale may go on being paid for: it bounds like what is.
func TestACheapMachineThatIsThereLowersTheBound(t *testing.T) {
	text := "type Old cpu=4 memory=16Gi zones=1 price=0.05 sold-out=1/on-demand" + types +
		stands("old", "Old", 4) + "pod a cpu=4 node=old\n"
	got := atrest.Judge(parse(t, text), nil, bound.Quick)
	if got.Price != 50_000 || got.Bound > 50_000 || got.Bound == 0 {
		t.Errorf("%+v", got)
	}
}
