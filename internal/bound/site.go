package bound

import (
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// site is one offering bought by one pool.
type site struct {
	pool   model.Pool
	own    require.Set // what every node of the pool must look like
	t      model.InstanceType
	labels map[string]string // what the machine brings
}

func labelsOf(t model.InstanceType, o model.Offering) map[string]string {
	out := maps.Clone(t.Labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, o.Labels)
	out[model.LabelInstanceType], out[model.LabelZone], out[model.LabelCapacityType] = o.Type, o.Zone, o.CapacityType
	return require.Normalise(out)
}

// sells reports whether the pool allows the offering.
func (s *site) sells() bool {
	for _, k := range s.own.Keys() {
		want, _ := s.own.Get(k)
		if choices, open := s.t.Either[k]; open && s.labels[k] == "" {
			if !slices.ContainsFunc(choices, want.Has) {
				return false
			}
			continue
		}
		v, there := s.labels[k]
		if there && !want.Has(v) || !there && require.Cloud(k) && !want.AllowsAbsent() {
			return false
		}
	}
	return true
}

// meets reports whether a node bought there may satisfy a term, and whether it does so for certain.
func (s *site) meets(term require.Set) (may, sure bool) {
	sure = true
	for _, k := range term.Keys() {
		want, _ := term.Get(k)
		own, settled := s.own.Get(k)
		v, there := s.labels[k]
		choices, open := s.t.Either[k]
		switch {
		case open && !there:
			if !slices.ContainsFunc(choices, want.Has) {
				return false, false
			}
			sure = sure && !slices.ContainsFunc(choices, func(v string) bool { return !want.Has(v) })
		case there:
			if !want.Has(v) {
				return false, false
			}
		case k == model.LabelHostname:
			if _, listed := want.Listed(); listed {
				return false, false
			}
		case settled:
			if !own.Meets(want) {
				return false, false
			}
			list, listed := own.Listed()
			sure = sure && listed && !own.AllowsAbsent() && !slices.ContainsFunc(list, func(v string) bool { return !want.Has(v) })
		case !want.AllowsAbsent():
			return false, false
		}
	}
	return true, sure
}

// room is what daemons that run there for certain leave.
func (s *site) room(b *builder) []int64 {
	free := s.t.Allocatable
	for _, d := range b.w.Daemons {
		_, bad := model.Untolerated(s.pool.Taints, d.Pod.Tolerations)
		for name, n := range d.Pod.Requests.Extended {
			bad = bad || s.t.Allocatable.Extended[name] < n
		}
		runs := slices.ContainsFunc(sets(d.Pod.NodeSelector, d.Pod.Affinity), func(t require.Set) bool { _, sure := s.meets(t); return sure })
		if !bad && runs {
			free = free.Sub(d.Pod.Requests)
		}
	}
	return b.vector(free, true)
}
