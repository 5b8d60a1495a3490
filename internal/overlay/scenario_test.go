package overlay_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/overlay"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios asks about the worlds in testdata: types and pools as package worldtext has them, and lines
//
//	overlay NAME [weight=N] [req=key:Op:a,b] [price=1.5] [adjust=-10%] [capacity.NAME=N]
//
// "judge" prints what is wrong with overlays and the order of those in force; "apply [pool=NAME]" what the pool, or
// everybody of the class, then sees.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{
		"judge": unchanged(func(_ *scenario.Question, in overlay.Input) string { return verdict(overlay.Judge(in)) }),
		"apply": unchanged(func(q *scenario.Question, in overlay.Input) string {
			var pool *model.Pool
			if i := slices.IndexFunc(in.Pools, func(p model.Pool) bool { return p.Name == q.Arg("pool") }); i >= 0 {
				pool = &in.Pools[i]
			}
			return show(overlay.Apply(in.Catalogs[worldtext.Ref("default")], pool, overlay.Judge(in).InForce))
		}),
	})
}

// unchanged asks, and fails when that changed what was asked about.
func unchanged(ask func(*scenario.Question, overlay.Input) string) func(*scenario.Question) string {
	return func(q *scenario.Question) string {
		in := read(q)
		before := fmt.Sprint(in)
		out := ask(q, in)
		if fmt.Sprint(in) != before {
			q.Fatalf("the input was changed")
		}
		return out
	}
}

func read(q *scenario.Question) overlay.Input {
	w := q.World("overlay")
	in := overlay.Input{Pools: w.Pools, Catalogs: w.Catalogs}
	for _, l := range q.Lines() {
		if l.Noun == "overlay" {
			in.Overlays = append(in.Overlays, readOverlay(q, l))
		}
	}
	return in
}

func readOverlay(q *scenario.Question, l scenario.Line) model.Overlay {
	o := model.Overlay{Name: l.Name, Generation: 1}
	for _, w := range l.More() {
		switch k, v := w.Key, w.Value; {
		case k == "weight":
			o.Weight = int(q.Int(v))
		case k == "price":
			o.Price = v
		case k == "adjust":
			o.PriceAdjustment = v
		case k == "req":
			parts := strings.SplitN(v, ":", 3)
			r := model.Requirement{Key: parts[0], Op: model.Operator(parts[1])}
			if len(parts) > 2 {
				r.Values = strings.Split(parts[2], ",")
			}
			o.Requirements = append(o.Requirements, r)
		case strings.HasPrefix(k, "capacity."):
			if o.Capacity == nil {
				o.Capacity = map[string]int64{}
			}
			o.Capacity[strings.TrimPrefix(k, "capacity.")] = q.Int(v)
		default:
			q.Fatalf("unknown field %q", k)
		}
	}
	return o
}

func verdict(v overlay.Verdict) string {
	var b strings.Builder
	var names []string
	for _, o := range v.InForce {
		names = append(names, o.Name)
	}
	fmt.Fprintf(&b, "in force: %s\n", strings.Join(names, " "))
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "%s: %s: %s\n", p.Overlay, p.Reason, p.Detail)
	}
	return b.String()
}

func show(c model.Catalog) string {
	var b strings.Builder
	for _, t := range c.Types {
		fmt.Fprintf(&b, "%s", t.Name)
		for _, name := range slices.Sorted(maps.Keys(t.Capacity.Extended)) {
			fmt.Fprintf(&b, " %s=%d/%d", name, t.Allocatable.Extended[name], t.Capacity.Extended[name])
		}
		for _, o := range t.Offerings {
			fmt.Fprintf(&b, " %s/%s=%s", o.Zone, o.CapacityType, o.Price)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestConditionsSayWhatIsWrong(t *testing.T) {
	o := model.Overlay{Name: "a", Generation: 3}
	for _, c := range []struct {
		problems      []overlay.Problem
		valid, reason string
		ready         model.Status
		message       string
	}{
		{nil, "True", "ValidationSucceeded", model.True, ""},
		{[]overlay.Problem{{Overlay: "b", Reason: overlay.Conflict, Detail: "x"}}, "True", "ValidationSucceeded", model.True, ""},
		{[]overlay.Problem{{Overlay: "a", Reason: overlay.Conflict, Detail: "x"}}, "False", "Conflict", model.False, "x"},
		{[]overlay.Problem{{Overlay: "a", Reason: overlay.Invalid, Detail: "y"}}, "False", "RuntimeValidation", model.False, "y"},
		{[]overlay.Problem{{Overlay: "a", Reason: overlay.Partly, Detail: "z"}}, "True", "ValidationSucceeded", model.True, "z"},
	} {
		got := overlay.Conditions(o, c.problems)
		v, r := got[0], got[1]
		if v.Type != model.ValidationSucceeded || string(v.Status) != c.valid || v.Reason != c.reason || v.Message != c.message ||
			r.Type != model.Ready || r.Status != c.ready || v.ObservedGeneration != 3 || r.ObservedGeneration != 3 {
			t.Errorf("%v: %+v", c.problems, got)
		}
	}
}

// The order in which overlays are told changes nothing, and what is in force is all that counts.
func TestTheOrderOfArrivalChangesNothing(t *testing.T) {
	w, err := worldtext.Parse("type A cpu=2 memory=8Gi zones=1,2 price=0.10 spot=0.02\ntype B cpu=4 memory=8Gi zones=1 price=0.20\npool p label.team=x\npool q")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		in := overlay.Input{Pools: w.Pools, Catalogs: w.Catalogs}
		for i := range rapid.IntRange(0, 6).Draw(r, "overlays") {
			o := model.Overlay{Name: fmt.Sprint("o", i), Weight: rapid.IntRange(0, 2).Draw(r, "weight")}
			if key := rapid.SampledFrom([]string{"", model.LabelZone, model.LabelInstanceType, model.LabelPool, "team"}).Draw(r, "key"); key != "" {
				op := rapid.SampledFrom([]model.Operator{model.In, model.NotIn}).Draw(r, "op")
				o.Requirements = []model.Requirement{{Key: key, Op: op, Values: []string{rapid.SampledFrom([]string{"1", "A", "p", "x"}).Draw(r, "value")}}}
			}
			switch rapid.IntRange(0, 2).Draw(r, "what") {
			case 0:
				o.Price = "1"
			case 1:
				o.PriceAdjustment = "+50%"
			case 2:
				o.Capacity = map[string]int64{"x.com/y": int64(i)}
			}
			in.Overlays = append(in.Overlays, o)
		}
		want := overlay.Judge(in)
		in.Overlays = rapid.Permutation(in.Overlays).Draw(r, "order")
		if got := overlay.Judge(in); !reflect.DeepEqual(got, want) {
			t.Fatalf("told in another order:\n%s\nwant\n%s", verdict(got), verdict(want))
		}
		if n := len(want.InForce); n > 0 && !overlay.ByPool(want.InForce) {
			for i := range in.Pools {
				cat := in.Catalogs[in.Pools[i].Class]
				if a, b := show(overlay.Apply(cat, &in.Pools[i], want.InForce)), show(overlay.Apply(cat, nil, want.InForce)); a != b {
					t.Fatalf("pool %s sees\n%s\nits class\n%s", in.Pools[i].Name, a, b)
				}
			}
		}
	})
}
