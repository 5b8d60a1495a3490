package place_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// usersGreedy is a twin of the scheduler that users of Karpenter know, slow and obvious: pods by cpu, memory and age; each goes to the first
// node that takes it, else to the machine with the fewest pods of those about to be bought, else to a new one of the heaviest pool, of equals
// that with the last name. A machine may become whatever holds all its pods, and costs in the end what the cheapest of that costs. It knows
// labels, taints, daemons, volumes, limits, and what pods mind on their own machine.
type usersGreedy struct {
	w    model.World
	open []*machine
	left map[string]model.Resources // per pool: what its limits leave
	stay []model.PodKey
}

// machine is a node that is there, or one to be bought, which may become any of its faces.
type machine struct {
	pool  *model.Pool // nil for one that is there
	faces []face
	pods  []*model.Pod
	new   int // pods that were added
}

// face is one thing that a machine may be.
type face struct {
	labels map[string]string
	taints []model.Taint
	room   model.Resources
	attach map[string]int64
	typ    *model.InstanceType
	price  model.Price
}

// takes returns the faces that hold the machine's pods and one more.
func (m *machine) takes(p *model.Pod, daemons []model.Daemon) []face {
	all := append(slices.Clone(m.pods), p)
	for _, q := range all {
		if m.crowded(q, all) {
			return nil
		}
	}
	var out []face
	for _, f := range m.faces {
		if _, bad := model.Untolerated(f.taints, p.Tolerations); bad || !suits(p, f.labels) {
			continue
		}
		need, disks := model.Resources{}, map[string]map[string]bool{}
		for _, q := range all {
			need = need.Add(q.Requests)
			for _, v := range q.Volumes {
				if disks[v.Driver] == nil {
					disks[v.Driver] = map[string]bool{}
				}
				disks[v.Driver][v.ID] = true
			}
		}
		for i := range daemons {
			if d := &daemons[i].Pod; m.pool != nil && suits(d, f.labels) && tolerates(f.taints, d) {
				need = need.Add(d.Requests)
			}
		}
		ok := need.FitsIn(f.room)
		for driver, ids := range disks {
			if most, bound := f.attach[driver]; bound && int64(len(ids)) > most {
				ok = false
			}
		}
		if ok {
			out = append(out, f)
		}
	}
	return out
}

func tolerates(taints []model.Taint, p *model.Pod) bool {
	_, bad := model.Untolerated(taints, p.Tolerations)
	return !bad
}

// crowded reports whether pod q minds who else would be on the machine.
func (m *machine) crowded(q *model.Pod, all []*model.Pod) bool {
	for _, s := range q.Spread {
		n := int32(0)
		for _, o := range all {
			if o.Namespace == q.Namespace && s.Selector.Matches(o.Labels) {
				n++
			}
		}
		if n > s.MaxSkew {
			return true
		}
	}
	for _, o := range all {
		if o == q {
			continue
		}
		for _, x := range q.PodAntiAffinity {
			if slices.Contains(x.Namespaces, o.Namespace) && x.Selector.Matches(o.Labels) {
				return true
			}
		}
		for _, a := range q.HostPorts {
			for _, b := range o.HostPorts {
				if a.Port == b.Port && a.Protocol == b.Protocol {
					return true
				}
			}
		}
	}
	return false
}

// suits reports whether the pod's selectors and volumes accept a machine with these labels.
func suits(p *model.Pod, labels map[string]string) bool {
	for k, v := range p.NodeSelector {
		if labels[k] != v {
			return false
		}
	}
	meets := func(t model.Term) bool {
		return !slices.ContainsFunc(t, func(r model.Requirement) bool { return !r.Matches(labels) })
	}
	if p.Affinity != nil && !slices.ContainsFunc(p.Affinity, meets) {
		return false
	}
	return !slices.ContainsFunc(p.Volumes, func(v model.Volume) bool { return v.Terms != nil && !slices.ContainsFunc(v.Terms, meets) })
}

// solve places the waiting pods.
func (u *usersGreedy) solve() (price model.Price) {
	there := u.there()
	u.limits()
	pods := place.Waiting(u.w)
	slices.SortStableFunc(pods, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(b.Requests.CPU, a.Requests.CPU), cmp.Compare(b.Requests.Memory, a.Requests.Memory), a.Created.Compare(b.Created), strings.Compare(a.UID, b.UID))
	})
	for i := range pods {
		p := &pods[i]
		if len(p.Needs) > 0 || !u.put(p, there) && !u.put(p, u.sorted()) && !u.buy(p) {
			u.stay = append(u.stay, p.Key())
		}
	}
	for _, m := range u.open {
		price += slices.MinFunc(m.faces, func(a, b face) int { return cmp.Compare(a.price, b.price) }).price
	}
	return price
}

func (u *usersGreedy) put(p *model.Pod, list []*machine) bool {
	for _, m := range list {
		if f := m.takes(p, u.w.Daemons); len(f) > 0 {
			m.faces, m.pods, m.new = f, append(m.pods, p), m.new+1
			return true
		}
	}
	return false
}

func (u *usersGreedy) sorted() []*machine {
	slices.SortStableFunc(u.open, func(a, b *machine) int { return a.new - b.new })
	return u.open
}

// buy opens a machine.
func (u *usersGreedy) buy(p *model.Pod) bool {
	pools := slices.SortedFunc(slices.Values(u.w.Pools), func(a, b model.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	for i := range pools {
		pool := &pools[i]
		if m := (&machine{pool: pool, faces: u.faces(pool)}); u.put(p, []*machine{m}) {
			u.open = append(u.open, m)
			most := model.Resources{}
			for _, f := range m.faces {
				most = most.Max(f.typ.Capacity)
			}
			u.left[pool.Name] = u.left[pool.Name].Sub(most)
			return true
		}
	}
	return false
}

// faces lists what a pool could buy within its limits.
func (u *usersGreedy) faces(pool *model.Pool) (out []face) {
	cat := u.w.Catalog(pool.Name, pool.Class)
	for i := range cat.Types {
		t := &cat.Types[i]
		for _, o := range t.Offerings {
			labels := map[string]string{model.LabelPool: pool.Name}
			maps.Copy(labels, t.Labels)
			maps.Copy(labels, o.Labels)
			maps.Copy(labels, pool.Labels)
			over := false
			for name := range pool.Limits {
				over = over || t.Capacity.Get(name) > u.left[pool.Name].Get(name)
			}
			if o.Available && !over && !slices.ContainsFunc(pool.Requirements, func(r model.Requirement) bool { return !r.Matches(labels) }) {
				out = append(out, face{labels, pool.Taints, t.Allocatable, t.AttachLimits, t, o.Price})
			}
		}
	}
	return out
}

func (u *usersGreedy) limits() {
	u.left = map[string]model.Resources{}
	for _, p := range u.w.Pools {
		r := model.Resources{}
		for name, v := range p.Limits {
			r = r.With(name, v)
		}
		for _, c := range u.w.Claims {
			if c.Pool == p.Name {
				r = r.Sub(c.Capacity)
			}
		}
		u.left[p.Name] = r
	}
}

// there lists the nodes that may be used, by name.
func (u *usersGreedy) there() (out []*machine) {
	for _, n := range u.w.Nodes {
		leaving := n.Deleting() || slices.ContainsFunc(u.w.Claims, func(c model.Claim) bool { return c.Deleting() && c.ProviderID == n.ProviderID })
		if n.Cordoned || n.Ready != model.True || leaving {
			continue
		}
		m := &machine{faces: []face{{labels: n.Labels, taints: n.Taints, room: n.Allocatable, attach: n.AttachLimits}}}
		for i := range u.w.Pods {
			if u.w.Pods[i].Node == n.Name {
				m.pods = append(m.pods, &u.w.Pods[i])
			}
		}
		out = append(out, m)
	}
	return out
}

// simple takes out of a world what the twin does not know, and what has a price and means another thing to each of them: priorities, preferences, and
// taints that merely discourage.
func simple(w model.World) model.World {
	w.Claims = slices.DeleteFunc(w.Claims, func(c model.Claim) bool { return c.NodeName == "" })
	w.Pods = slices.Clone(w.Pods)
	for i := range w.Pods {
		p := &w.Pods[i]
		p.Priority, p.PodAffinity, p.Prefers = 0, nil, nil
		p.Spread = slices.DeleteFunc(slices.Clone(p.Spread), func(s model.Spread) bool { return !s.Hard || s.Key != model.LabelHostname })
		for j := range p.Spread {
			p.Spread[j].MinDomains = 0
		}
		p.PodAntiAffinity = slices.DeleteFunc(slices.Clone(p.PodAntiAffinity), func(x model.PodTerm) bool {
			return x.Key != model.LabelHostname || x.NamespaceSelector != nil
		})
	}
	for i := range w.Daemons {
		w.Daemons[i].Pod.HostPorts = nil
	}
	soft := func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule }
	for i := range w.Pools {
		p := &w.Pools[i]
		p.Taints = slices.DeleteFunc(slices.Clone(p.Taints), soft)
		delete(p.Limits, model.ResourceNodes)
		p.Requirements = slices.DeleteFunc(slices.Clone(p.Requirements), func(r model.Requirement) bool { return r.MinValues > 0 })
	}
	return w
}

// compareWithGreedy returns both prices, and whether they compare: both leave the same pods over, and the twin does not buy more machines in light
// pools. (It does where it takes a heavy pool's limit for spent which is not; for a lower price, we must not.)
func compareWithGreedy(w model.World) (ours place.Plan, theirs model.Price, same bool) {
	ours = place.Decide(place.Input{World: w, Preferences: place.Ignore})
	u := &usersGreedy{w: w}
	theirs = u.solve()
	var stay []model.PodKey
	for _, l := range ours.Unscheduled {
		stay = append(stay, l.Pod)
	}
	order := func(a, b model.PodKey) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(stay, order)
	slices.SortFunc(u.stay, order)
	weight := map[string]int{}
	for _, p := range w.Pools {
		weight[p.Name] = p.Weight
	}
	for _, p := range w.Pools {
		n := 0
		for _, b := range ours.NewClaims {
			if weight[b.Pool] <= p.Weight {
				n++
			}
		}
		for _, m := range u.open {
			if m.pool.Weight <= p.Weight {
				n--
			}
		}
		if n < 0 && slices.ContainsFunc(w.Pools, func(o model.Pool) bool { return o.Weight > p.Weight }) {
			return ours, theirs, false
		}
	}
	return ours, theirs, slices.Equal(stay, u.stay)
}

// TestSeldomDearerThanTheGreedyOfUsers: in a handful of pods one may be lucky and the other not. On average ours is
// not dearer, and it is dearer in at most one world of a hundred. From 50 pods on it never is, see below.
func TestSeldomDearerThanTheGreedyOfUsers(t *testing.T) {
	const worlds = 1_500
	same, dearer, sum := 0, 0, 0.0
	for seed := range uint64(worlds) {
		w := simple(worldgen.Small(seed))
		ours, theirs, ok := compareWithGreedy(w)
		if !ok {
			continue
		}
		same++
		if ours.Price > theirs {
			dearer++
			t.Logf("seed %d: ours costs %s, the greedy of users %s", seed, ours.Price, theirs)
		}
		if theirs > 0 {
			sum += ours.Price.Float()/theirs.Float() - 1
		}
	}
	t.Logf("dearer in %d of %d worlds, on average %+.3f %%", dearer, same, 100*sum/float64(same))
	if same*2 < worlds {
		t.Errorf("in %d worlds of %d the same pods are placed: there is little to compare", same, worlds)
	}
	if dearer*100 > same || sum > 0 {
		t.Errorf("dearer in %d of %d worlds, on average %+.3f %%", dearer, same, 100*sum/float64(same))
	}
}

// TestNeverDearerThanTheGreedyOfUsersAtLarge: from 50 pods on.
func TestNeverDearerThanTheGreedyOfUsersAtLarge(t *testing.T) {
	for seed := range uint64(24) {
		n := []int{50, 60, 100, 800}[seed%4]
		w := workload.World(workload.Families(), workload.Shapes(n, seed))
		ours, theirs, ok := compareWithGreedy(w)
		if !ok || ours.Price > theirs {
			t.Errorf("seed %d, %d pods: ours costs %s with %d pods left, the greedy of users %s", seed, n, ours.Price, len(ours.Unscheduled), theirs)
		}
	}
}
