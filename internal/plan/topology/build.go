package topology

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// tie works out the ties between pods: which terms there are, how many running pods each picks where, and what that asks of
// the classes. Cost: O(kinds of running pods that refuse others + classes × terms that pick them), and, when a term is in use, O(all kinds × labels + running
// pods that it picks + spread node constraints × machines).
func (d *builder) tie(slots []*problem.ExistingNode) {
	t := d.Topo
	d.noteKeys()
	d.noteSpots(slots)
	d.noteValues()
	for _, p := range d.World.Pools {
		if slices.ContainsFunc(d.classes, func(g *Class) bool {
			return g.Constraint != nil && g.Constraint.Tolerates(p.Taints)
		}) {
			t.pools = append(t.pools, p)
		}
	}
	placing, coming := d.newPlaces(), d.coming()
	d.Placing = placing
	for _, g := range d.classes {
		if g.Why == "" && g.Like == nil {
			d.own(g)
		}
	}
	refusals := d.refusals(placing)
	d.internCrew(coming)
	if len(t.Terms) > 0 {
		for _, g := range d.classes {
			if g.Matches = nil; g.Why == "" && g.Like == nil {
				g.Matches = slices.Concat(t.Matching(g.First().Namespace, g.First().Labels),
					g.Joint)
			}
			for _, x := range g.Matches {
				x.used = true
			}
		}
		d.countRunning(placing)
		d.countOnePod(placing)
		d.countRefusing(refusals, placing)
		d.countCrew(coming)
	}
	d.countPorts(placing)
	for _, g := range d.classes {
		if g.Why == "" && g.Like == nil {
			g.Relate(g.Ports)
		}
	}
	for _, g := range d.classes {
		if g.Why == "" && g.Like != nil {
			o := d.classes[g.Like.Rank]
			g.Rules, g.Ports, g.Preferences = o.Rules, o.Ports, o.Preferences
		}
	}
}

func (t *topology) domain(node string, key int) int32 {
	i, ok := t.SpotOf[node]
	if !ok {
		return Unknown
	}
	return t.Spots[i].Doms[key]
}

// newPlaces are pods that run but get a new place: they no longer count where they are.
func (d *builder) newPlaces() map[model.PodKey]bool {
	out := map[model.PodKey]bool{}
	if d.Standing {
		return out
	}
	for _, g := range d.classes {
		for _, p := range g.Pods {
			if p.Node != "" {
				out[p.Key()] = true
			}
		}
	}
	return out
}

func (d *builder) noteKeys() {
	t := d.Topo
	for _, g := range d.classes {
		p := g.First()
		for _, v := range p.Volumes {
			for _, k := range v.Within {
				t.Key(k)
			}
		}
		for _, c := range p.Spread {
			t.Key(c.Key)
		}
		for _, list := range [][]model.PodTerm{p.PodAffinity, p.PodAntiAffinity} {
			for _, x := range list {
				t.Key(x.Key)
			}
		}
		for _, w := range p.Prefers {
			if w.Pod != nil {
				t.Key(w.Pod.Key)
			}
		}
	}
	for kind := range d.World.Index.Refusing().All() {
		for _, x := range kind.Pod().PodAntiAffinity {
			t.Key(x.Key)
		}
	}
	for i := range d.Daemons {
		for _, x := range d.Daemons[i].Pod.PodAntiAffinity {
			t.Key(x.Key)
		}
	}
}

func (d *builder) noteSpots(slots []*problem.ExistingNode) {
	t, g := d.Topo, problem.GroundOf(&d.World, d.Daemons)
	t.SpotOf = g.At
	placed := placesOf(g, &d.World, t.Keys)
	t.Spots = append(make([]*Spot, 0, len(placed.spots)+len(slots)), placed.spots...)
	for k := range t.Keys {
		t.values[k], t.Names[k] = maps.Clone(placed.values[k]), slices.Clip(placed.names[k])
	}
	for _, s := range slots {
		if s.Node == "" {
			s.Spot = int32(len(t.Spots))
			labels, may := s.Certain(t.Keys)
			at := &Spot{Labels: labels, Taints: s.Taints, May: may, Claim: s}
			t.Place(at, len(t.Spots))
			t.Spots = append(t.Spots, at)
		}
	}
}

// noteValues lists the values that the topology keys have, or that pods ask for. It knows few: where more are listed than anybody would
// spread over, they are names of machines in all but name.
func (d *builder) noteValues() {
	t := d.Topo
	t.Said = make([][]string, len(t.Keys))
	for k, name := range t.Keys {
		if k == Host {
			continue
		}
		said := map[string]bool{}
		for v := range t.values[k] {
			said[v] = true
		}
		for _, g := range d.classes {
			if g.Constraint == nil {
				continue
			}
			for _, x := range g.Constraint.Terms {
				v, _ := x.Get(name)
				if list, ok := v.Listed(); ok {
					for _, one := range list {
						said[one] = true
					}
				}
			}
		}
		if len(said) <= maxSaid {
			t.Said[k] = slices.Sorted(maps.Keys(said))
		}
	}
}

// maxSaid bounds how many values of one key are thought of where a pool allows any.
const maxSaid = 32

// own interns what the class itself asks for.
func (d *builder) own(g *Class) {
	t, p := d.Topo, g.First()
	var keys []string
	for _, c := range p.Spread {
		if c.Hard {
			if k := require.Key(c.Key); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	rule := func(c model.Spread, keys []string) SpreadRule {
		e, text := d.eligibleFor(c, g, keys)
		x := t.Intern(t.Key(c.Key),
			[]alike.PodSelector{{Sel: c.Selector, Namespaces: []string{p.Namespace}}},
			"spread"+text)
		x.Elig, x.used = e, true
		r := SpreadRule{Term: x, Skew: c.MaxSkew, Min: c.MinDomains}
		if x.tight == 0 || r.Skew < x.tight {
			x.tight = r.Skew
		}
		if x.Key == Host && !d.Crowded(p, c) {
			r.crew = d.Counted(p, c)
		}
		if c.Selector.Matches(p.Labels) {
			r.Self = 1
		}
		return r
	}
	for _, c := range p.Spread {
		if c.Hard {
			g.Spread = append(g.Spread, rule(c, keys))
		}
	}
	if d.Granted {
		d.preferencesOf(g, p, func(c model.Spread) SpreadRule {
			return rule(c, []string{require.Key(c.Key)})
		})
	}
	for _, x := range p.PodAntiAffinity {
		y := t.Refused(x)
		y.used = true
		g.Anti = append(g.Anti, y)
	}
	d.ownNear(g, p)
	d.ownJoint(g, p)
	for _, h := range p.HostPorts {
		g.Ports = append(g.Ports, t.portTerms(h, d.portIPs)...)
	}
}

func (d *builder) ownNear(g *Class, p *model.Pod) {
	if len(p.PodAffinity) == 0 {
		return
	}
	t := d.Topo
	var all []alike.PodSelector
	for _, x := range p.PodAffinity {
		all = append(all, alike.PodSelectorOf(x))
	}
	g.Near.Self = true
	for _, y := range all {
		g.Near.Self = g.Near.Self && t.ns.Picks(y, p.Namespace, p.Labels)
	}
	for _, x := range p.PodAffinity {
		y := t.Intern(t.Key(x.Key), all, "near")
		y.used, y.Near = true, true
		if !slices.Contains(g.Near.Terms, y) {
			g.Near.Terms = append(g.Near.Terms, y)
		}
	}
}

// ownJoint interns the volumes of the class that others use, too, and that are yet to be made or are for one pod at a time. Which value of a label a
// machine to be bought will have, when no pool says it, nobody knows: only on the same machine are all alike.
func (d *builder) ownJoint(g *Class, p *model.Pod) {
	t := d.Topo
	add := func(key int, kind string, v model.Volume) *Term {
		x := t.Intern(key, []alike.PodSelector{{}}, kind+v.ID)
		if !slices.Contains(g.Joint, x) {
			g.Joint = append(g.Joint, x)
		}
		x.used, x.Volume, x.Said = true, true, v.String()
		return x
	}
	for _, v := range p.Volumes {
		if !d.Shared[v.ID] {
			continue
		}
		for _, k := range v.Within {
			key := t.Key(k)
			if !d.handedOut(k) {
				key = Host
			}
			add(key, "volume", v)
		}
		if v.OnePod {
			add(Host, "one pod", v).OnePod = true
		}
	}
}

// handedOut reports whether some pool's machines have the label, as far as pools and offerings say.
func (d *builder) handedOut(key string) bool {
	key = require.Key(key)
	return slices.ContainsFunc(d.Pools, func(s *problem.NodePool) bool {
		_, defined := s.Own.Get(key)
		return key != model.LabelHostname && (defined || s.Offerings.Keys[key] != nil)
	})
}

// countOnePod counts the running pods that use volumes which one pod may use at a time; one that terminates still does (plugin volumerestrictions of
// kube-scheduler).
func (d *builder) countOnePod(placing map[model.PodKey]bool) {
	done := map[*Term]bool{}
	for _, g := range d.classes {
		for _, x := range g.Joint {
			if !x.OnePod || done[x] {
				continue
			}
			done[x] = true
			for _, v := range g.First().Volumes {
				for _, p := range d.World.Index.VolumeUsers(v.ID) {
					if x.Said == v.String() && p.Node != "" && !p.Terminal && !placing[p.Key()] {
						x.Matched.Add(d.Topo.domain(p.Node, Host), 1)
					}
				}
			}
		}
	}
}

// countRunning counts bound pods that terms in use pick. Spread leaves terminating pods out; anti-affinity does not; nobody can
// rely on being near one.
func (d *builder) countRunning(placing map[model.PodKey]bool) {
	t := d.Topo
	if !slices.ContainsFunc(t.Terms, func(x *Term) bool { return x.used }) {
		return
	}
	for kind := range d.World.Index.Kinds().All() {
		for _, x := range t.Matching(kind.Pod().Namespace, kind.Pod().Labels) {
			if !x.used {
				continue
			}
			for p := range kind.Pods.All() {
				at, ok := t.SpotOf[p.Node]
				if !ok || len(placing) > 0 && placing[p.Key()] {
					continue
				}
				switch {
				case x.Near && t.Spots[at].Doms[x.Key] < 0:
					// kube-scheduler does not see it: the node lacks the label.
				case x.Near && p.Deleting():
					x.going++
				case x.Elig == nil:
					x.Matched.Add(t.Spots[at].Doms[x.Key], 1)
				case x.Elig.Spots[at] == Surely && !p.Deleting():
					x.Matched.Add(t.Spots[at].Doms[x.Key], 1)
				}
			}
		}
	}
}

// refusal is what running pods of one kind refuse.
type refusal struct {
	term *Term
	kind *model.Kind
}

// refusals interns what running pods refuse, in the order of the first of each kind. O(kinds).
func (d *builder) refusals(placing map[model.PodKey]bool) []refusal {
	type first struct {
		pod  *model.Pod
		kind *model.Kind
	}
	var kinds []first
	asked := func(x model.PodTerm) bool { return len(d.classes) > fewGroups || d.picked(x) }
	for kind := range d.World.Index.Refusing().All() {
		if !slices.ContainsFunc(kind.Pod().PodAntiAffinity, asked) {
			continue
		}
		for p := range kind.Pods.All() {
			if !placing[p.Key()] {
				kinds = append(kinds, first{p, kind})
				break
			}
		}
	}
	slices.SortFunc(kinds, func(a, b first) int { return model.ComparePods(a.pod, b.pod) })
	var out []refusal
	for _, k := range kinds {
		for _, x := range k.pod.PodAntiAffinity {
			if asked(x) {
				out = append(out, refusal{d.Topo.Refused(x), k.kind})
			}
		}
	}
	return out
}

// fewGroups is up to how many classes each is asked whether a term picks it: cheaper than to write down what nobody is picked by.
const fewGroups = 16

// picked reports whether a term of running pods picks pods to be placed.
func (d *builder) picked(x model.PodTerm) bool {
	return slices.ContainsFunc(d.classes, func(g *Class) bool {
		return d.Namespaces.Picks(alike.PodSelectorOf(x), g.First().Namespace, g.First().Labels)
	})
}

// countRefusing counts the running pods that refuse pods to be placed.
func (d *builder) countRefusing(list []refusal, placing map[model.PodKey]bool) {
	for _, r := range list {
		if !r.term.used {
			continue
		}
		for p := range r.kind.Pods.All() {
			if !placing[p.Key()] {
				r.term.Owners.Add(d.Topo.domain(p.Node, r.term.Key), 1)
			}
		}
	}
}

// Relate derives from the terms of a class where it matters what happens on one machine, and under which other keys.
func (g *Rules) Relate(ports []*Term) {
	at := map[*Term]int{}
	rel := func(x *Term) *Relation {
		i, ok := at[x]
		if !ok {
			i = len(g.Host)
			at[x] = i
			g.Host = append(g.Host, Relation{Term: x, Limit: NoBound})
		}
		return &g.Host[i]
	}
	key := func(k int) {
		if !slices.Contains(g.Keys, k) {
			g.Keys = append(g.Keys, k)
		}
	}
	for _, x := range g.Matches {
		if x.Key == Host {
			y := rel(x)
			if y.Adds = 1; x.OnePod {
				y.Limit = 1
			}
		} else {
			key(x.Key)
		}
	}
	for _, r := range g.Spread {
		if r.Term.Key == Host {
			y := rel(r.Term)
			y.Limit = min(y.Limit, r.Skew-r.crew)
		} else {
			key(r.Term.Key)
		}
	}
	for _, x := range g.Anti {
		if x.Key == Host {
			y := rel(x)
			y.Limit = min(y.Limit, y.Adds) // itself, when it is picked
		} else {
			key(x.Key)
		}
	}
	for _, x := range g.Near.Terms {
		if x.Key != Host {
			key(x.Key)
		}
	}
	for _, x := range g.Avoid {
		if x.Key == Host {
			y := rel(x)
			y.Limit = min(y.Limit, y.Adds)
		} else {
			key(x.Key)
		}
	}
	for _, x := range g.Toward {
		if x.Key != Host {
			key(x.Key)
		}
	}
	for _, x := range ports {
		y := rel(x)
		y.Adds, y.Limit = 1, 1
	}
	slices.Sort(g.Keys)
}

// portTerms are the counts that a host port belongs to: one per address that it may meet another port of its kind on.
func (t *topology) portTerms(h model.HostPort, ips map[string][]string) []*Term {
	at := alike.PortKey(h)
	if !alike.Everywhere(h.IP) {
		return []*Term{t.Intern(Host, []alike.PodSelector{{}}, "port"+at+"@"+h.IP)}
	}
	var out []*Term
	for _, x := range ips[at] {
		out = append(out, t.Intern(Host, []alike.PodSelector{{}}, "port"+at+"@"+x))
	}
	return out
}
