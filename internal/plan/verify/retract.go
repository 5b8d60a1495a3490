package verify

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/assign"
	"github.com/karpenter-aks/karpenter/model"
)

// Retract takes pods out of the plan that could not be bound, until the rest is proven. They are left over.
func (d *Verifier) Retract() {
	for left := d.Stuck; len(left) > 0; left = d.Prove() {
		of := map[*assign.Class]map[model.PodKey]*model.Pod{}
		for _, u := range left {
			if of[u.g] == nil {
				of[u.g] = map[model.PodKey]*model.Pod{}
				for _, pod := range u.g.Pods {
					of[u.g][pod.Key()] = pod
				}
			}
			u.g.Cut = u.g.Cut || d.Tired()
			for range u.n {
				d.Over = append(d.Over, over{u.g, d.withdraw(u, of[u.g]), d.Seats[u.seat]})
			}
		}
		for i := len(d.Made) - 1; i >= 0; i-- {
			if len(d.Plan.NewClaims[i].Pods) == 0 {
				d.Plan.Price -= d.Plan.NewClaims[i].Options[0].Price
				d.Plan.NewClaims = slices.Delete(d.Plan.NewClaims, i, i+1)
				d.Made = slices.Delete(d.Made, i, i+1)
			}
		}
	}
}

// withdraw takes one pod of a unit out of the plan.
func (d *Verifier) withdraw(u unit, from map[model.PodKey]*model.Pod) *model.Pod {
	s := &d.Seats[u.seat]
	s.N--
	if u.made < 0 {
		at := d.Existing[s.Slot]
		i := lastIndex(d.Plan.Existing, func(f answer.Nomination) bool {
			return f.Node == at.Node && f.Claim == at.Claim && from[f.Pod] != nil
		})
		pod := from[d.Plan.Existing[i].Pod]
		d.Plan.Existing = slices.Delete(d.Plan.Existing, i, i+1)
		return pod
	}
	m, b := &d.Made[u.made], &d.Plan.NewClaims[u.made]
	m.Loads = slices.Clone(m.Loads)
	of := func(l assign.Member) bool { return l.Class == u.g && l.Cell == s.Cell && l.N > 0 }
	m.Loads[slices.IndexFunc(m.Loads, of)].N--
	i := lastIndex(b.Pods, func(k model.PodKey) bool { return from[k] != nil })
	pod := from[b.Pods[i]]
	b.Pods = slices.Delete(b.Pods, i, i+1)
	b.Requests = b.Requests.Sub(pod.Requests)
	return pod
}

func lastIndex[T any](list []T, f func(T) bool) int {
	for i, x := range slices.Backward(list) {
		if f(x) {
			return i
		}
	}
	return -1
}

// over is a pod that was taken out of the plan again.
type over struct {
	Class *assign.Class
	Pod   *model.Pod
	// From is where it was to be.
	From assign.Seated
}
