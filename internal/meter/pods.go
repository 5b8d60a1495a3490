package meter

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// mostNamespaces bounds how many namespaces pods are told apart by; the pods of others are counted
// under no namespace. Those with most pods are named.
const mostNamespaces = 50

// podKey is what pods are counted by.
type podKey struct {
	name, namespace, owner, node     string
	scheduled, ready, managed        bool
	pool, zone, arch, capacity, kind string
	phase                            string
}

// pods tells how many pods there are of which kind. Labels that would make a series for each pod are
// there, and empty, so that queries that name them go on.
func (v *view) pods() {
	v.pending()
	if v.families["karpenter_pods_state"] == nil {
		return
	}
	counts := map[podKey]int{}
	named := v.namespaces()
	for p := range v.w.Index.All().All() {
		if p.Virtual {
			continue
		}
		k := v.podKey(p)
		switch {
		case v.set.Profile() == Full:
			k.name, k.namespace, k.node = p.Name, p.Namespace, p.Node
			k.owner = p.Owner
		case named[p.Namespace]:
			k.namespace = p.Namespace
		}
		counts[k]++
	}
	for k, n := range counts {
		v.tell("karpenter_pods_state", float64(n), k.name, k.namespace, k.owner, k.node,
			boolean(k.scheduled), k.pool, k.zone, k.arch, k.capacity, k.kind, k.phase,
			boolean(k.ready), boolean(k.managed))
	}
}

// namespaces are those that pods are told apart by.
func (v *view) namespaces() map[string]bool {
	out := map[string]bool{}
	if v.set.Profile() == Lean {
		return out
	}
	counts := map[string]int{}
	for p := range v.w.Index.All().All() {
		counts[p.Namespace]++
	}
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	for _, name := range names[:min(len(names), mostNamespaces)] {
		out[name] = true
	}
	return out
}

func (v *view) podKey(p *model.Pod) podKey {
	k := podKey{scheduled: p.Node != "", ready: p.PodReady, phase: phaseOf(p)}
	n := v.w.Index.Node(p.Node)
	if n == nil {
		return k
	}
	l := n.Labels
	k.managed = n.Managed()
	k.pool, k.zone, k.arch = l[model.LabelPool], l[model.LabelZone], l[model.LabelArch]
	k.capacity, k.kind = l[model.LabelCapacityType], l[model.LabelInstanceType]
	return k
}

// phaseOf is the pod's phase; of worlds that somebody wrote down, what the rest of the pod says.
func phaseOf(p *model.Pod) string {
	switch {
	case p.Phase != 0:
		return p.Phase.String()
	case p.Terminal:
		return "Succeeded"
	case p.PodReady:
		return "Running"
	}
	return "Pending"
}

// pending counts the pods that wait for a node by the one zone that they ask for.
func (v *view) pending() {
	counts := map[string]int{"flexible": 0, "none": 0}
	for p := range v.w.Index.Unbound().All() {
		if p.Provisionable() && !p.Virtual {
			counts[zoneOf(p)]++
		}
	}
	for _, zone := range slices.Sorted(maps.Keys(counts)) {
		v.tell("karpenter_scheduler_pending_pods_by_effective_zone_count", float64(counts[zone]),
			"provisioner", zone)
	}
}

// zoneOf is the one zone in which the pod may be by its own words, flexible when there are several,
// none when there cannot be one.
func zoneOf(p *model.Pod) string {
	zones := map[string]bool{}
	for _, t := range p.Affinity {
		one, said := zonesOf(t)
		if !said {
			zones = nil
			break
		}
		maps.Copy(zones, one)
	}
	fixed := p.NodeSelector[model.LabelZone]
	switch {
	case len(p.Affinity) == 0 || zones == nil:
		return cmp.Or(fixed, "flexible")
	case fixed != "" && zones[fixed]:
		return fixed
	case fixed != "" || len(zones) == 0:
		return "none"
	case len(zones) == 1:
		return slices.Collect(maps.Keys(zones))[0]
	}
	return "flexible"
}

// zonesOf are the zones that a term names; false when it names none.
func zonesOf(t model.Term) (zones map[string]bool, said bool) {
	for _, r := range t {
		if r.Key != model.LabelZone || r.Op != model.In {
			continue
		}
		next := map[string]bool{}
		for _, z := range r.Values {
			if !said || zones[z] {
				next[z] = true
			}
		}
		zones, said = next, true
	}
	return zones, said
}
