// Package audit answers: is this plan sound?
//
// Check looks at a plan as a stranger would: with obvious arithmetic, one pod, one offering and one label at a time, and shares
// no code with the engine that made the plan. Where kube-scheduler decides, its rules are the measure: a plan is sound when
// every option of every purchase suits its pods, and when, however the options turn out, the pods can be bound one after the
// other so that each passes the filters at its turn. It says what is wrong and does not repair it, does not judge whether the plan
// is cheap (bound does). Missed asks whether a pod was left over for nothing. Cost: O(nodes + planned pods + purchases × options ×
// distinct pods on them), purchases that are alike in all but their pods counted once, and, when pods of the plan have a say about their neighbours or neighbours about them, O(kinds of running pods + running
// pods that count) and the search for an order, which is bounded. What a plan does not touch is not looked at.
package audit

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Finding is one thing that is wrong with a plan.
type Finding struct {
	// Rule is the rule that is broken, from the list below; Detail names the machine, the pod and what is the matter.
	Rule   Rule
	Detail string
}

// String prints "room: purchase 1 …".
func (f Finding) String() string { return string(f.Rule) + ": " + f.Detail }

// Rule names what a sound plan never breaks.
type Rule string

// The rules.
const (
	OnePlace     Rule = "one-place"         // a pod has one place, or one reason
	KnownPod     Rule = "known-pod"         // every pod of the plan is in the picture, without a node that stays
	UndecidedPod Rule = "undecided"         // pods with needs that nobody decides are not placed
	OpenPool     Rule = "open-pool"         // purchases are for pools and classes that may buy
	OnSale       Rule = "on-sale"           // options are on sale, at the price that the plan says
	BestFirst    Rule = "best-first"        // options are in order of price, as far as prices differ by more than a ten-thousandth
	Labels       Rule = "labels"            // pods accept the labels of every option, and the pool does
	Taints       Rule = "taints"            // pods tolerate the lasting taints
	Room         Rule = "room"              // pods and daemons fit on every option; requests say so
	Ports        Rule = "host-ports"        // no two pods of a machine take the same port of it
	Volumes      Rule = "volumes"           // every volume of a pod can be reached from every option, one yet to be made from wherever its pods are, and one for one pod has no other
	Attach       Rule = "attach-limits"     // a machine attaches no more volumes than it can
	Spread       Rule = "topology-spread"   // hard topology spread holds at each pod's turn
	Affinity     Rule = "pod-affinity"      // required pod affinity holds at each pod's turn
	AntiAffinity Rule = "pod-anti-affinity" // nobody meets a pod that it, or that pod, refuses
	Limits       Rule = "limits"            // no pool's limit is broken, whichever options are bought
	Supply       Rule = "supply"            // no more is promised of scarce offerings than the cloud keeps
	Variety      Rule = "min-values"        // options show the distinct values that the pool asks for
	Weights      Rule = "weights"           // no pool sells what a heavier one could have sold
	Sum          Rule = "price"             // the price is the sum of the first options
	Asks         Rule = "requirements"      // the claim asks for nothing but the options' types, zones, capacity types
	Target       Rule = "target"            // nominations name a node or claim that takes pods
	Reason       Rule = "reason"            // a pod without place has a reason
)

// Check returns everything that is wrong with the plan for this world, in the order of the plan. None means sound.
func Check(w model.World, p place.Plan) []Finding {
	a := newAudit(w)
	a.judge(p)
	return a.out
}

// judge looks at all rules.
func (a *audit) judge(p place.Plan) {
	a.order = p.Order
	bought, nominated := a.places(p)
	a.tied = a.related()
	var sum model.Price
	for i := range p.NewClaims {
		b := &p.NewClaims[i]
		name := "purchase " + strconv.Itoa(i) + " for pool " + b.Pool
		if len(b.Options) == 0 || len(b.Pods) == 0 {
			a.bad(OnSale, "%s has %d options for %d pods", name, len(b.Options), len(b.Pods))
			continue
		}
		sum += b.Options[0].Price
		a.purchase(name, b, bought[i])
	}
	if sum != p.Price {
		a.bad(Sum, "the plan says %s, the purchases cost %s", p.Price, sum)
	}
	a.limits()
	a.supplies()
	a.nominations(p, nominated)
	a.unmade()
	a.onePod()
	a.neighbours()
	a.weights(p, bought)
}

func (a *audit) bad(r Rule, format string, args ...any) {
	a.out = append(a.out, Finding{r, fmt.Sprintf(format, args...)})
}

// places checks that every pod of the plan exists, waits, and is mentioned once. It returns the pods that there are: of each purchase, and
// of each nomination, nil where there is none.
func (a *audit) places(p place.Plan) (bought [][]*subject, nominated []*subject) {
	n := len(p.Existing) + len(p.Unscheduled)
	for i := range p.NewClaims {
		n += len(p.NewClaims[i].Pods)
	}
	a.gather(n)
	bought = make([][]*subject, len(p.NewClaims))
	all := make([]*subject, 0, n)
	for i := range p.NewClaims {
		from := len(all)
		for _, k := range p.NewClaims[i].Pods {
			if s := a.once(k, true); s != nil {
				all = append(all, s)
			}
		}
		bought[i] = all[from:len(all):len(all)]
	}
	for _, n := range p.Existing {
		nominated = append(nominated, a.once(n.Pod, true))
	}
	for _, l := range p.Unscheduled {
		a.once(l.Pod, false)
		if l.Why == "" && len(l.Refusals) == 0 {
			a.bad(Reason, "pod %s stays without a reason", l.Pod)
		}
		for _, r := range l.Refusals {
			if r.Why == "" || r.Detail == "" {
				a.bad(Reason, "pod %s: pool %s refuses without a reason", l.Pod, r.Pool)
			}
		}
	}
	return bought, nominated
}

// gather makes room for so many pods. When that is most of those that wait, all of them are noted in the order in which they stand, which
// is far cheaper than to find one after the other.
func (a *audit) gather(n int) {
	waiting := a.w.Index.Unbound()
	most := waiting.Len() <= 2*n
	if most {
		n += waiting.Len()
	}
	a.named, a.subjects = make(map[model.PodKey]*subject, n), make([]subject, 0, n)
	if most {
		for p := range waiting.All() {
			a.named[p.Key()] = a.note(p)
		}
	}
}

// note makes the subject of a pod. There is room for it.
func (a *audit) note(p *model.Pod) *subject {
	a.subjects = append(a.subjects, subject{Pod: p, kind: a.kind(p), plain: p.Node == "" && len(p.Needs) == 0})
	s := &a.subjects[len(a.subjects)-1]
	s.says = a.saying(s)
	return s
}

// once notes that the plan mentions a pod, and returns it; nil when there is none.
func (a *audit) once(k model.PodKey, placed bool) *subject {
	s, known := a.named[k]
	if !known {
		if pod := a.w.Index.Pod(k); pod != nil {
			s = a.note(pod)
		}
		a.named[k] = s
	}
	if s != nil && s.told {
		a.bad(OnePlace, "pod %s is mentioned twice", k)
	}
	if s != nil {
		s.told = true
		if s.plain {
			s.placed = s.placed || placed
			return s
		}
	}
	switch {
	case s == nil:
		a.bad(KnownPod, "pod %s does not exist", k)
	case placed && len(s.Needs) > 0:
		a.bad(UndecidedPod, "pod %s is placed although it needs %s", k, s.Needs[0])
	case placed && s.Node != "" && !a.leaving[s.Node]:
		a.bad(KnownPod, "pod %s runs on node %s, which stays", k, s.Node)
	case placed && s.Node != "" && (a.held(s.Pod) || !s.Reschedulable()):
		a.bad(KnownPod, "pod %s runs on node %s, and nothing may move it", k, s.Node)
	case placed:
		s.placed = true
	}
	if s != nil && s.Node != "" && (s.placed || !placed) {
		a.moves[s.Pod] = true
	}
	return s
}

// purchase checks one machine to buy against every option it may become.
func (a *audit) purchase(name string, b *place.NewClaim, pods []*subject) {
	f := a.formOf(b)
	f.times++
	for _, x := range f.wrong {
		a.out = append(a.out, Finding{x.Rule, name + ": " + x.Detail})
	}
	if f.pool == nil {
		return
	}
	m := &machine{name: name, form: f, planned: pods}
	var sum model.Resources
	for _, p := range pods {
		sum = sum.Add(p.Requests)
		for _, t := range f.pool.Taints {
			if t.Effect != model.PreferNoSchedule && !tolerated(t, p.Tolerations) {
				a.bad(Taints, "%s: pod %s does not tolerate %s", name, p.Key(), t)
			}
		}
	}
	a.suit(m)
	for _, s := range f.sizes {
		if need := sum.Add(s.daemons); !need.FitsIn(s.gives) || !need.FitsIn(b.Requests) || !b.Requests.FitsIn(s.gives) {
			a.room(m, b.Requests, sum)
			break
		}
	}
	a.together(m)
	if len(f.faces) > 0 {
		a.machines = append(a.machines, m)
	}
}

func open(p model.Pool) bool {
	return !p.Deleting && p.Replicas == nil && model.IsTrue(p.Conditions, model.Ready)
}

// room says in which of its options a purchase has too little for its pods, or its requests are wrong.
func (a *audit) room(m *machine, requests, pods model.Resources) {
	for _, f := range m.form.faces {
		alloc := f.typ.Allocatable
		need := pods.Add(f.daemons)
		if short := need.Short(alloc); short != "" {
			a.bad(Room, "%s: %s has too little %s: needs %s, has %s", m.name, f.what, short, need, alloc)
		}
		if short := need.Short(requests); short != "" {
			a.bad(Room, "%s: requests say less %s than pods and daemons need on %s", m.name, short, f.what)
		}
		if short := requests.Short(alloc); short != "" {
			a.bad(Room, "%s: %s does not hold the requests: %s", m.name, f.what, short)
		}
	}
}

// suit checks that the pods accept the labels of whatever the machine turns out to be, and that their volumes can be reached from there.
func (a *audit) suit(m *machine) {
	var told []*kind
	for _, p := range m.planned {
		if p.kind == nil || m.form.suits(p) || slices.Contains(told, p.kind) {
			continue
		}
		told = append(told, p.kind)
		for _, f := range m.form.faces {
			if !f.accepts(p) {
				a.bad(Labels, "%s: pod %s does not accept %s", m.name, p.Key(), f.what)
			}
			for _, v := range p.Volumes {
				if !f.reaches(v) {
					a.bad(Volumes, "%s: volume %s of pod %s cannot be reached from %s", m.name, v.ID, p.Key(), f.what)
				}
			}
		}
	}
}

func find[T any](list []T, f func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, f); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}
