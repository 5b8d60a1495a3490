package cloudtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// catalog returns the catalogue for the world's class.
func (w World) catalog(t *testing.T) model.Catalog {
	t.Helper()
	c, err := w.Fleet.Offerings(t.Context(), w.Class)
	if err != nil {
		t.Fatalf("offerings: %v", err)
	}
	return c
}

// cheapest returns the cheapest available on-demand offering of at least two cores, and its type.
func (w World) cheapest(t *testing.T) (model.InstanceType, model.Offering) {
	t.Helper()
	return w.cheapestBut(t, "")
}

// another returns the cheapest such offering of another type than key's.
func (w World) another(t *testing.T, key model.OfferingKey) (model.InstanceType, model.Offering) {
	t.Helper()
	return w.cheapestBut(t, key.Type)
}

func (w World) cheapestBut(t *testing.T, not string) (typ model.InstanceType, best model.Offering) {
	t.Helper()
	for _, x := range w.catalog(t).Types {
		if x.Name == not || x.Capacity.CPU < 2000 {
			continue
		}
		for _, o := range x.Offerings {
			if o.Available && o.CapacityType == model.OnDemand && (typ.Name == "" || o.Price < best.Price) {
				typ, best = x, o
			}
		}
	}
	if typ.Name == "" {
		t.Fatalf("the catalogue has no available on-demand offering of two cores (beside %q)", not)
	}
	return typ, best
}

// order asks for one machine for the claim.
func (w World) order(claim string, typ model.InstanceType, o model.Offering) cloud.Order {
	return cloud.Order{
		Claim: claim, ClaimUID: "uid-" + claim, Pool: "default", Class: w.Class, Type: typ, Offering: o,
		Labels: map[string]string{
			model.LabelPool: "default", model.LabelInstanceType: typ.Name, model.LabelZone: o.Zone,
			model.LabelCapacityType: o.CapacityType,
		},
		Taints:  []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}},
		Token:   "abcdef.0123456789abcdef",
		Cluster: w.Cluster,
	}
}

// buy launches the cheapest offering for the claim and fails the test when it is refused.
func (w World) buy(t *testing.T, claim string) model.Instance {
	t.Helper()
	typ, o := w.cheapest(t)
	i, err := w.Fleet.Launch(t.Context(), w.order(claim, typ, o))
	if err != nil {
		t.Fatalf("launch %s: %v", claim, err)
	}
	if i.ID == "" || i.Name == "" {
		t.Fatalf("launch %s: accepted without id or name: %+v", claim, i)
	}
	return i
}

// list returns what the cloud lists, checked for order.
func (w World) list(t *testing.T) []model.Instance {
	t.Helper()
	l, err := w.Fleet.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	if !slices.IsSortedFunc(l, func(a, b model.Instance) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("list is not sorted by name: %v", l)
	}
	return l
}

// find returns the listed machine of the id.
func (w World) find(t *testing.T, id string) (model.Instance, bool) {
	t.Helper()
	l := w.list(t)
	if i := slices.IndexFunc(l, func(x model.Instance) bool { return x.ID == id }); i >= 0 {
		return l[i], true
	}
	return model.Instance{}, false
}

// until lets time pass until the machine is in the state.
func (w World) until(t *testing.T, id string, s model.InstanceState) model.Instance {
	t.Helper()
	var last model.Instance
	w.Settle(t, func() bool {
		var ok bool
		last, ok = w.find(t, id)
		return ok && last.State == s
	})
	return last
}

// untilNothing lets time pass until the cloud lists and holds nothing of ours.
func (w World) untilNothing(t *testing.T) {
	t.Helper()
	w.Settle(t, func() bool { return len(w.list(t)) == 0 && len(w.Left()) == 0 })
}

func catalogue(t *testing.T, w World) {
	c := w.catalog(t)
	if len(c.Types) < 3 {
		t.Fatalf("%d types, want at least 3", len(c.Types))
	}
	if c.Class != w.Class.Ref {
		t.Errorf("the catalogue is for class %v, want %v", c.Class, w.Class.Ref)
	}
	if !slices.IsSortedFunc(c.Types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("types are not sorted by name")
	}
	seen := map[model.OfferingKey]bool{}
	for _, typ := range c.Types {
		checkType(t, typ)
		for i, o := range typ.Offerings {
			if seen[o.Key()] {
				t.Errorf("%s is offered twice", o.Key())
			}
			seen[o.Key()] = true
			if o.Type != typ.Name || o.Zone == "" || o.CapacityType == "" {
				t.Errorf("%s: offering without a name of its own: %+v", typ.Name, o)
			}
			if o.Available && o.Price <= 0 {
				t.Errorf("%s: price %s", o.Key(), o.Price)
			}
			if !o.Available && o.Unavailable == "" {
				t.Errorf("%s: unavailable without saying why", o.Key())
			}
			if i > 0 && typ.Offerings[i-1].Price > o.Price {
				t.Errorf("%s: offerings are not sorted by price", typ.Name)
			}
		}
	}
}

func checkType(t *testing.T, typ model.InstanceType) {
	t.Helper()
	if typ.Capacity.CPU <= 0 || typ.Capacity.Memory <= 0 || typ.Capacity.Pods <= 0 {
		t.Errorf("%s: capacity %s", typ.Name, typ.Capacity)
	}
	if !typ.Allocatable.FitsIn(typ.Capacity) || typ.Allocatable.CPU <= 0 || typ.Allocatable.Memory <= 0 {
		t.Errorf("%s: allocatable %s of capacity %s", typ.Name, typ.Allocatable, typ.Capacity)
	}
	if typ.Labels[model.LabelInstanceType] != typ.Name || typ.Labels[model.LabelArch] == "" || typ.Labels[model.LabelOS] == "" {
		t.Errorf("%s: labels %v", typ.Name, typ.Labels)
	}
}

func inspect(t *testing.T, w World) {
	r, err := w.Fleet.Inspect(t.Context(), w.Class, w.KubernetesVersion)
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	if len(r.Images) == 0 {
		t.Error("no images")
	}
	if len(r.Conditions) == 0 {
		t.Error("no conditions")
	}
	for _, c := range r.Conditions {
		if c.Status != model.True {
			t.Errorf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

func launch(t *testing.T, w World) {
	i := w.buy(t, "one")
	got, ok := w.find(t, i.ID)
	if !ok {
		t.Fatal("the machine is not listed right after launch")
	}
	if got.State != model.Pending && got.State != model.Running {
		t.Errorf("state %q right after launch", got.State)
	}
	w.until(t, i.ID, model.Running)
	if len(w.Left()) == 0 {
		t.Error("a running machine, but the cloud holds nothing for us")
	}
}

func launchTwice(t *testing.T, w World) {
	a, b := w.buy(t, "one"), w.buy(t, "one")
	if a.ID != b.ID || a.Name != b.Name {
		t.Errorf("two machines for one claim: %s and %s", a.ID, b.ID)
	}
	w.until(t, a.ID, model.Running)
	if c := w.buy(t, "one"); c.ID != a.ID {
		t.Errorf("a second machine for a claim whose machine runs: %s", c.ID)
	}
	if l := w.list(t); len(l) != 1 {
		t.Errorf("%d machines listed, want 1: %v", len(l), l)
	}
}

func launchTwiceElsewhere(t *testing.T, w World) {
	a := w.buy(t, "one")
	typ, o := w.another(t, a.Offering)
	b, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if err != nil {
		t.Fatalf("launch again with %s: %v", o.Key(), err)
	}
	if b.ID != a.ID || b.Offering != a.Offering {
		t.Errorf("got %s of %s, want the first machine %s of %s", b.ID, b.Offering, a.ID, a.Offering)
	}
	if l := w.list(t); len(l) != 1 {
		t.Errorf("%d machines listed, want 1: %v", len(l), l)
	}
}

func launchMany(t *testing.T, w World) {
	ids := map[string]bool{}
	const n = 3
	for i := range n {
		ids[w.buy(t, fmt.Sprintf("claim-%d", i)).ID] = true
	}
	if len(ids) != n {
		t.Errorf("%d machines for %d claims", len(ids), n)
	}
	w.Settle(t, func() bool {
		l := w.list(t)
		return len(l) == n && !slices.ContainsFunc(l, func(i model.Instance) bool { return i.State != model.Running })
	})
}

func carries(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	i, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if err != nil {
		t.Fatalf("launch: %v", err)
	}
	listed := w.until(t, i.ID, model.Running)
	for where, x := range map[string]model.Instance{"launched": i, "listed": listed} {
		if x.Claim != "one" || x.Pool != "default" || x.Offering != o.Key() {
			t.Errorf("%s: claim %q, pool %q, offering %s; want one, default, %s", where, x.Claim, x.Pool, x.Offering, o.Key())
		}
		if x.ClaimUID != "" && x.ClaimUID != "uid-one" {
			t.Errorf("%s: claim uid %q", where, x.ClaimUID)
		}
	}
	if !strings.Contains(listed.Name, "one") {
		t.Errorf("the name %q does not tell the claim", listed.Name)
	}
}

func soldOutAtOnce(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.SellOut(o.Key(), AtOnce)
	_, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if cloud.CodeOf(err) != cloud.NoCapacity {
		t.Fatalf("launch of a sold out offering: %v, want %s", err, cloud.NoCapacity)
	}
	checkScope(t, err, typ, o)
	w.untilNothing(t)

	other, p := w.another(t, o.Key())
	i, err := w.Fleet.Launch(t.Context(), w.order("one", other, p))
	if err != nil {
		t.Fatalf("launch of the next best %s right after: %v", p.Key(), err)
	}
	w.until(t, i.ID, model.Running)
}

func soldOutLater(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.SellOut(o.Key(), Later)
	i, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if err != nil {
		t.Fatalf("launch: %v; want it accepted", err)
	}
	got := w.until(t, i.ID, model.Failed)
	if got.FailureCode != string(cloud.NoCapacity) || got.FailureText == "" {
		t.Errorf("failure code %q, text %q; want %s and the cloud's words", got.FailureCode, got.FailureText, cloud.NoCapacity)
	}
	if got.FailureReason == "" {
		t.Error("the failure has not the cloud's own code")
	}
	if got.Claim != "one" || got.Offering != o.Key() {
		t.Errorf("the failed machine is for claim %q, offering %s", got.Claim, got.Offering)
	}
}

func terminateFailed(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.SellOut(o.Key(), Later)
	i, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if err != nil {
		t.Fatalf("launch: %v", err)
	}
	w.until(t, i.ID, model.Failed)
	if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	w.untilNothing(t)
}

func terminate(t *testing.T, w World) {
	i, keep := w.buy(t, "one"), w.buy(t, "two")
	w.until(t, i.ID, model.Running)
	w.until(t, keep.ID, model.Running)
	if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	if got, ok := w.find(t, i.ID); ok && got.State != model.Stopping {
		t.Errorf("state %q right after terminate", got.State)
	}
	w.Settle(t, func() bool { _, ok := w.find(t, i.ID); return !ok })
	if err := w.Fleet.Terminate(t.Context(), i.ID); cloud.CodeOf(err) != cloud.NotFound {
		t.Errorf("terminate once it is gone: %v, want %s", err, cloud.NotFound)
	}
	if got, ok := w.find(t, keep.ID); !ok || got.State != model.Running {
		t.Errorf("the other machine: %+v, listed %v", got, ok)
	}
	if err := w.Fleet.Terminate(t.Context(), keep.ID); err != nil {
		t.Fatalf("terminate the other: %v", err)
	}
	w.untilNothing(t)
}

func terminateEarly(t *testing.T, w World) {
	i := w.buy(t, "one")
	if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	w.untilNothing(t)
}

func terminateTwice(t *testing.T, w World) {
	i := w.buy(t, "one")
	w.until(t, i.ID, model.Running)
	for range 3 {
		if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil && cloud.CodeOf(err) != cloud.NotFound {
			t.Fatalf("terminate: %v", err)
		}
	}
	w.untilNothing(t)
}

func terminateUnknown(t *testing.T, w World) {
	// The id of a machine that is gone is the only id of the right form that the exam can know.
	i := w.buy(t, "one")
	id := strings.Replace(i.ID, i.Name, i.Name+"x", 1)
	if id == i.ID {
		t.Fatalf("the id %s does not contain the name %s", i.ID, i.Name)
	}
	if err := w.Fleet.Terminate(t.Context(), id); cloud.CodeOf(err) != cloud.NotFound {
		t.Errorf("terminate %s: %v, want %s", id, err, cloud.NotFound)
	}
	if _, ok := w.find(t, i.ID); !ok {
		t.Error("the machine next to it is gone")
	}
}

func relaunch(t *testing.T, w World) {
	i := w.buy(t, "one")
	w.until(t, i.ID, model.Running)
	if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	w.untilNothing(t)
	w.until(t, w.buy(t, "one").ID, model.Running)
}

func throttled(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.Throttle(7 * time.Second)
	_, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if cloud.CodeOf(err) != cloud.Throttled {
		t.Fatalf("launch: %v, want %s", err, cloud.Throttled)
	}
	if e := asError(err); e.More.RetryAfter <= 0 || e.More.RetryAfter > time.Minute {
		t.Errorf("come back after %s, want about 7s", e.More.RetryAfter)
	}
	w.Throttle(0)
	w.until(t, w.buy(t, "one").ID, model.Running)
	if l := w.list(t); len(l) != 1 {
		t.Errorf("%d machines listed, want 1", len(l))
	}
}

func unknownType(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	typ.Name, o.Type = "Standard_Nonsense9000_v99", "Standard_Nonsense9000_v99"
	_, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if cloud.CodeOf(err) != cloud.Refused {
		t.Errorf("launch: %v, want %s", err, cloud.Refused)
	}
	checkScope(t, err, typ, o)
	w.untilNothing(t)
}

func cancelled(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Fleet.Launch(ctx, w.order("one", typ, o)); err == nil {
		t.Error("launch: accepted although cancelled")
	}
	if _, err := w.Fleet.List(ctx); err == nil {
		t.Error("list: answered although cancelled")
	}
	w.untilNothing(t)
}
