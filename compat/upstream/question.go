package upstream

import (
	"fmt"
	"slices"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/model"
)

// Question asks the judge about upstream's placements of the pods: each machine is bought as the cheapest thing it may be, and pods of nodes that are
// leaving are evicted.
func Question(w model.World, r Result, pods []model.Pod) (judge.Question, error) {
	asked := map[model.PodKey]bool{}
	for _, p := range pods {
		asked[p.Key()] = true
	}
	q := judge.Question{World: judge.Evicted(w, func(k model.PodKey) bool { return asked[k] }), Orders: 5, Seed: 1}
	for i, b := range r.Buy {
		at := slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
		if at < 0 {
			return q, fmt.Errorf("machine for pool %s: no such pool", b.Pool)
		}
		t, ok := w.Catalog(b.Pool, w.Pools[at].Class).Type(b.Cheapest.Type)
		o := slices.IndexFunc(t.Offerings, func(o model.Offering) bool { return o.Key() == b.Cheapest })
		if !ok || o < 0 {
			return q, fmt.Errorf("machine %s: no such offering", b.Cheapest)
		}
		m := judge.Machine(b.Claim, t, t.Offerings[o], fmt.Sprintf("buy-%03d", i))
		q.Machines = append(q.Machines, m)
		for _, k := range b.Pods {
			q.Placements = append(q.Placements, judge.Placement{Pod: k, Node: m.Name})
		}
	}
	var claims []string
	for _, f := range r.Fits {
		if f.Claim != "" && !slices.Contains(claims, f.Claim) {
			claims = append(claims, f.Claim)
			m, err := judge.Claimed(w, f.Claim, "claim-"+f.Claim)
			if err != nil {
				return q, err
			}
			q.Machines = append(q.Machines, m)
		}
		if f.Claim != "" {
			f.Node = "claim-" + f.Claim
		}
		q.Placements = append(q.Placements, judge.Placement{Pod: f.Pod, Node: f.Node})
	}
	return q, nil
}
