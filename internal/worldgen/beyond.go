package worldgen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Lock is a device that only what one pool alone is sold has.
const Lock = "example.com/lock"

// Beyond draws a world as Small does, and into it what only a few clusters have: reserved capacity with a supply, what one pool alone is
// sold, room that buffers keep, and pods that wait for nothing from us. Rivals that know none of these are not asked about it.
func Beyond(seed uint64) model.World {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0xbe)), w: Small(seed)}
	g.reserve()
	g.special()
	g.keepRoom()
	g.others()
	slices.SortFunc(g.w.Pods, func(a, b model.Pod) int { return strings.Compare(a.Key().String(), b.Key().String()) })
	return g.w
}

// reserve adds machines that are paid for already, of some types in some zones. Some are used up.
func (g *gen) reserve() {
	cat := g.w.Catalogs[Class()]
	for i := range cat.Types {
		t := &cat.Types[i]
		if !g.chance(40) {
			continue
		}
		zone := pick(g, t.Offerings...).Zone
		o := model.Offering{Type: t.Name, Zone: zone, CapacityType: model.Reserved, Price: 10, Supply: new(int64(g.r.IntN(4))),
			Labels: map[string]string{model.LabelZone: zone, model.LabelCapacityType: model.Reserved}}
		if o.Available = *o.Supply > 0; !o.Available {
			o.Unavailable = "what is reserved is in use"
		}
		t.Offerings = append([]model.Offering{o}, t.Offerings...)
	}
}

// special sells one pool everything at another price, and some of it with a device, as overlays do; a pod asks for the device.
func (g *gen) special() {
	if !g.chance(40) {
		return
	}
	cat := g.w.Catalogs[Class()]
	cat.Types = slices.Clone(cat.Types)
	for i := range cat.Types {
		t := &cat.Types[i]
		t.Offerings = slices.Clone(t.Offerings)
		for j := range t.Offerings {
			t.Offerings[j].Price = max(1, t.Offerings[j].Price*7/10)
		}
		if g.chance(50) {
			t.Capacity, t.Allocatable = t.Capacity.With(Lock, 1), t.Allocatable.With(Lock, 1)
		}
	}
	g.w.PoolCatalogs = map[string]model.Catalog{pick(g, g.w.Pools...).Name: cat}
	for i := range g.w.Pods {
		if p := &g.w.Pods[i]; p.Node == "" && g.chance(15) {
			p.Requests = p.Requests.With(Lock, 1)
		}
	}
}

// keepRoom adds pods that stand for room that a buffer keeps.
func (g *gen) keepRoom() {
	if !g.chance(50) {
		return
	}
	for i := range 1 + g.r.IntN(3) {
		name := fmt.Sprintf("spare:room-%d", i)
		g.w.Pods = append(g.w.Pods, model.Pod{Namespace: "shop", Name: name, UID: "uid-" + name, Virtual: true, Unschedulable: true, Created: Epoch(),
			GraceSeconds: 30, Priority: -1 << 31, Labels: map[string]string{"app": pick(g, "a", "none")}, Requests: model.Resources{CPU: 1500, Memory: gib, Pods: 1}})
	}
}

// others adds pods that are not to be planned for: gated, not looked at yet, promised a node by preemption, or ending.
func (g *gen) others() {
	for i := range g.r.IntN(4) {
		p := g.shape(fmt.Sprintf("idle-%d", i))
		p.UID, p.Created, p.Volumes, p.VolumeClaims = "uid-"+p.Name, Epoch(), nil, nil
		p.Labels = maps.Clone(p.Labels)
		switch g.r.IntN(4) {
		case 0:
			p.Gated = true
		case 1:
			p.Unschedulable = false
		case 2:
			p.DeletedAt = Epoch()
		case 3:
			if len(g.w.Nodes) == 0 {
				continue
			}
			p.Nominated = pick(g, g.w.Nodes...).Name
		}
		g.w.Pods = append(g.w.Pods, p)
	}
}
