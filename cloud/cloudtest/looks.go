package cloudtest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// get looks at one machine and fails the test when it cannot be seen.
func (w World) get(t *testing.T, id string) model.Instance {
	t.Helper()
	i, err := w.Fleet.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return i
}

func look(t *testing.T, w World) {
	id := w.Fleet.IDOf("one")
	i := w.buy(t, "one")
	if i.ID != id {
		t.Errorf("bought %s, foretold was %s", i.ID, id)
	}
	w.buy(t, "two")
	if got := w.get(t, i.ID); got.ID != i.ID || got.State != model.Pending && got.State != model.Running {
		t.Errorf("right after launch: %+v", got)
	}
	listed := w.until(t, i.ID, model.Running)
	if got := w.get(t, i.ID); !reflect.DeepEqual(got, listed) {
		t.Errorf("a look shows %+v\nthe list shows %+v", got, listed)
	}
}

func lookAtNothing(t *testing.T, w World) {
	i := w.buy(t, "one")
	gone := func(id string) bool {
		_, err := w.Fleet.Get(t.Context(), id)
		return cloud.CodeOf(err) == cloud.NotFound
	}
	if id := strings.Replace(i.ID, i.Name, i.Name+"x", 1); !gone(id) {
		t.Errorf("get %s is not %s", id, cloud.NotFound)
	}
	w.until(t, i.ID, model.Running)
	if err := w.Fleet.Terminate(t.Context(), i.ID); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	if got, err := w.Fleet.Get(t.Context(), i.ID); err == nil && got.State != model.Stopping {
		t.Errorf("state %q right after terminate", got.State)
	}
	w.Settle(t, func() bool { return gone(i.ID) })
	w.untilNothing(t)
}

func lookAtFailed(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.SellOut(o.Key(), Later)
	i, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if err != nil {
		t.Fatalf("launch: %v; want it accepted", err)
	}
	w.Settle(t, func() bool { return w.get(t, i.ID).State == model.Failed })
	if got := w.get(t, i.ID); got.FailureCode != string(cloud.NoCapacity) || got.FailureText == "" || got.Claim != "one" {
		t.Errorf("%+v; want %s and the cloud's words", got, cloud.NoCapacity)
	}
}

func switchedOff(t *testing.T, w World) {
	i, other := w.buy(t, "one"), w.buy(t, "two")
	w.until(t, i.ID, model.Running)
	w.until(t, other.ID, model.Running)
	w.SwitchOff(t, i.ID)
	w.Settle(t, func() bool { return w.get(t, i.ID).State == model.Stopped })
	if got := w.get(t, i.ID); got.Claim != "one" || got.Offering != i.Offering {
		t.Errorf("the stopped machine is %+v", got)
	}
	if got := w.get(t, other.ID); got.State != model.Running {
		t.Errorf("the other machine is %q", got.State)
	}
	if got, ok := w.find(t, i.ID); !ok || got.State != model.Stopped && got.State != model.Running {
		t.Errorf("listed %v: %+v", ok, got)
	}
	for _, id := range []string{i.ID, other.ID} {
		if err := w.Fleet.Terminate(t.Context(), id); err != nil {
			t.Fatalf("terminate: %v", err)
		}
	}
	w.untilNothing(t)
}

func refusedAtOnce(t *testing.T, w World) {
	typ, o := w.cheapest(t)
	w.Refuse(typ.Name, "NobodyListedThis")
	_, err := w.Fleet.Launch(t.Context(), w.order("one", typ, o))
	if cloud.CodeOf(err) != cloud.Refused {
		t.Fatalf("launch: %v, want %s", err, cloud.Refused)
	}
	checkScope(t, err, typ, o)
	if s := asError(err).More.Scope; s.Class != (model.ClassRef{}) && (s.Class != w.Class.Ref || s.Generation != w.Class.Generation) {
		t.Errorf("the scope is of class %s (generation %d), ordered was %s (%d)", s.Class, s.Generation, w.Class.Ref, w.Class.Generation)
	}
	w.untilNothing(t)

	other, p := w.another(t, o.Key())
	i, err := w.Fleet.Launch(t.Context(), w.order("one", other, p))
	if err != nil {
		t.Fatalf("launch of the next best %s right after: %v", p.Key(), err)
	}
	w.until(t, i.ID, model.Running)
}
