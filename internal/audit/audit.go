// Package audit answers: is this plan sound?
//
// Check looks at a plan as a stranger would: slowly, with obvious arithmetic, one pod, one offering and one label at a time,
// and shares no code with the engine that made the plan. It says what is wrong and does not repair it, does not judge whether the
// plan is cheap (bound does) and does not ask whether more pods could have been placed. O(pods × options × daemons).
package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// Finding is one thing that is wrong with a plan.
type Finding struct {
	// Rule is the rule that is broken, from the list below; Detail says where and how.
	Rule   Rule
	Detail string
}

// String prints "room: purchase 1 …".
func (f Finding) String() string { return string(f.Rule) + ": " + f.Detail }

// Rule names what a sound plan never breaks.
type Rule string

// The rules.
const (
	OnePlace     Rule = "one-place"    // a pod has one place, or one reason
	KnownPod     Rule = "known-pod"    // every pod of the plan is in the picture, without a node that stays
	UndecidedPod Rule = "undecided"    // pods with needs that nobody decides are not placed
	OpenPool     Rule = "open-pool"    // purchases are for pools and classes that may buy
	OnSale       Rule = "on-sale"      // options are on sale, at the price that the plan says
	BestFirst    Rule = "best-first"   // options are in order of price
	Labels       Rule = "labels"       // pods accept the labels of every option, and the pool does
	Taints       Rule = "taints"       // pods tolerate the lasting taints
	Room         Rule = "room"         // pods and daemons fit on every option; requests say so
	Limits       Rule = "limits"       // no pool's limit is broken, whichever options are bought
	Variety      Rule = "min-values"   // options show the distinct values that the pool asks for
	Sum          Rule = "price"        // the price is the sum of the first options
	Asks         Rule = "requirements" // the claim asks for nothing but the options' types, zones, capacity types
	Target       Rule = "target"       // nominations name a node or claim that takes pods
	Reason       Rule = "reason"       // a pod without place has a reason
)

// Check returns everything that is wrong with the plan for this world, in the order of the plan. None means sound.
func Check(w model.World, p place.Plan) []Finding {
	a := &audit{w: w, pods: map[model.PodKey]model.Pod{}, offers: map[model.ClassRef]map[model.OfferingKey]offer{}}
	for _, x := range w.Pods {
		a.pods[x.Key()] = x
	}
	a.places(p)
	var sum model.Price
	for i, b := range p.Buy {
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
	a.nominations(p)
	return a.out
}

type audit struct {
	w      model.World
	pods   map[model.PodKey]model.Pod
	offers map[model.ClassRef]map[model.OfferingKey]offer
	out    []Finding
}

func (a *audit) bad(r Rule, format string, args ...any) {
	a.out = append(a.out, Finding{r, fmt.Sprintf(format, args...)})
}

// places checks that every pod of the plan exists, waits, and is mentioned once.
func (a *audit) places(p place.Plan) {
	seen := map[model.PodKey]bool{}
	once := func(k model.PodKey, placed bool) {
		if seen[k] {
			a.bad(OnePlace, "pod %s is mentioned twice", k)
		}
		seen[k] = true
		pod, ok := a.pods[k]
		switch {
		case !ok:
			a.bad(KnownPod, "pod %s does not exist", k)
		case placed && len(pod.Needs) > 0:
			a.bad(UndecidedPod, "pod %s is placed although it needs %s", k, pod.Needs[0])
		case placed && pod.Node != "" && !a.leaving(pod.Node):
			a.bad(KnownPod, "pod %s runs on node %s, which stays", k, pod.Node)
		}
	}
	for _, b := range p.Buy {
		for _, k := range b.Pods {
			once(k, true)
		}
	}
	for _, n := range p.Fits {
		once(n.Pod, true)
	}
	for _, l := range p.Left {
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

func (a *audit) leaving(node string) bool {
	for _, n := range a.w.Nodes {
		if n.Name != node {
			continue
		}
		if n.Deleting() {
			return true
		}
		for _, c := range a.w.Claims {
			if c.Deleting() && (c.NodeName == node || c.ProviderID != "" && c.ProviderID == n.ProviderID) {
				return true
			}
		}
	}
	return false
}

// purchase checks one machine to buy against every option it may become.
func (a *audit) purchase(name string, b place.Purchase) {
	pool, ok := find(a.w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })
	if !ok || pool.Deleting || pool.Replicas != nil || !model.IsTrue(pool.Conditions, model.Ready) || pool.Class != b.Class {
		a.bad(OpenPool, "%s: the pool may not buy this", name)
		return
	}
	if class, ok := find(a.w.Classes, func(c model.Class) bool { return c.Ref == b.Class }); !ok || !class.Ready() {
		a.bad(OpenPool, "%s: its class is not ready", name)
	}
	var pods model.Resources
	for _, k := range b.Pods {
		pod := a.pods[k]
		pods = pods.Add(pod.Requests)
		for _, t := range pool.Taints {
			if t.Effect != model.PreferNoSchedule && !tolerated(t, pod.Tolerations) {
				a.bad(Taints, "%s: pod %s does not tolerate %s", name, k, t)
			}
		}
	}
	last := model.Price(-1)
	for _, o := range b.Options {
		if o.Price < last {
			a.bad(BestFirst, "%s: %s is cheaper than the option before it", name, o.Key)
		}
		last = o.Price
		a.option(name, pool, b, o, pods)
	}
	a.variety(name, pool, b)
	a.asks(name, b)
}

// option checks one offering as if it were the one that is bought.
func (a *audit) option(name string, pool model.Pool, b place.Purchase, o place.Option, pods model.Resources) {
	typ, off, ok := a.offering(b.Class, o.Key)
	if !ok || !off.Available || off.Price != o.Price {
		a.bad(OnSale, "%s: %s is not on sale at %s", name, o.Key, o.Price)
		return
	}
	labels := nodeLabels(pool, b, typ, off)
	for _, r := range pool.Requirements {
		if !a.holds(r, labels, typ.Either, b) {
			a.bad(Labels, "%s: %s breaks the pool's requirement on %s", name, o.Key, r.Key)
		}
	}
	for _, r := range b.Requirements {
		if !a.holds(r, labels, typ.Either, b) {
			a.bad(Labels, "%s: %s breaks the claim's requirement on %s", name, o.Key, r.Key)
		}
	}
	for _, k := range b.Pods {
		if !a.accepts(a.pods[k], labels, typ.Either, b) {
			a.bad(Labels, "%s: pod %s does not accept %s", name, k, o.Key)
		}
	}
	need := pods
	for _, d := range a.w.Daemons {
		if a.daemonRuns(d.Pod, pool.Taints, labels, typ, b) {
			need = need.Add(d.Pod.Requests)
		}
	}
	if short := need.Short(typ.Allocatable); short != "" {
		a.bad(Room, "%s: %s has too little %s: needs %s, has %s", name, o.Key, short, need, typ.Allocatable)
	}
	if short := need.Short(b.Requests); short != "" {
		a.bad(Room, "%s: requests say less %s than pods and daemons need on %s", name, short, o.Key)
	}
	if short := b.Requests.Short(typ.Allocatable); short != "" {
		a.bad(Room, "%s: %s does not hold the requests: %s", name, o.Key, short)
	}
}

func (a *audit) daemonRuns(d model.Pod, taints []model.Taint, labels map[string]string, typ model.InstanceType, b place.Purchase) bool {
	for name, n := range d.Requests.Extended {
		if typ.Allocatable.Extended[name] < n {
			return false
		}
	}
	for _, t := range taints {
		if t.Effect != model.PreferNoSchedule && !tolerated(t, d.Tolerations) {
			return false
		}
	}
	return a.accepts(d, labels, typ.Either, b)
}

// offering finds what a key names. The first question about a class makes the list, so that the rest are cheap.
func (a *audit) offering(class model.ClassRef, k model.OfferingKey) (model.InstanceType, model.Offering, bool) {
	if a.offers[class] == nil {
		a.offers[class] = map[model.OfferingKey]offer{}
		for _, t := range a.w.Catalogs[class].Types {
			for _, o := range t.Offerings {
				a.offers[class][o.Key()] = offer{t, o}
			}
		}
	}
	x, ok := a.offers[class][k]
	return x.t, x.o, ok
}

type offer struct {
	t model.InstanceType
	o model.Offering
}

// nodeLabels is what the new node will be labelled with: what the pool hands out, what the claim settled, what the
// machine is.
func nodeLabels(pool model.Pool, b place.Purchase, t model.InstanceType, o model.Offering) map[string]string {
	labels := map[string]string{}
	for _, r := range b.Requirements {
		if r.Op == model.In && len(r.Values) == 1 {
			labels[canonical(r.Key)] = r.Values[0]
		}
	}
	for k, v := range pool.Labels {
		labels[canonical(k)] = v
	}
	for k, v := range t.Labels {
		labels[canonical(k)] = v
	}
	for k, v := range o.Labels {
		labels[canonical(k)] = v
	}
	labels[model.LabelInstanceType], labels[model.LabelZone], labels[model.LabelCapacityType] = o.Type, o.Zone, o.CapacityType
	labels[model.LabelPool] = pool.Name
	labels[pool.Class.Group+"/"+strings.ToLower(pool.Class.Kind)] = pool.Class.Name
	return labels
}

// limits adds up everything that each pool has, on its way, and would buy at most.
func (a *audit) limits(p place.Plan) {
	for _, pool := range a.w.Pools {
		for _, name := range slices.Sorted(maps.Keys(pool.Limits)) {
			limit := pool.Limits[name]
			total, bought := a.inUse(pool.Name, name), int64(0)
			for _, b := range p.Buy {
				if b.Pool != pool.Name {
					continue
				}
				most := int64(0)
				for _, o := range b.Options {
					t, _, _ := a.offering(b.Class, o.Key)
					most = max(most, of(t.Capacity, name))
				}
				bought += most
			}
			if bought > 0 && total+bought > limit {
				a.bad(Limits, "pool %s: %s would be %d, the limit is %d", pool.Name, name, total+bought, limit)
			}
		}
	}
}

func of(r model.Resources, name string) int64 {
	if name == model.ResourceNodes {
		return 1
	}
	return r.Get(name)
}

// inUse is what the pool's nodes and claims have of one resource; a claim of unknown size counts as the largest machine
// that it could become.
func (a *audit) inUse(pool, name string) int64 {
	total := int64(0)
	for _, n := range a.w.Nodes {
		if n.Labels[model.LabelPool] != pool {
			continue
		}
		have := of(n.Capacity, name)
		for _, c := range a.w.Claims {
			if c.ProviderID != "" && c.ProviderID == n.ProviderID {
				have = max(have, of(c.Capacity, name))
			}
		}
		total += have
	}
	for _, c := range a.w.Claims {
		if c.Pool != pool || c.ProviderID != "" && slices.ContainsFunc(a.w.Nodes, func(n model.Node) bool { return n.ProviderID == c.ProviderID }) {
			continue
		}
		have := of(c.Capacity, name)
		if c.Capacity.IsZero() {
			for _, t := range a.w.Catalogs[c.Class].Types {
				for _, o := range t.Offerings {
					if c.Requests.FitsIn(t.Allocatable) && a.mayBecome(c, t, o) {
						have = max(have, of(t.Capacity, name))
					}
				}
			}
		}
		total += have
	}
	return total
}

func find[T any](list []T, f func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, f); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}
