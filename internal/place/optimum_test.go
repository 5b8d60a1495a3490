package place_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
	"pgregory.net/rapid"
)

// oracle tries every way to put pods on machines of one pool without daemons: slow, obvious, right.
type oracle struct {
	pods  []model.Resources
	types []model.InstanceType
	memo  map[[2]int64]cost
}

type cost struct {
	missed int
	price  model.Price
}

func (c cost) less(o cost) bool {
	return c.missed < o.missed || c.missed == o.missed && c.price < o.price
}

// best packs the pods of mask with cpu (of the limit) left: the first pod stays, or goes onto a machine with any others.
func (o *oracle) best(mask uint, cpu int64) cost {
	if mask == 0 {
		return cost{}
	}
	key := [2]int64{int64(mask), cpu}
	if c, ok := o.memo[key]; ok {
		return c
	}
	first := mask & -mask
	out := o.best(mask&^first, cpu)
	out.missed++
	for sub := mask; sub > 0; sub = (sub - 1) & mask {
		if sub&first == 0 {
			continue
		}
		var load model.Resources
		for i, r := range o.pods {
			if sub&(1<<i) != 0 {
				load = load.Add(r)
			}
		}
		for _, t := range o.types {
			if !load.FitsIn(t.Allocatable) || t.Capacity.CPU > cpu {
				continue
			}
			c := o.best(mask&^sub, cpu-t.Capacity.CPU)
			c.price += t.Offerings[0].Price
			if c.less(out) {
				out = c
			}
		}
	}
	o.memo[key] = out
	return out
}

func TestTinyWorldsCostTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{t: t}
		for i := range d.n("types", 1, 4) {
			cpu := d.n("cpu", 2, 8)
			d.line("type T%d cpu=%d memory=%dGi alloc.cpu=%dm price=0.%02d%d", i, cpu, d.n("memory", 2, 32), cpu*1000-d.n("kept", 0, 300), d.n("price", 1, 60), i)
		}
		limit := int64(1 << 40)
		if d.n("limited", 0, 2) == 0 {
			cpus := d.n("limit", 2, 20)
			limit = int64(cpus) * 1000
			d.line("pool p limit.cpu=%d", cpus)
		} else {
			d.line("pool p")
		}
		left := 8
		for i := range d.n("groups", 1, 4) {
			n := d.n("count", 1, max(1, left/2))
			left -= n
			d.line("pod g%d x%d cpu=%dm memory=%dMi", i, n, d.n("pod-cpu", 1, 30)*100, d.n("pod-memory", 1, 60)*100)
		}
		w, err := worldtext.Parse(d.b.String())
		if err != nil {
			t.Fatal(err)
		}
		o := &oracle{types: w.Catalogs[worldtext.Ref("default")].Types, memo: map[[2]int64]cost{}}
		for _, p := range w.Pods {
			o.pods = append(o.pods, p.Requests)
		}
		want := o.best(1<<len(o.pods)-1, limit)
		p := place.Decide(place.Input{World: w})
		if len(p.Unscheduled) != want.missed || p.Price != want.price {
			t.Fatalf("%d left at %s, the best is %d at %s\nworld:\n%s\nplan:\n%s", len(p.Unscheduled), p.Price, want.missed, want.price, d.b.String(), p)
		}
	})
}

// floorPrice is a certified lower bound: prices per core and per byte at which no machine is worth more than it costs, so
// that the pods cannot cost less than what they are worth together. It tries many pairs and keeps the best.
func floorPrice(w model.World, kind string) float64 {
	const steps = 400
	var sum model.Resources
	for _, p := range w.Pods {
		sum = sum.Add(p.Requests)
	}
	var offers []model.InstanceType
	most := 0.0 // of the price per unit of cpu
	for _, t := range w.Catalogs[worldtext.Ref("default")].Types {
		for _, o := range t.Offerings {
			if o.CapacityType != kind {
				continue
			}
			t.Offerings = []model.Offering{o}
			offers = append(offers, t)
			if x := o.Price.Float() / float64(t.Allocatable.CPU); most == 0 || x < most {
				most = x
			}
			break
		}
	}
	low := 0.0
	for i := range steps + 1 {
		cpu, memory := most*float64(i)/steps, -1.0
		for _, t := range offers {
			if x := (t.Offerings[0].Price.Float() - cpu*float64(t.Allocatable.CPU)) / float64(t.Allocatable.Memory); memory < 0 || x < memory {
				memory = max(x, 0)
			}
		}
		low = max(low, cpu*float64(sum.CPU)+memory*float64(sum.Memory))
	}
	return low
}

// TestManyGroupsStayNearTheFloor looks where no exact search reaches: many groups of pods on many sizes.
func TestManyGroupsStayNearTheFloor(t *testing.T) {
	w := bigWorld(t, 40, 2000)
	p := place.Decide(place.Input{World: w})
	if f := audit.Check(w, p); len(f) > 0 {
		t.Fatal(f[0])
	}
	if len(p.Unscheduled) > 0 || p.BudgetExceeded {
		t.Fatalf("%d pods left, cut %v", len(p.Unscheduled), p.BudgetExceeded)
	}
	floor := floorPrice(w, model.OnDemand)
	if gap := p.Price.Float()/floor - 1; gap > 0.05 {
		t.Errorf("the plan costs %s, %.1f%% above the floor of $%.4f", p.Price, gap*100, floor)
	}
}

// bigWorld has sizes of three families in three zones and pods of many shapes; it is the same every time.
func bigWorld(t testing.TB, shapes, pods int) model.World {
	var b strings.Builder
	for _, f := range []struct {
		name  string
		ratio int
		price float64
	}{{"F", 2, 0.042}, {"D", 4, 0.048}, {"E", 8, 0.063}} {
		for gen := 3; gen <= 6; gen++ {
			for _, variant := range []string{"", "a", "d", "l", "n", "p", "s", "t", "b", "c"} {
				for _, cpu := range []int{2, 4, 8, 16, 32, 48, 64, 96} {
					price := f.price * float64(cpu) * (1 + 0.02*float64(6-gen) + 0.03*float64(len(variant)+int((variant + "a")[0])%7))
					fmt.Fprintf(&b, "type %s%d%s_v%d family=%s%sv%d cpu=%d memory=%dGi alloc.cpu=%dm alloc.memory=%dMi zones=0,1,2,3 price=%.4f spot=%.4f label.karpenter.azure.com/sku-family=%s label.karpenter.azure.com/sku-cpu=%d\n",
						f.name, cpu, variant, gen, f.name, variant, gen, cpu, cpu*f.ratio, cpu*1000-100-cpu*10, cpu*f.ratio*960-1500, price, price*0.3, f.name, cpu)
				}
			}
		}
	}
	b.WriteString("pool general req=karpenter.sh/capacity-type:In:on-demand limit.cpu=100000\npool other req=karpenter.azure.com/sku-family:In:D,E req=karpenter.sh/capacity-type:In:on-demand\n")
	b.WriteString("daemon cilium cpu=100m memory=200Mi tolerate=*\ndaemon proxy cpu=50m memory=50Mi tolerate=*\n")
	for i := range shapes {
		fmt.Fprintf(&b, "pod s%d x%d cpu=%dm memory=%dMi\n", i, pods/shapes, 100+(i*i*37)%3900, 128+(i*i*i*53)%12000)
	}
	w, err := worldtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct{ shapes, pods int }{{1, 5}, {1, 500}, {1, 10_000}, {3, 300}, {10, 1000}, {50, 10_000}, {500, 10_000}} {
		b.Run(fmt.Sprintf("shapes=%d/pods=%d", c.shapes, c.pods), func(b *testing.B) {
			w := bigWorld(b, c.shapes, c.pods)
			var p place.Plan
			for b.Loop() {
				p = place.Decide(place.Input{World: w})
			}
			b.ReportMetric((p.Price.Float()/floorPrice(w, model.OnDemand)-1)*100, "%above-floor")
			b.ReportMetric(float64(len(p.NewClaims)), "machines")
		})
	}
}

func BenchmarkAudit(b *testing.B) {
	w := bigWorld(b, 50, 10_000)
	p := place.Decide(place.Input{World: w})
	for b.Loop() {
		if f := audit.Check(w, p); len(f) > 0 {
			b.Fatal(f[0])
		}
	}
}
