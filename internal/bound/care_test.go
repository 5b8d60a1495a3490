package bound

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
)

// TestSettingUpIsBounded: of many kinds and sizes of pods as many are looked at as care allows, what is beyond asks for less, and what comes out is a bound
// that is not above that of all care, but for what searches leave.
func TestSettingUpIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "type T%d cpu=%d memory=%dGi zones=1,2,3 price=0.%02d label.sku=s%d\n", i, 2+i%7, 4+3*(i%5), 10+i, i%10)
	}
	b.WriteString("pool general\n")
	for i := range 400 {
		fmt.Fprintf(&b, "pod p%d cpu=%dm memory=%dMi affinity=sku:NotIn:s%d,x%d\n", i, 100+7*(i%97), 100+11*(i%53), i%10, i)
	}
	w, err := worldtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	var list []Demand
	for i := range w.Pods {
		list = append(list, Demand{Pod: &w.Pods[i], Count: 1})
	}
	full, _ := usual().fromDemand(w, list, nil)
	best := Best(full, Brisk)
	const sites = 30 * 3
	if full.Loosened > 0 || len(full.Groups) != len(w.Pods) {
		t.Fatalf("%d pods loosened, %d groups", full.Loosened, len(full.Groups))
	}
	for _, c := range []care{{0, 0}, {0, 1 << 30}, {50 * sites, 1 << 30}, {1 << 30, 2_000}, {50 * sites, 2_000}, {1 << 30, 10_000}} {
		p, of := c.fromDemand(w, list, nil)
		kinds, pods := map[*int32]bool{}, int64(0)
		for _, g := range p.Groups {
			kinds[&g.On[0]] = true
			pods += g.Count
		}
		if most := c.questions/sites + 1; len(kinds) > most {
			t.Errorf("%+v: %d kinds were looked at, more than %d", c, len(kinds), most)
		}
		if cells := len(p.Groups) * len(p.Machines); cells > max(c.cells, len(kinds)*len(p.Machines)) {
			t.Errorf("%+v: %d cells", c, cells)
		}
		if p.Loosened == 0 || pods+p.Unplaceable != int64(len(w.Pods)) {
			t.Errorf("%+v: %d pods loosened, %d of %d are there", c, p.Loosened, pods, len(w.Pods))
		}
		for i, g := range of {
			for r, v := range full.Groups[i].Need {
				if g < 0 || p.Groups[g].Need[r] > v {
					t.Fatalf("%+v: pod %d is in group %d, which needs more", c, i, g)
				}
			}
		}
		got := Best(p, Brisk)
		if v, err := Check(got, p); err != nil || v <= 0 || v > best.Value+best.Value/100 { // neither search ends at the very best
			t.Errorf("%+v: at least %s (%v), with all care %s", c, v, err, best.Value)
		}
	}
}

// TestComparingMachinesIsBounded: machines are left out because others beat them as long as effort is left, and the bound is the same.
func TestComparingMachinesIsBounded(t *testing.T) {
	p := Problem{Resources: []string{"cpu"}, Groups: []Group{{Name: "p", Need: []int64{100}, Count: 50}}}
	for i := range 200 {
		p.Machines = append(p.Machines, Machine{Name: fmt.Sprint(i), Room: []int64{1000}, Price: 1_000_000})
		p.Groups[0].On = append(p.Groups[0].On, int32(i))
	}
	all, few := parts(p, 0)[0], parts(p, Brisk)[0]
	if len(all.machines) != 200 || len(few.machines) != 1 {
		t.Errorf("%d machines without effort, %d with", len(all.machines), len(few.machines))
	}
	if some := parts(p, 20)[0]; len(some.machines) < 100 || len(some.machines) == 200 {
		t.Errorf("%d machines with little effort", len(some.machines))
	}
	if c := Best(p, Brisk); c.Value != 5_000_000 {
		t.Errorf("the bound is %s", c.Value)
	}
}
