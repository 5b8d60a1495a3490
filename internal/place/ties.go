package place

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// tie works out the ties between pods: which terms there are, how many running pods each picks where, and what that asks of
// the groups. Cost: O(kinds of running pods that refuse others + groups × terms that pick them), and, when a term is in use, O(all kinds × labels + running
// pods that it picks + spread node constraints × machines).
func (d *builder) tie(slots []*existingNode) {
	t := d.topo
	d.noteKeys()
	d.noteSpots(slots)
	d.noteValues()
	for _, p := range d.world.Pools {
		if slices.ContainsFunc(d.classes, func(g *tiedClass) bool { return g.constraint != nil && g.constraint.tolerates(p.Taints) }) {
			t.pools = append(t.pools, p)
		}
	}
	placing, coming := d.newPlaces(), d.coming()
	d.placing = placing
	for _, g := range d.classes {
		if g.why == "" && g.like == nil {
			d.own(g)
		}
	}
	refusals := d.refusals(placing)
	d.internCrew(coming)
	if len(t.terms) > 0 {
		for _, g := range d.classes {
			if g.matches = nil; g.why == "" && g.like == nil {
				g.matches = slices.Concat(t.matching(g.first().Namespace, g.first().Labels), g.joint)
			}
			for _, x := range g.matches {
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
		if g.why == "" && g.like == nil {
			g.relate(g.ports)
		}
	}
	for _, g := range d.classes {
		if g.why == "" && g.like != nil {
			o := d.classes[g.like.rank]
			g.rules, g.ports, g.preferences = o.rules, o.ports, o.preferences
		}
	}
}

func (t *topology) domain(node string, key int) int32 {
	i, ok := t.spotOf[node]
	if !ok {
		return unknown
	}
	return t.spots[i].doms[key]
}

// newPlaces are pods that run but get a new place: they no longer count where they are.
func (d *builder) newPlaces() map[model.PodKey]bool {
	out := map[model.PodKey]bool{}
	if d.standing {
		return out
	}
	for _, g := range d.classes {
		for _, p := range g.pods {
			if p.Node != "" {
				out[p.Key()] = true
			}
		}
	}
	return out
}

func (d *builder) noteKeys() {
	t := d.topo
	for _, g := range d.classes {
		p := g.first()
		for _, v := range p.Volumes {
			for _, k := range v.Within {
				t.key(k)
			}
		}
		for _, c := range p.Spread {
			t.key(c.Key)
		}
		for _, list := range [][]model.PodTerm{p.PodAffinity, p.PodAntiAffinity} {
			for _, x := range list {
				t.key(x.Key)
			}
		}
		for _, w := range p.Prefers {
			if w.Pod != nil {
				t.key(w.Pod.Key)
			}
		}
	}
	for kind := range d.world.Index.Refusing().All() {
		for _, x := range kind.Pod().PodAntiAffinity {
			t.key(x.Key)
		}
	}
	for i := range d.daemons {
		for _, x := range d.daemons[i].pod.PodAntiAffinity {
			t.key(x.Key)
		}
	}
}

func (d *builder) noteSpots(slots []*existingNode) {
	t, g := d.topo, groundOf(&d.world, d.daemons)
	t.spotOf = g.at
	placed := g.places(&d.world, t.keys)
	t.spots = append(make([]*spot, 0, len(placed.spots)+len(slots)), placed.spots...)
	for k := range t.keys {
		t.values[k], t.names[k] = maps.Clone(placed.values[k]), slices.Clip(placed.names[k])
	}
	for _, s := range slots {
		if s.node == "" {
			s.spot = int32(len(t.spots))
			labels, may := s.certain(t.keys)
			at := &spot{labels: labels, taints: s.taints, may: may, claim: s}
			t.place(at, len(t.spots))
			t.spots = append(t.spots, at)
		}
	}
}

// noteValues lists the values that the topology keys have, or that pods ask for. It knows few: where more are listed than anybody would
// spread over, they are names of machines in all but name.
func (d *builder) noteValues() {
	t := d.topo
	t.said = make([][]string, len(t.keys))
	for k, name := range t.keys {
		if k == host {
			continue
		}
		said := map[string]bool{}
		for v := range t.values[k] {
			said[v] = true
		}
		for _, g := range d.classes {
			if g.constraint == nil {
				continue
			}
			for _, x := range g.constraint.terms {
				v, _ := x.Get(name)
				if list, ok := v.Listed(); ok {
					for _, one := range list {
						said[one] = true
					}
				}
			}
		}
		if len(said) <= maxSaid {
			t.said[k] = slices.Sorted(maps.Keys(said))
		}
	}
}

// maxSaid bounds how many values of one key are thought of where a pool allows any.
const maxSaid = 32

// own interns what the group itself asks for.
func (d *builder) own(g *tiedClass) {
	t, p := d.topo, g.first()
	var keys []string
	for _, c := range p.Spread {
		if c.Hard {
			if k := require.Key(c.Key); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	rule := func(c model.Spread, keys []string) spreadRule {
		e, text := d.eligibleFor(c, g, keys)
		x := t.intern(t.key(c.Key), []podSelector{{sel: c.Selector, namespaces: []string{p.Namespace}}}, "spread"+text)
		x.elig, x.used = e, true
		r := spreadRule{term: x, skew: c.MaxSkew, min: c.MinDomains}
		if x.key == host && !d.crowded(p, c) {
			r.crew = d.counted(p, c)
		}
		if c.Selector.Matches(p.Labels) {
			r.self = 1
		}
		return r
	}
	for _, c := range p.Spread {
		if c.Hard {
			g.spread = append(g.spread, rule(c, keys))
		}
	}
	if d.granted {
		d.preferencesOf(g, p, func(c model.Spread) spreadRule { return rule(c, []string{require.Key(c.Key)}) })
	}
	for _, x := range p.PodAntiAffinity {
		y := t.intern(t.key(x.Key), []podSelector{podSelectorOf(x)}, "pods")
		y.used = true
		g.anti = append(g.anti, y)
	}
	d.ownNear(g, p)
	d.ownJoint(g, p)
	for _, h := range p.HostPorts {
		g.ports = append(g.ports, t.portTerms(h, d.portIPs)...)
	}
}

func (d *builder) ownNear(g *tiedClass, p *model.Pod) {
	if len(p.PodAffinity) == 0 {
		return
	}
	t := d.topo
	var all []podSelector
	for _, x := range p.PodAffinity {
		all = append(all, podSelectorOf(x))
	}
	g.near.self = true
	for _, y := range all {
		g.near.self = g.near.self && t.ns.picks(y, p.Namespace, p.Labels)
	}
	for _, x := range p.PodAffinity {
		y := t.intern(t.key(x.Key), all, "near")
		y.used, y.near = true, true
		if !slices.Contains(g.near.terms, y) {
			g.near.terms = append(g.near.terms, y)
		}
	}
}

// ownJoint interns the volumes of the group that others use, too, and that are yet to be made or are for one pod at a time. Which value of a label a
// machine to be bought will have, when no pool says it, nobody knows: only on the same machine are all alike.
func (d *builder) ownJoint(g *tiedClass, p *model.Pod) {
	t := d.topo
	add := func(key int, kind string, v model.Volume) *term {
		x := t.intern(key, []podSelector{{}}, kind+v.ID)
		if !slices.Contains(g.joint, x) {
			g.joint = append(g.joint, x)
		}
		x.used, x.volume, x.said = true, true, v.String()
		return x
	}
	for _, v := range p.Volumes {
		if !d.shared[v.ID] {
			continue
		}
		for _, k := range v.Within {
			key := t.key(k)
			if !d.handedOut(k) {
				key = host
			}
			add(key, "volume", v)
		}
		if v.OnePod {
			add(host, "one pod", v).onePod = true
		}
	}
}

// handedOut reports whether some pool's machines have the label, as far as pools and offerings say.
func (d *builder) handedOut(key string) bool {
	key = require.Key(key)
	return slices.ContainsFunc(d.pools, func(s *nodePool) bool {
		_, defined := s.own.Get(key)
		return key != model.LabelHostname && (defined || s.offerings.keys[key] != nil)
	})
}

// countOnePod counts the running pods that use volumes which one pod may use at a time; one that terminates still does (plugin volumerestrictions of
// kube-scheduler).
func (d *builder) countOnePod(placing map[model.PodKey]bool) {
	done := map[*term]bool{}
	for _, g := range d.classes {
		for _, x := range g.joint {
			if !x.onePod || done[x] {
				continue
			}
			done[x] = true
			for _, v := range g.first().Volumes {
				for _, p := range d.world.Index.VolumeUsers(v.ID) {
					if x.said == v.String() && p.Node != "" && !p.Terminal && !placing[p.Key()] {
						x.matched.add(d.topo.domain(p.Node, host), 1)
					}
				}
			}
		}
	}
}

// countRunning counts bound pods that terms in use pick. Spread leaves terminating pods out; anti-affinity does not; nobody can
// rely on being near one.
func (d *builder) countRunning(placing map[model.PodKey]bool) {
	t := d.topo
	if !slices.ContainsFunc(t.terms, func(x *term) bool { return x.used }) {
		return
	}
	for kind := range d.world.Index.Kinds().All() {
		for _, x := range t.matching(kind.Pod().Namespace, kind.Pod().Labels) {
			if !x.used {
				continue
			}
			for p := range kind.Pods.All() {
				at, ok := t.spotOf[p.Node]
				if !ok || len(placing) > 0 && placing[p.Key()] {
					continue
				}
				switch {
				case x.near && t.spots[at].doms[x.key] < 0:
					// kube-scheduler does not see it: the node lacks the label.
				case x.near && p.Deleting():
					x.going++
				case x.elig == nil:
					x.matched.add(t.spots[at].doms[x.key], 1)
				case x.elig.spots[at] == surely && !p.Deleting():
					x.matched.add(t.spots[at].doms[x.key], 1)
				}
			}
		}
	}
}

// refusal is what running pods of one kind refuse.
type refusal struct {
	term *term
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
	for kind := range d.world.Index.Refusing().All() {
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
			if !asked(x) {
				continue
			}
			out = append(out, refusal{d.topo.intern(d.topo.key(x.Key), []podSelector{podSelectorOf(x)}, "pods"), k.kind})
		}
	}
	return out
}

// fewGroups is up to how many groups each is asked whether a term picks it: cheaper than to write down what nobody is picked by.
const fewGroups = 16

// picked reports whether a term of running pods picks pods to be placed.
func (d *builder) picked(x model.PodTerm) bool {
	return slices.ContainsFunc(d.classes, func(g *tiedClass) bool {
		return d.namespaces.picks(podSelectorOf(x), g.first().Namespace, g.first().Labels)
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
				r.term.owners.add(d.topo.domain(p.Node, r.term.key), 1)
			}
		}
	}
}

// relate derives from the terms of a group where it matters what happens on one machine, and under which other keys.
func (g *rules) relate(ports []*term) {
	at := map[*term]int{}
	rel := func(x *term) *relation {
		i, ok := at[x]
		if !ok {
			i = len(g.host)
			at[x] = i
			g.host = append(g.host, relation{term: x, limit: noBound})
		}
		return &g.host[i]
	}
	key := func(k int) {
		if !slices.Contains(g.keys, k) {
			g.keys = append(g.keys, k)
		}
	}
	for _, x := range g.matches {
		if x.key == host {
			y := rel(x)
			if y.adds = 1; x.onePod {
				y.limit = 1
			}
		} else {
			key(x.key)
		}
	}
	for _, r := range g.spread {
		if r.term.key == host {
			y := rel(r.term)
			y.limit = min(y.limit, r.skew-r.crew)
		} else {
			key(r.term.key)
		}
	}
	for _, x := range g.anti {
		if x.key == host {
			y := rel(x)
			y.limit = min(y.limit, y.adds) // itself, when it is picked
		} else {
			key(x.key)
		}
	}
	for _, x := range g.near.terms {
		if x.key != host {
			key(x.key)
		}
	}
	for _, x := range g.avoid {
		if x.key == host {
			y := rel(x)
			y.limit = min(y.limit, y.adds)
		} else {
			key(x.key)
		}
	}
	for _, x := range g.toward {
		if x.key != host {
			key(x.key)
		}
	}
	for _, x := range ports {
		y := rel(x)
		y.adds, y.limit = 1, 1
	}
	slices.Sort(g.keys)
}

// portTerms are the counts that a host port belongs to: one per address that it may meet another port of its kind on.
func (t *topology) portTerms(h model.HostPort, ips map[string][]string) []*term {
	at := portKey(h)
	if !everywhere(h.IP) {
		return []*term{t.intern(host, []podSelector{{}}, "port"+at+"@"+h.IP)}
	}
	var out []*term
	for _, x := range ips[at] {
		out = append(out, t.intern(host, []podSelector{{}}, "port"+at+"@"+x))
	}
	return out
}
