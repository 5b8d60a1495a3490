package audit

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Exhaust tries every way to put the pods onto new machines of one offering each, existing machines left alone, and returns
// the cheapest sound plan among those that place the most pods; the rest is left over with WhyResources. It knows nothing but Check.
// It is for worlds of a handful of pods and offerings: cost O((pods + offerings)^pods) checks. Pools with minValues are not asked.
func Exhaust(w model.World, pods []model.Pod) place.Plan {
	e := &exhaust{w: w, pods: pods}
	for _, p := range w.Pools {
		if !open(p) || slices.ContainsFunc(p.Requirements, func(r model.Requirement) bool { return r.MinValues > 0 }) {
			continue
		}
		for _, t := range w.Catalog(p.Name, p.Class).Types {
			for _, o := range t.Offerings {
				if o.Available {
					e.sold = append(e.sold, sold{p, o})
				}
			}
		}
	}
	e.try(place.Plan{}, 0)
	return e.best
}

type sold struct {
	pool model.Pool
	o    model.Offering
}

type exhaust struct {
	w    model.World
	pods []model.Pod
	sold []sold
	best place.Plan
	any  bool
}

// try decides for the pods from i on, then looks at what came out.
func (e *exhaust) try(p place.Plan, i int) {
	if i == len(e.pods) {
		better := !e.any || len(p.Unscheduled) < len(e.best.Unscheduled) || len(p.Unscheduled) == len(e.best.Unscheduled) && p.Price < e.best.Price
		if p = e.settled(p); better && len(Check(e.w, p)) == 0 {
			e.any, e.best = true, p
		}
		return
	}
	pod := e.pods[i]
	for b := range p.NewClaims {
		q := clone(p)
		q.NewClaims[b] = e.with(q.NewClaims[b], pod)
		e.try(q, i+1)
	}
	for _, s := range e.sold {
		e.try(e.bought(p, s, pod), i+1)
	}
	q := clone(p)
	q.Unscheduled = append(q.Unscheduled, place.Unscheduled{Pod: pod.Key(), Why: model.WhyResources, Detail: "every other plan places fewer pods"})
	e.try(q, i+1)
}

// settled decides what no pod cared about: labels for which the pool allows several values.
func (e *exhaust) settled(p place.Plan) place.Plan {
	p = clone(p)
	for i, b := range p.NewClaims {
		pool, _ := find(e.w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
		for _, r := range pool.Requirements {
			if r.Op == model.In && len(r.Values) > 0 && !slices.ContainsFunc(b.Requirements, func(q model.Requirement) bool { return canonical(q.Key) == canonical(r.Key) }) {
				b.Requirements = append(slices.Clip(b.Requirements), model.Requirement{Key: r.Key, Op: model.In, Values: r.Values[:1]})
			}
		}
		p.NewClaims[i] = b
	}
	return p
}

func clone(p place.Plan) place.Plan {
	p.NewClaims, p.Unscheduled, p.Existing = slices.Clone(p.NewClaims), slices.Clone(p.Unscheduled), slices.Clone(p.Existing)
	return p
}

// bought is the plan with one more machine, for the pod alone.
func (e *exhaust) bought(p place.Plan, s sold, pod model.Pod) place.Plan {
	p = clone(p)
	b := place.NewClaim{Pool: s.pool.Name, Class: s.pool.Class, Options: []place.Option{{Key: s.o.Key(), Price: s.o.Price}}}
	only := func(key, v string) {
		b.Requirements = append(b.Requirements, model.Requirement{Key: key, Op: model.In, Values: []string{v}})
	}
	only(model.LabelInstanceType, s.o.Type)
	only(model.LabelZone, s.o.Zone)
	only(model.LabelCapacityType, s.o.CapacityType)
	// What runs on the machine beside its pods must be asked for too.
	a := newAudit(e.w)
	x, _ := a.offering(b.Pool, b.Class, s.o.Key())
	b.Requests = a.face(&s.pool, b.Requirements, "", x).daemons
	p.NewClaims = append(p.NewClaims, e.with(b, pod))
	p.Price += s.o.Price
	return p
}

// with adds a pod to a machine, which takes on the labels that the pod's selector asks for.
func (e *exhaust) with(b place.NewClaim, pod model.Pod) place.NewClaim {
	b.Pods = append(slices.Clip(b.Pods), pod.Key())
	b.Requests = b.Requests.Add(pod.Requests)
	b.Requirements = slices.Clone(b.Requirements)
	settle := func(r model.Requirement) {
		known := slices.ContainsFunc(b.Requirements, func(q model.Requirement) bool { return canonical(q.Key) == canonical(r.Key) })
		pool, _ := find(e.w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
		asked := slices.ContainsFunc(pool.Requirements, func(q model.Requirement) bool { return canonical(q.Key) == canonical(r.Key) })
		if r.Op == model.In && len(r.Values) > 0 && asked && !known {
			b.Requirements = append(b.Requirements, model.Requirement{Key: r.Key, Op: model.In, Values: r.Values[:1]})
		}
	}
	for k, v := range pod.NodeSelector {
		settle(model.Requirement{Key: k, Op: model.In, Values: []string{v}})
	}
	if len(pod.Affinity) == 1 {
		for _, r := range pod.Affinity[0] {
			settle(r)
		}
	}
	return b
}

// Missed lists the pods that a sound plan leaves over although the plan with one more machine, for that pod alone, would
// be sound as well. None means that nobody was left over for nothing. Cost: one Check for every such pod and offering.
func Missed(w model.World, p place.Plan) []model.PodKey {
	w = w.Indexed()
	var out []model.PodKey
	for i, l := range p.Unscheduled {
		pod := w.Index.Pod(l.Pod)
		if pod == nil {
			continue
		}
		e := &exhaust{w: w, pods: []model.Pod{*pod}}
		rest := clone(p)
		rest.Unscheduled = slices.Delete(rest.Unscheduled, i, i+1)
		for _, pool := range w.Pools {
			for _, t := range w.Catalog(pool.Name, pool.Class).Types {
				for _, o := range t.Offerings {
					if len(out) > 0 && out[len(out)-1] == l.Pod {
						continue
					}
					if o.Available && len(Check(w, e.settled(e.bought(rest, sold{pool, o}, *pod)))) == 0 {
						out = append(out, l.Pod)
					}
				}
			}
		}
	}
	return out
}
