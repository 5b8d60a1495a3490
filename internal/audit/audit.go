// Package audit answers: is this plan sound?
//
// Check looks at a plan as a stranger would: with obvious arithmetic, one pod, one offering and one label at a time, and shares
// no code with the engine that made the plan. Where kube-scheduler decides, its rules are the measure: a plan is sound when
// every option of every purchase suits its pods, and when, however the options turn out, the pods can be bound one after the
// other so that each passes the filters at its turn. It says what is wrong and does not repair it, does not judge whether the plan
// is cheap (bound does). Missed asks whether a pod was left over for nothing. Cost: O(nodes + planned pods + purchases × options ×
// distinct pods on them), and, when pods of the plan have a say about their neighbours or neighbours about them, O(kinds of running pods + running
// pods that count) and the search for an order, which is bounded. What a plan does not touch is not looked at.
package audit

import (
	"fmt"
	"slices"

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
	a.places(p)
	var sum model.Price
	for i, b := range p.NewClaims {
		name := fmt.Sprintf("purchase %d for pool %s", i, b.Pool)
		if len(b.Options) == 0 || len(b.Pods) == 0 {
			a.bad(OnSale, "%s has %d options for %d pods", name, len(b.Options), len(b.Pods))
			continue
		}
		sum += b.Options[0].Price
		a.purchase(name, b)
	}
	if sum != p.Price {
		a.bad(Sum, "the plan says %s, the purchases cost %s", p.Price, sum)
	}
	a.limits(p)
	a.supplies(p)
	a.nominations(p)
	a.unmade()
	a.onePod()
	a.neighbours()
	a.weights(p)
}

func (a *audit) bad(r Rule, format string, args ...any) {
	a.out = append(a.out, Finding{r, fmt.Sprintf(format, args...)})
}

// places checks that every pod of the plan exists, waits, and is mentioned once.
func (a *audit) places(p place.Plan) {
	n := len(p.Existing) + len(p.Unscheduled)
	for _, b := range p.NewClaims {
		n += len(b.Pods)
	}
	a.named, a.placed = make(map[model.PodKey]*model.Pod, n), make(map[*model.Pod]bool, n)
	once := func(k model.PodKey, placed bool) {
		pod, twice := a.named[k]
		if twice {
			a.bad(OnePlace, "pod %s is mentioned twice", k)
		} else {
			pod = a.w.Index.Pod(k)
			a.named[k] = pod
		}
		switch {
		case pod == nil:
			a.bad(KnownPod, "pod %s does not exist", k)
		case placed && len(pod.Needs) > 0:
			a.bad(UndecidedPod, "pod %s is placed although it needs %s", k, pod.Needs[0])
		case placed && pod.Node != "" && !a.leaving[pod.Node]:
			a.bad(KnownPod, "pod %s runs on node %s, which stays", k, pod.Node)
		case placed && pod.Node != "" && (a.held(pod) || !pod.Reschedulable()):
			a.bad(KnownPod, "pod %s runs on node %s, and nothing may move it", k, pod.Node)
		case placed:
			a.placed[pod] = true
		case pod.Node != "":
			a.moves[pod] = true
		}
	}
	for _, b := range p.NewClaims {
		for _, k := range b.Pods {
			once(k, true)
		}
	}
	for _, n := range p.Existing {
		once(n.Pod, true)
	}
	for _, l := range p.Unscheduled {
		once(l.Pod, false)
		if l.Why == "" && len(l.Refusals) == 0 {
			a.bad(Reason, "pod %s stays without a reason", l.Pod)
		}
		for _, r := range l.Refusals {
			if r.Why == "" || r.Detail == "" {
				a.bad(Reason, "pod %s: pool %s refuses without a reason", l.Pod, r.Pool)
			}
		}
	}
}

// purchase checks one machine to buy against every option it may become.
func (a *audit) purchase(name string, b place.NewClaim) {
	pool, ok := find(a.w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
	if !ok || !open(pool) || pool.Class != b.Class {
		a.bad(OpenPool, "%s: the pool may not buy this", name)
		return
	}
	if class, ok := find(a.w.Classes, func(c model.Class) bool { return c.Ref == b.Class }); !ok || !class.Ready() {
		a.bad(OpenPool, "%s: its class is not ready", name)
	}
	m := &machine{name: name, planned: make([]*model.Pod, 0, len(b.Pods)), faces: make([]*face, 0, len(b.Options))}
	var pods model.Resources
	for _, k := range b.Pods {
		pod := a.named[k]
		if pod == nil {
			continue
		}
		m.planned = append(m.planned, pod)
		pods = pods.Add(pod.Requests)
		for _, t := range pool.Taints {
			if t.Effect != model.PreferNoSchedule && !tolerated(t, pod.Tolerations) {
				a.bad(Taints, "%s: pod %s does not tolerate %s", name, k, t)
			}
		}
	}
	kinds := a.kinds(m.planned)
	asks := requirementText(b.Requirements)
	known := a.known(pool, asks)
	last := model.Price(0)
	for _, o := range b.Options {
		if last-o.Price > last/10_000 {
			a.bad(BestFirst, "%s: %s is cheaper than the option before it", name, o.Key)
		}
		last = o.Price
		f := known[o.Key]
		if f == nil {
			if x, ok := a.offering(b.Pool, b.Class, o.Key); ok {
				f = a.face(pool, b.Requirements, asks, x)
			}
		}
		if f == nil || !f.sold.Available || f.sold.Price != o.Price {
			a.bad(OnSale, "%s: %s is not on sale at %s", name, o.Key, o.Price)
			continue
		}
		m.faces = append(m.faces, f)
		a.option(option{name: name, pool: pool, b: b, f: f, pods: pods, kinds: kinds})
	}
	a.together(m)
	a.variety(name, pool, b)
	a.asks(name, b)
	if len(m.faces) > 0 {
		a.machines = append(a.machines, m)
	}
}

func open(p model.Pool) bool {
	return !p.Deleting && p.Replicas == nil && model.IsTrue(p.Conditions, model.Ready)
}

// option is one way a purchase may turn out.
type option struct {
	name  string
	pool  model.Pool
	b     place.NewClaim
	f     *face
	pods  model.Resources
	kinds []*model.Pod // one of each kind of pod on it
}

// option checks one offering as if it were the one that is bought.
func (a *audit) option(x option) {
	for _, r := range x.pool.Requirements {
		if !x.f.holds(r) {
			a.bad(Labels, "%s: %s breaks the pool's requirement on %s", x.name, x.f.what, r.Key)
		}
	}
	for _, r := range x.b.Requirements {
		if !x.f.holds(r) {
			a.bad(Labels, "%s: %s breaks the claim's requirement on %s", x.name, x.f.what, r.Key)
		}
	}
	for _, p := range x.kinds {
		a.suits(x.name, p, x.f)
	}
	alloc := x.f.typ.Allocatable
	need := x.pods.Add(x.f.daemons)
	if short := need.Short(alloc); short != "" {
		a.bad(Room, "%s: %s has too little %s: needs %s, has %s", x.name, x.f.what, short, need, alloc)
	}
	if short := need.Short(x.b.Requests); short != "" {
		a.bad(Room, "%s: requests say less %s than pods and daemons need on %s", x.name, short, x.f.what)
	}
	if short := x.b.Requests.Short(alloc); short != "" {
		a.bad(Room, "%s: %s does not hold the requests: %s", x.name, x.f.what, short)
	}
}

// suits checks that one pod accepts a machine's labels, and that its volumes can be reached from there.
func (a *audit) suits(name string, p *model.Pod, f *face) {
	if !a.accepts(p, f) {
		a.bad(Labels, "%s: pod %s does not accept %s", name, p.Key(), f.what)
	}
	for _, v := range p.Volumes {
		if v.Terms != nil && !slices.ContainsFunc(v.Terms, f.meets) {
			a.bad(Volumes, "%s: volume %s of pod %s cannot be reached from %s", name, v.ID, p.Key(), f.what)
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
