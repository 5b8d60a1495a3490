package letin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

const poolWord = "NodePool "

func isPool(c Change) bool { return strings.HasPrefix(c.Object, poolWord) }

// ofPool lists what a pool could allow beside what it does.
func (s *seeker) ofPool(r place.Refusal) (out []trial) {
	pools := s.in.Place.World.Pools
	i := slices.IndexFunc(pools, func(p model.Pool) bool { return p.Name == r.Pool })
	if i < 0 || !pools[i].Ready() || pools[i].Replicas != nil {
		return nil // people, or the class, have to see to that first
	}
	p := pools[i]
	if x, bad := model.Untolerated(p.Taints, s.pod.Tolerations); bad {
		return []trial{s.untainted(p, x)} // whatever else it asks for, the taint refuses the pod
	}
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		out = append(out, s.limit(p, name))
	}
	for i, r := range p.Requirements {
		if r.Op != model.Exists {
			out = append(out, s.requirement(p, i))
		}
		if r.MinValues > 0 {
			out = append(out, s.minValues(p, i))
		}
	}
	return append(out, s.labels(p)...)
}

// with is a trial with the pool changed.
func with(p model.Pool, field, from, to string, steps int, change func(*model.Pool)) trial {
	change(&p)
	return trial{Change: Change{poolWord + p.Name, field, from, to}, steps: steps, pool: &p}
}

func (s *seeker) untainted(p model.Pool, x model.Taint) trial {
	return with(p, "spec.template.spec.taints["+x.Key+"]", x.String(), None, whole,
		func(p *model.Pool) {
			p.Taints = slices.DeleteFunc(slices.Clone(p.Taints),
				func(t model.Taint) bool { return t == x })
		})
}

// limit takes a limit away; closer is one that is just enough for what would then be there.
func (s *seeker) limit(p model.Pool, name string) trial {
	from := model.FormatQuantity(name, p.Limits[name])
	to := func(v int64) func(*model.Pool) {
		return func(p *model.Pool) {
			p.Limits = maps.Clone(p.Limits)
			if p.Limits[name] = v; v < 0 {
				delete(p.Limits, name)
			}
		}
	}
	t := with(p, "spec.limits["+name+"]", from, None, whole, to(-1))
	t.closer = func(got place.Plan) []trial {
		v := place.InUse(s.in.Place.World, p.Name, name)
		for _, plan := range []place.Plan{got, s.others()} {
			for _, c := range plan.NewClaims {
				if c.Pool == p.Name {
					v += s.capacity(c, name)
				}
			}
		}
		enough := model.FormatQuantity(name, v)
		return []trial{with(p, "spec.limits["+name+"]", from, enough, 1, to(v))}
	}
	return t
}

// others is what is bought for others, where they are not asked about.
func (s *seeker) others() place.Plan {
	if s.crowd {
		return place.Plan{}
	}
	return s.in.Plan
}

func (s *seeker) capacity(c place.NewClaim, name string) int64 {
	t, _ := s.in.Place.World.Catalog(c.Pool, c.Class).Type(c.Options[0].Key.Type)
	return amount(t.Capacity, name)
}

func amount(r model.Resources, name string) int64 {
	if name == model.ResourceNodes {
		return 1
	}
	return r.Get(name)
}

// requirement leaves a requirement out; closer is to admit what the machine has that would then be
// bought, or what the pod asks for.
func (s *seeker) requirement(p model.Pool, i int) trial {
	r := p.Requirements[i]
	field := "spec.template.spec.requirements[" + r.Key + "]"
	to := func(list ...model.Requirement) func(*model.Pool) {
		return func(p *model.Pool) {
			p.Requirements = slices.Replace(slices.Clone(p.Requirements), i, i+1, list...)
		}
	}
	from := require.Of(r).String()
	t := with(p, field, from, None, whole, to())
	if r.MinValues > 0 { // the choice of values is another matter
		any := model.Requirement{Key: r.Key, Op: model.Exists, MinValues: r.MinValues}
		t = with(p, field, from, require.Of(any).String(), whole, to(any))
	}
	t.closer = func(got place.Plan) (out []trial) {
		for _, v := range s.valuesOf(got, r.Key) {
			if w, steps, ok := widened(r, v); ok {
				out = append(out, with(p, field, from, require.Of(w).String(), steps, to(w)))
			}
		}
		return out
	}
	return t
}

// mostLess is by how much less a choice is tried before none is asked for.
const mostLess = 8

// minValues asks for no choice of values; closer is to ask for as much of it as there is.
func (s *seeker) minValues(p model.Pool, i int) trial {
	r := p.Requirements[i]
	field := "spec.template.spec.requirements[" + r.Key + "].minValues"
	to := func(n int) func(*model.Pool) {
		return func(p *model.Pool) {
			p.Requirements = slices.Clone(p.Requirements)
			p.Requirements[i].MinValues = n
		}
	}
	t := with(p, field, strconv.Itoa(r.MinValues), None, r.MinValues, to(0))
	t.closer = func(place.Plan) (out []trial) {
		for less := 1; less <= mostLess && less < r.MinValues; less++ {
			n := r.MinValues - less
			out = append(out,
				with(p, field, strconv.Itoa(r.MinValues), strconv.Itoa(n), less, to(n)))
		}
		return out
	}
	return t
}

// labels that the pod selects and the pool could give its nodes, but does not.
func (s *seeker) labels(p model.Pool) (out []trial) {
	terms, why, _ := alike.Terms(s.pod)
	if why != "" {
		return nil
	}
	done := map[string]bool{}
	own := require.New(p.Requirements).And(require.Labels(p.Labels))
	for _, term := range terms {
		for _, k := range term.Keys() {
			v, _ := term.Get(k)
			_, defined := own.Get(k)
			value, ok := v.Pick()
			if defined || done[k] || !ok || value == "" || require.Cloud(k) ||
				k == model.LabelHostname || k == model.LabelPool {
				continue
			}
			done[k] = true
			out = append(out, with(p, "spec.template.metadata.labels["+k+"]", None, value, 1,
				func(p *model.Pool) {
					p.Labels = maps.Clone(p.Labels)
					if p.Labels == nil {
						p.Labels = map[string]string{}
					}
					p.Labels[k] = value
				}))
		}
	}
	return out
}

// valuesOf are the values of a label among the offerings of the machine that a plan buys for the
// pod, that of the best first, each once.
func (s *seeker) valuesOf(plan place.Plan, key string) (out []string) {
	for _, c := range plan.NewClaims {
		if !slices.Contains(c.Pods, s.in.Pod) {
			continue
		}
		for _, o := range c.Options {
			v := s.label(c, o.Key, key)
			if v != "" && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// label is what a machine bought for the claim has; "" when it has none.
func (s *seeker) label(c place.NewClaim, o model.OfferingKey, key string) string {
	switch key = require.Key(key); key {
	case model.LabelInstanceType:
		return o.Type
	case model.LabelZone:
		return o.Zone
	case model.LabelCapacityType:
		return o.CapacityType
	}
	t, _ := s.in.Place.World.Catalog(c.Pool, c.Class).Type(o.Type)
	for _, x := range t.Offerings {
		if x.Key() == o && x.Labels[key] != "" {
			return x.Labels[key]
		}
	}
	if v := t.Labels[key]; v != "" {
		return v
	}
	v, ok := require.New(c.Requirements).Get(key)
	if !ok {
		return ""
	}
	text, _ := v.Pick()
	return text
}

// widened is the requirement with one value more that it admits, in so many steps; ok is false when
// it admits it already, or when there is no such requirement.
func widened(r model.Requirement, v string) (_ model.Requirement, steps int, ok bool) {
	if require.Of(r).Has(v) {
		return r, 0, false
	}
	n, notInteger := strconv.Atoi(v)
	from, unknown := strconv.Atoi(cmp.Or(append(slices.Clone(r.Values), "")[0], "-"))
	switch r.Op {
	case model.In:
		r.Values = append(slices.Clone(r.Values), v)
		return r, 1, true
	case model.NotIn:
		r.Values = slices.DeleteFunc(slices.Clone(r.Values), func(x string) bool { return x == v })
		return r, 1, len(r.Values) > 0
	case model.Gt:
		n--
	case model.Lt:
		n++
	case model.Gte, model.Lte:
	default:
		return r, 0, false
	}
	if notInteger != nil || unknown != nil {
		return r, 0, false
	}
	r.Values = []string{fmt.Sprint(n)}
	return r, max(from-n, n-from), true
}
