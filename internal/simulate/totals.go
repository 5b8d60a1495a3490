package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Total is how many of the machines to be bought have something in common, and what they cost.
type Total struct {
	Name     string
	Machines int
	Price    model.Price // per hour
}

// totals counts the machines that would be bought, those of static pools included, by what name
// says of each: the dearest first, then by name.
func (a Answer) totals(name func(pool string, o model.OfferingKey) string) []Total {
	sums := map[string]Total{}
	for _, p := range a.bought() {
		best := p.Options[0]
		n := name(p.Pool, best.Key)
		t := sums[n]
		sums[n] = Total{n, t.Machines + 1, t.Price + best.Price}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y Total) int {
		return cmp.Or(cmp.Compare(y.Price, x.Price), strings.Compare(x.Name, y.Name))
	})
}

// bought lists all machines that would be bought.
func (a Answer) bought() []place.NewClaim {
	out := slices.Clone(a.Plan.NewClaims)
	for _, s := range a.Static {
		for _, c := range s.Create {
			out = append(out, c.Purchase)
		}
	}
	return out
}

func bySize(_ string, o model.OfferingKey) string     { return o.Type }
func byZone(_ string, o model.OfferingKey) string     { return cmp.Or(o.Zone, "no zone") }
func byCapacity(_ string, o model.OfferingKey) string { return o.CapacityType }
func byPool(pool string, _ model.OfferingKey) string  { return pool }

// sums are totals by one thing.
type sums struct {
	by   string
	list []Total
}

// sums are those for people, where there is more than one to tell apart.
func (a Answer) sums() (out []sums) {
	for _, of := range []struct {
		label string
		name  func(string, model.OfferingKey) string
	}{{"size", bySize}, {"zone", byZone}, {"capacity", byCapacity}, {"pool", byPool}} {
		if list := a.totals(of.name); len(list) > 1 {
			out = append(out, sums{of.label, list})
		}
	}
	return out
}

// totalLines prints them.
func (a Answer) totalLines(b *strings.Builder, wide bool) {
	for _, of := range a.sums() {
		most := maxNamed
		if wide {
			most = len(of.list)
		}
		var parts []string
		for _, t := range of.list {
			parts = append(parts, fmt.Sprintf("%d × %s %s", t.Machines, t.Name, t.Price))
		}
		fmt.Fprintf(b, "  by %-9s%s\n", of.by, some(parts, most))
	}
}

// ignored names what the bound does not know of the pods that machines are bought for, and of these
// machines' pools: each may be why the plan is above it (bound.FromWorld says what it leaves out).
func (a Answer) ignored() []string {
	found := map[string]bool{}
	pools := map[string]bool{}
	bought := map[model.PodKey]bool{}
	for _, c := range a.Plan.NewClaims {
		pools[c.Pool] = true
		for _, k := range c.Pods {
			bought[k] = true
		}
	}
	weights := map[int]bool{}
	for _, p := range a.World.Pools {
		weights[p.Weight] = true
		if !pools[p.Name] {
			continue
		}
		found["limits"] = found["limits"] || len(p.Limits) > 0
		found["minValues"] = found["minValues"] || slices.ContainsFunc(p.Requirements,
			func(r model.Requirement) bool { return r.MinValues > 0 })
	}
	found["pools' weights"] = len(weights) > 1
	for i := range a.World.Pods {
		p := &a.World.Pods[i]
		if !bought[p.Key()] {
			continue
		}
		found["spread"] = found["spread"] || len(p.Spread) > 0
		found["pod affinity"] = found["pod affinity"] || len(p.PodAffinity)+len(p.PodAntiAffinity) > 0
		found["preferences"] = found["preferences"] || len(p.Prefers) > 0
		found["host ports"] = found["host ports"] || len(p.HostPorts) > 0
		found["attach limits"] = found["attach limits"] || len(p.Volumes) > 0
	}
	found["what some pods ask for exactly, of too many kinds"] = a.loosened > 0
	var out []string
	for _, n := range slices.Sorted(maps.Keys(found)) {
		if found[n] {
			out = append(out, n)
		}
	}
	return out
}
