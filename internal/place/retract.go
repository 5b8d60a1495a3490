package place

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// retract takes pods out of the plan that could not be bound, until the rest is proven. They are left over.
func (d *verifier) retract() {
	for left := d.stuck; len(left) > 0; left = d.prove() {
		of := map[*seatClass]map[model.PodKey]*model.Pod{}
		for _, u := range left {
			if of[u.g] == nil {
				of[u.g] = map[model.PodKey]*model.Pod{}
				for _, pod := range u.g.pods {
					of[u.g][pod.Key()] = pod
				}
			}
			u.g.cut = u.g.cut || d.tired()
			for range u.n {
				d.over = append(d.over, over{u.g, d.withdraw(u, of[u.g])})
			}
		}
		for i := len(d.made) - 1; i >= 0; i-- {
			if len(d.plan.NewClaims[i].Pods) == 0 {
				d.plan.Price -= d.plan.NewClaims[i].Options[0].Price
				d.plan.NewClaims, d.made = slices.Delete(d.plan.NewClaims, i, i+1), slices.Delete(d.made, i, i+1)
			}
		}
	}
}

// withdraw takes one pod of a unit out of the plan.
func (d *verifier) withdraw(u unit, from map[model.PodKey]*model.Pod) *model.Pod {
	s := &d.seats[u.seat]
	s.n--
	if u.made < 0 {
		at := d.existing[s.slot]
		i := lastIndex(d.plan.Existing, func(f Nomination) bool { return f.Node == at.node && f.Claim == at.claim && from[f.Pod] != nil })
		pod := from[d.plan.Existing[i].Pod]
		d.plan.Existing = slices.Delete(d.plan.Existing, i, i+1)
		return pod
	}
	m, b := &d.made[u.made], &d.plan.NewClaims[u.made]
	m.loads = slices.Clone(m.loads)
	m.loads[slices.IndexFunc(m.loads, func(l member) bool { return l.g == u.g && l.c == s.cell && l.n > 0 })].n--
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
	g   *seatClass
	pod *model.Pod
}
