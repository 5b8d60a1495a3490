package require

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/model"
)

// absent is the state of a label that is not there, in the dumb twin's universe.
const absent = "(absent)"

// universe is small enough to try everything: words, integers around the bounds, something not canonical, absence.
func universe() []string {
	out := []string{absent, "a", "b", "c", "", "007", "-3"}
	for i := range 8 {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// twin decides one requirement for one state by the words of the API's documentation.
func twin(r model.Requirement, state string) bool {
	in := false
	for _, v := range r.Values {
		in = in || v == state
	}
	switch r.Op {
	case model.In:
		return state != absent && in
	case model.NotIn:
		return state == absent || !in
	case model.Exists:
		return state != absent
	case model.DoesNotExist:
		return state == absent
	}
	n, err := strconv.Atoi(state)
	bound, _ := strconv.Atoi(r.Values[0])
	if state == absent || err != nil {
		return false
	}
	switch r.Op {
	case model.Gt:
		return n > bound
	case model.Lt:
		return n < bound
	case model.Gte:
		return n >= bound
	}
	return n <= bound
}

func allowed(v Values, state string) bool {
	if state == absent {
		return v.AllowsAbsent()
	}
	return v.Has(state)
}

func drawRequirement(t *rapid.T, key string) model.Requirement {
	op := rapid.SampledFrom([]model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt, model.Gte, model.Lte}).Draw(t, "op")
	r := model.Requirement{Key: key, Op: op}
	switch op {
	case model.In, model.NotIn:
		r.Values = rapid.SliceOfN(rapid.SampledFrom(universe()[1:]), 1, 4).Draw(t, "values")
	case model.Gt, model.Lt, model.Gte, model.Lte:
		r.Values = []string{strconv.Itoa(rapid.IntRange(0, 7).Draw(t, "bound"))}
	}
	return r
}

func TestSetsAgreeWithADumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var reqs []model.Requirement
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			reqs = append(reqs, drawRequirement(t, "k"))
		}
		v, _ := New(reqs).Get("k")
		back, _ := New(New(reqs).Requirements()).Get("k")
		some, someValue := false, false
		for _, state := range universe() {
			want := true
			for _, r := range reqs {
				want = want && twin(r, state)
			}
			some, someValue = some || want, someValue || want && state != absent
			if allowed(v, state) != want {
				t.Fatalf("%v: %q allowed = %v, want %v (%v)", reqs, state, !want, want, v)
			}
			if allowed(back, state) != want {
				t.Fatalf("%v written back as %v: %q allowed = %v", reqs, New(reqs).Requirements(), state, !want)
			}
		}
		// Outside the universe lie more values, so only "some" binds in one direction.
		if some && v.Empty() || someValue && !v.HasValues() {
			t.Fatalf("%v: called empty", reqs)
		}
		if p, ok := v.Pick(); ok != v.HasValues() || ok && !v.Has(p) {
			t.Fatalf("%v: picked %q, %v from %v", reqs, p, ok, v)
		}
	})
}

func TestPickGoesBelowZeroWhenNothingElseIsLeft(t *testing.T) {
	for want, reqs := range map[string][]model.Requirement{
		"-1": {{Key: "k", Op: model.Lt, Values: []string{"1"}}, {Key: "k", Op: model.NotIn, Values: []string{"0"}}},
		"-3": {{Key: "k", Op: model.Lte, Values: []string{"1"}}, {Key: "k", Op: model.NotIn, Values: []string{"0", "1", "-1", "-2"}}},
		"1":  {{Key: "k", Op: model.Lt, Values: []string{"3"}}, {Key: "k", Op: model.NotIn, Values: []string{"0"}}},
	} {
		v, _ := New(reqs).Get("k")
		if got, ok := v.Pick(); got != want || !ok {
			t.Errorf("%v: picked %q, want %q", reqs, got, want)
		}
	}
}

func TestMeetsIsANonEmptyIntersection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Of(drawRequirement(t, "k")), Of(drawRequirement(t, "k"))
		c := Of(drawRequirement(t, "k"))
		a = a.And(c)
		if a.Meets(b) != !a.And(b).Empty() || a.Meets(b) != b.Meets(a) {
			t.Fatalf("%v and %v: meets %v, intersection %v", a, b, a.Meets(b), a.And(b))
		}
		if !a.And(b).Equal(b.And(a)) {
			t.Fatalf("%v and %v: order matters", a, b)
		}
	})
}

func TestContainsNeverClaimsTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := New([]model.Requirement{drawRequirement(t, "k")}), New([]model.Requirement{drawRequirement(t, "k")})
		if !a.Contains(b) {
			if a.Contains(a.And(b)) {
				return
			}
			t.Fatalf("%v does not contain its own part %v", a, a.And(b))
		}
		va, _ := a.Get("k")
		vb, _ := b.Get("k")
		for _, s := range universe() {
			if allowed(vb, s) && !allowed(va, s) {
				t.Fatalf("%v contains %v but not %q", a, b, s)
			}
		}
	})
}

func TestEmptyIntersectionsAreSeen(t *testing.T) {
	req := func(op model.Operator, vs ...string) Values {
		return Of(model.Requirement{Key: "k", Op: op, Values: vs})
	}
	for _, c := range []struct {
		a, b  Values
		empty bool
	}{
		{req(model.Gt, "3"), req(model.Lt, "4"), true},
		{req(model.Gt, "3"), req(model.Lt, "5"), false},
		{req(model.Gte, "3").And(req(model.Lte, "4")), req(model.NotIn, "3", "4"), true},
		{req(model.Exists), req(model.DoesNotExist), true},
		{req(model.NotIn, "a"), req(model.DoesNotExist), false},
		{req(model.In, "a"), req(model.NotIn, "a"), true},
		{req(model.Gt, "9223372036854775807"), Any(), true},
		{req(model.Gt, "x"), Any(), true},
		{req("Sometimes"), Any(), true},
	} {
		if got := c.a.And(c.b).Empty(); got != c.empty {
			t.Errorf("%v and %v: empty = %v, want %v", c.a, c.b, got, c.empty)
		}
	}
}

func TestOldNamesOfLabelsAreTheSameLabel(t *testing.T) {
	s := New([]model.Requirement{
		{Key: "beta.kubernetes.io/arch", Op: model.In, Values: []string{"amd64"}},
		{Key: "topology.disk.csi.azure.com/zone", Op: model.In, Values: []string{"", "eastus-1"}},
		{Key: "failure-domain.beta.kubernetes.io/zone", Op: model.NotIn, Values: []string{"eastus-1"}},
	})
	want := []model.Requirement{
		{Key: model.LabelArch, Op: model.In, Values: []string{"amd64"}},
		{Key: model.LabelZone, Op: model.In, Values: []string{"0"}},
	}
	if d := cmp.Diff(want, s.Requirements()); d != "" {
		t.Error(d)
	}
	got := Normalise(map[string]string{"topology.disk.csi.azure.com/zone": "", "beta.kubernetes.io/os": "linux", "x": "y", model.LabelOS: "windows"})
	if d := cmp.Diff(map[string]string{model.LabelZone: "0", model.LabelOS: "windows", "x": "y"}, got); d != "" {
		t.Error(d)
	}
}

func TestSetsAskedAboutWholeMachines(t *testing.T) {
	s := New([]model.Requirement{
		{Key: "team", Op: model.In, Values: []string{"a", "b"}, MinValues: 2},
		{Key: "gpu", Op: model.DoesNotExist},
	})
	for _, c := range []struct {
		labels map[string]string
		why    string
	}{
		{map[string]string{"team": "a"}, ""},
		{map[string]string{"team": "c"}, "team"},
		{map[string]string{}, "team"},
		{map[string]string{"team": "a", "gpu": "1"}, "gpu"},
	} {
		if why, ok := s.Allows(c.labels); why != c.why || ok != (c.why == "") {
			t.Errorf("%v: refused by %q", c.labels, why)
		}
	}
	o := Labels(map[string]string{"team": "c", "zone": "1"})
	if got := s.Conflict(o); got != "team" {
		t.Errorf("conflict %q", got)
	}
	if got := s.And(o).Impossible(); got != "team" {
		t.Errorf("impossible %q", got)
	}
	v, _ := s.And(New([]model.Requirement{{Key: "team", Op: model.Exists}})).Get("team")
	if v.MinValues() != 2 {
		t.Errorf("minValues = %d, want 2", v.MinValues())
	}
	if got, want := fmt.Sprint(s), "gpu DoesNotExist; team In [a b]"; got != want {
		t.Errorf("prints %q, want %q", got, want)
	}
}

func TestOnlyMachinesBringCloudLabels(t *testing.T) {
	for key, want := range map[string]bool{
		"karpenter.azure.com/sku-family": true, "karpenter.azure.com/aksnodeclass": false, model.LabelZone: true,
		"team": false, model.LabelPool: false, "kubernetes.azure.com/ebpf-dataplane": false, "kubernetes.azure.com/mode": true,
	} {
		if Cloud(key) != want {
			t.Errorf("Cloud(%s) = %v", key, !want)
		}
	}
}
