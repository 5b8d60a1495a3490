package control

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// A sieve remembers the pods that no plan could be made for, so that they do not keep all others waiting. They are what we
// misjudge, or what the planner panicked at: defects of ours. After a restart they are found again.
type sieve struct {
	apart map[string]model.Why // by UID
	until time.Time            // when they are tried again
	wait  backoff
}

const (
	siftBase = 10 * time.Second
	siftTop  = 5 * time.Minute
	// maxSifts bounds how many plans are made to find the pods that none can be made for. Halving finds one pod of a thousand in 20; of
	// more pods, at most a few dozen are set apart together with it, and told apart when the others run.
	maxSifts = 24
)

// decide makes a plan for the pods, nil being all that wait, at more than the usual work where effort says so, and then without wishes, and has it audited. A plan that is unsound is never carried out. When there is none for all pods, the pods
// that it fails for are set apart, are told so, and are tried again later.
func (p *provisioner) decide(w model.World, pods []model.Pod, effort int) place.Plan {
	in := place.Input{World: w, Pods: pods, Preferences: p.Settings.Preferences, MinValues: p.Settings.MinValues}
	if effort > 1 {
		in.Limit, in.Preferences = effort*place.DefaultLimit, place.Ignore
	}
	told := map[string]bool{} // causes that were told of in this pass
	whole := len(p.sieve.apart) == 0 || !p.Now().Before(p.sieve.until)
	if whole {
		all := pods == nil && effort <= 1
		if plan, known := p.plans.whole(w); all && known {
			return plan
		}
		plan, why := p.attempt(in, told)
		if why == "" {
			p.sieve = sieve{}
			if all {
				p.plans.keep(w, plan)
			}
			return plan
		}
		return p.sift(in, orWaiting(w, pods), told)
	}
	var rest, apart []model.Pod
	var left []place.Unscheduled
	for _, x := range orWaiting(w, pods) {
		if why, bad := p.sieve.apart[x.UID]; bad {
			apart, left = append(apart, x), append(left, setApart(x, why))
		} else {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		return place.Plan{Unscheduled: left}
	}
	in.Pods = rest
	plan, why := p.attempt(in, told)
	if why != "" {
		return p.sift(in, append(rest, apart...), told)
	}
	plan.Unscheduled = append(plan.Unscheduled, left...)
	return plan
}

// orWaiting returns the pods, or all that wait when there are none.
func orWaiting(w model.World, pods []model.Pod) []model.Pod {
	if pods == nil {
		return place.Waiting(w)
	}
	return pods
}

// batch is pods that are tried together, and why a plan with them was none.
type batch struct {
	pods []model.Pod
	why  model.Why
}

// sift makes a plan for as many of the pods as can be found in maxSifts attempts, and sets the others apart. Pods that ask nothing of
// other pods come first: they need no others to be planned.
func (p *provisioner) sift(in place.Input, pods []model.Pod, told map[string]bool) place.Plan {
	var alone, tied []model.Pod
	for _, x := range pods {
		if place.Alone(x) {
			alone = append(alone, x)
		} else {
			tied = append(tied, x)
		}
	}
	queue := halves(batch{pods: pods})
	if len(alone) > 0 && len(tied) > 0 {
		queue = []batch{{pods: alone}, {pods: tied}}
	}
	var plan place.Plan
	var good []model.Pod
	var apart []batch
	for tries := 0; len(queue) > 0; tries++ {
		next := largest(queue)
		b := queue[next]
		queue = append(queue[:next:next], queue[next+1:]...)
		if tries >= maxSifts {
			apart = append(apart, b)
			continue
		}
		in.Pods = append(good[:len(good):len(good)], b.pods...)
		made, why := p.attempt(in, told)
		switch b.why = why; {
		case why == "":
			plan, good = made, in.Pods
		case len(b.pods) == 1:
			apart = append(apart, b)
		default:
			queue = append(queue, halves(b)...)
		}
	}
	p.setApart(apart, len(pods))
	for _, b := range apart {
		for _, x := range b.pods {
			plan.Unscheduled = append(plan.Unscheduled, setApart(x, b.why))
		}
	}
	return plan
}

// halves splits a batch in two; one pod stays alone.
func halves(b batch) []batch {
	n := len(b.pods) / 2
	if n == 0 {
		return []batch{b}
	}
	return []batch{{b.pods[:n], b.why}, {b.pods[n:], b.why}}
}

// largest returns the index of the first batch with the most pods.
func largest(list []batch) int {
	best := 0
	for i := range list {
		if len(list[i].pods) > len(list[best].pods) {
			best = i
		}
	}
	return best
}

// setApart remembers the pods for a while that doubles when it was in vain.
func (p *provisioner) setApart(list []batch, of int) {
	s := &p.sieve
	s.wait.base, s.wait.top = siftBase, siftTop
	after := s.wait.next()
	s.apart, s.until = map[string]model.Why{}, p.Now().Add(after)
	var first string
	for _, b := range list {
		for _, x := range b.pods {
			if first == "" {
				first = x.Key().String()
			}
			s.apart[x.UID] = b.why
		}
	}
	p.Log.Error(nil, "some pods are left out because no plan can be made with them; please report this", "pods", len(s.apart), "of", of, "first", first, "again after", after.String())
}

func setApart(x model.Pod, why model.Why) place.Unscheduled {
	detail := "every plan with it was unsound and was thrown away; this is a defect of the controller"
	if why == model.WhyPanic {
		detail = "making a plan with it panicked; this is a defect of the controller"
	}
	return place.Unscheduled{Pod: x.Key(), Why: why, Detail: detail}
}

// attempt makes one plan; why is "" when it may be carried out. What is wrong with it is told once for each cause in told.
func (p *provisioner) attempt(in place.Input, told map[string]bool) (plan place.Plan, why model.Why) {
	var findings []audit.Finding
	err := caught(func() error {
		plan = p.Decide(in)
		findings = audit.Check(in.World, plan)
		return nil
	})
	if e, ok := err.(*crash); ok {
		if !told[e.Site] {
			told[e.Site] = true
			p.crashed("provision", "", err)
			p.writeDown(in.World, err)
		}
		return place.Plan{}, model.WhyPanic
	}
	if len(findings) == 0 {
		return plan, ""
	}
	if rule := "rule " + string(findings[0].Rule); !told[rule] {
		told[rule] = true
		p.refuse(in, plan, findings)
	}
	return plan, model.WhyAudit
}
