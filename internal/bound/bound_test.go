package bound

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

// small draws a problem of a few pods, whose optimum can be found by trying everything.
func small(r *rand.Rand, pods int) Problem {
	p := Problem{Resources: []string{"cpu", "memory"}}
	for m := range 1 + r.Intn(4) {
		p.Machines = append(p.Machines, Machine{Name: fmt.Sprint("m", m), Room: []int64{int64(2 + r.Intn(30)), int64(2 + r.Intn(30))}, Price: model.Price(10_000 + r.Intn(300_000))})
	}
	for left := pods; left > 0; {
		g := Group{Name: fmt.Sprint("g", len(p.Groups)), Need: []int64{int64(r.Intn(12)), int64(1 + r.Intn(12))}, Count: int64(1 + r.Intn(left))}
		if r.Intn(4) == 0 {
			g.Most = int64(1 + r.Intn(2))
		}
		for m, x := range p.Machines {
			if g.Need[0] <= x.Room[0] && g.Need[1] <= x.Room[1] && r.Intn(5) > 0 {
				g.On = append(g.On, int32(m))
			}
		}
		left -= int(g.Count)
		if len(g.On) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	return p
}

// optimum tries every way to cut the pods into loads of one machine each.
func optimum(p Problem) model.Price {
	var pods []int
	for g, x := range p.Groups {
		for range x.Count {
			pods = append(pods, g)
		}
	}
	const never = model.Price(1 << 60)
	one := func(set int) model.Price { // the cheapest machine that holds them all
		best := never
	next:
		for m, x := range p.Machines {
			room, have := append([]int64(nil), x.Room...), map[int]int64{}
			for i, g := range pods {
				if set&(1<<i) == 0 {
					continue
				}
				have[g]++
				on := false
				for _, o := range p.Groups[g].On {
					on = on || int(o) == m
				}
				if !on || p.Groups[g].Most > 0 && have[g] > p.Groups[g].Most {
					continue next
				}
				for r, n := range p.Groups[g].Need {
					if room[r] -= n; room[r] < 0 {
						continue next
					}
				}
			}
			best = min(best, x.Price)
		}
		return best
	}
	cost := make([]model.Price, 1<<len(pods))
	single := make([]model.Price, len(cost))
	for set := 1; set < len(cost); set++ {
		single[set], cost[set] = one(set), never
		for sub := set; sub > 0; sub = (sub - 1) & set {
			cost[set] = min(cost[set], single[sub]+cost[set&^sub])
		}
	}
	return cost[len(cost)-1]
}

func TestBoundsStayBelowTheOptimumAndL2MeetsItMostly(t *testing.T) {
	const worlds = 400
	r := rand.New(rand.NewSource(1))
	met := map[Tier]int{}
	for i := range worlds {
		p := small(r, 1+r.Intn(8))
		best := optimum(p)
		last := model.Price(0)
		for tier := L0; tier <= L2; tier++ {
			c := upTo(p, tier, Thorough)
			v, err := Check(c, p)
			if err != nil {
				t.Fatalf("world %d: %s does not pass the check: %v\n%+v", i, tier, err, p)
			}
			if v > best {
				t.Fatalf("world %d: %s says %s, the optimum is %s\n%+v", i, tier, v, best, p)
			}
			if v+v/100_000+2 < last {
				t.Fatalf("world %d: %s says %s, the tier below said %s\n%+v", i, tier, v, last, p)
			}
			if last = v; best-v <= 2+best/100_000 {
				met[tier]++
			}
		}
	}
	t.Logf("of %d optima, L0 meets %d, L1 %d, L1' %d, L2 %d", worlds, met[L0], met[L1], met[L1Split], met[L2])
	if met[L2] < worlds*2/3 {
		t.Errorf("L2 meets only %d of %d optima", met[L2], worlds)
	}
}

func TestSpoiltCertificatesAreRefused(t *testing.T) {
	p := Problem{Resources: []string{"cpu"}, Machines: []Machine{{Name: "m", Room: []int64{10}, Price: 100_000}, {Name: "n", Room: []int64{4}, Price: 70_000}},
		Groups: []Group{{Name: "a", Need: []int64{6}, Count: 3, On: []int32{0}}, {Name: "b", Need: []int64{4}, Count: 3, On: []int32{0, 1}}}}
	for name, spoil := range map[string]func(c *Certificate){
		"a higher value":          func(c *Certificate) { c.Value += 10 },
		"pods worth more":         func(c *Certificate) { c.Worth[0] += unit },
		"pods worth less":         func(c *Certificate) { c.Worth[1] -= c.Worth[1] / 2 },
		"pods worth less than 0":  func(c *Certificate) { c.Worth[1] = -1 },
		"pods worth a lot":        func(c *Certificate) { c.Worth[1] = 1 << 62 },
		"cheap room":              func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Prices: []int64{0}} },
		"room below nothing":      func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Prices: []int64{-1}} },
		"dear room":               func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Prices: []int64{1 << 60}} },
		"prices of other things":  func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Prices: []int64{1, 1}} },
		"a proof for nobody":      func(c *Certificate) { c.Use[0] = 99 },
		"no proof":                func(c *Certificate) { c.Use = c.Use[:1] },
		"a branch without leaves": func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Low: &Proof{Prices: []int64{0}}} },
		"a branch on nobody":      func(c *Certificate) { c.Proofs[c.Use[0]] = Proof{Group: 7, Low: &Proof{}, High: &Proof{}} },
		"a proof that never ends": func(c *Certificate) { x := &c.Proofs[c.Use[0]]; x.Group, x.At, x.Low, x.High = 0, 1<<40, x, x },
	} {
		c := Best(p, Thorough)
		if v, err := Check(c, p); err != nil || v != 300_000 {
			t.Fatalf("to begin with: %v, %v", v, err)
		}
		spoil(&c)
		if v, err := Check(c, p); err == nil {
			t.Errorf("%s: passes, for %s", name, v)
		}
	}
}

func TestABoundSaysItsTier(t *testing.T) {
	p := Problem{Resources: []string{"cpu"}, Machines: []Machine{{Room: []int64{10}, Price: 100_000}},
		Groups: []Group{{Need: []int64{6}, Count: 1, On: []int32{0}}, {Need: []int64{5}, Count: 1, On: []int32{0}}}}
	if s := Best(p, Thorough).String(); !strings.HasPrefix(s, "at least $0.2000/h (L2") {
		t.Error(s)
	}
	if s := upTo(p, L1, Thorough).String(); !strings.HasPrefix(s, "at least $0.1100/h (L0") {
		t.Error(s)
	}
	if c := Best(Problem{}, Thorough); c.Value != 0 {
		t.Error(c)
	}
}
