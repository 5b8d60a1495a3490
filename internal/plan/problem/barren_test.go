package problem

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/model"
)

// stock sells two families in two zones, spot only of one and only in the other's zone.
func stock() model.Catalog {
	var types []model.InstanceType
	add := func(name, family, arch string, offers ...string) {
		t := model.InstanceType{Name: name, Family: family, Labels: map[string]string{
			model.LabelInstanceType: name, model.LabelArch: arch, model.LabelOS: "linux",
			"karpenter.azure.com/sku-family": family}}
		for _, o := range offers {
			zone, capacity, _ := strings.Cut(o, "/")
			t.Offerings = append(
				t.Offerings,
				model.Offering{Type: name, Zone: zone, CapacityType: capacity, Price: 1},
			) // all are sold out
		}
		types = append(types, t)
	}
	add("D2", "D", "amd64", "1/on-demand", "2/on-demand", "2/spot")
	add("E2", "E", "arm64", "1/on-demand", "1/spot")
	return model.Catalog{Types: types}
}

func TestWhoLeavesNothingIsNamed(t *testing.T) {
	const family = "karpenter.azure.com/sku-family"
	in := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Op: model.In, Values: values}
	}
	noise := []model.Requirement{
		in(model.LabelCapacityType, "on-demand", "spot"),
		in(model.LabelOS, "linux"),
		{Key: "team", Op: model.Exists},
	}
	for _, c := range []struct {
		reqs []model.Requirement
		want string // "" = it can buy
	}{
		{nil, ""},
		{[]model.Requirement{in(family, "D"), in(model.LabelZone, "2")}, ""},
		{[]model.Requirement{in(family, "X", "Y")},
			"the pool's requirement " + family + " In [X Y] excludes every offering; " +
				"on offer: D, E"},
		{[]model.Requirement{in(model.LabelZone, "2"), in(model.LabelArch, "arm64")},
			"the pool's requirements kubernetes.io/arch In [arm64] and " +
				"topology.kubernetes.io/zone In [2] exclude every offering together"},
		{[]model.Requirement{in(model.LabelZone, "1"),
			in(model.LabelCapacityType, "spot"), in(model.LabelArch, "amd64")},
			"the pool's requirements exclude every offering together: " +
				"karpenter.sh/capacity-type In [spot]; kubernetes.io/arch In [amd64]; " +
				"topology.kubernetes.io/zone In [1]"},
		{[]model.Requirement{in(family, "D"), in(family, "E")},
			"the pool's requirements on label " + family + " exclude each other"},
		{[]model.Requirement{in(family, "a", "b", "c", "d", "e", "f", "g", "h")},
			"excludes every offering; on offer: D, E"},
	} {
		p := model.Pool{Name: "p", Requirements: append(c.reqs, noise...)}
		got := Barren(stock(), []model.Pool{{Name: "other"}, p}, Strict)
		if got[0].Why != "" {
			t.Errorf("the pool that asks for nothing: %+v", got[0])
		}
		switch {
		case c.want == "" && got[1].Why != "",
			c.want != "" && got[1].Why != model.WhyRequirements,
			!strings.Contains(got[1].Detail, c.want):
			t.Errorf("%v: %q, want %q", c.reqs, got[1].Detail, c.want)
		case strings.Contains(got[1].Detail, "team"):
			t.Errorf("%v: names the innocent: %q", c.reqs, got[1].Detail)
		}
	}
	pools := []model.Pool{{Requirements: []model.Requirement{in(family, "X")}}}
	if got := Barren(model.Catalog{}, pools, Strict); got[0].Why != "" {
		t.Errorf("judged although nothing is known: %+v", got)
	}
}

// minValues that all offerings together cannot show are named with whoever leaves so few, where they are a must.
func TestTooLittleChoiceForEverIsNamed(t *testing.T) {
	const family = "karpenter.azure.com/sku-family"
	of := func(key string, least int, values ...string) model.Requirement {
		r := model.Requirement{Key: key, Op: model.Exists, MinValues: least}
		if r.Values = values; len(values) > 0 {
			r.Op = model.In
		}
		return r
	}
	for _, c := range []struct {
		reqs []model.Requirement
		want string // "" = it can buy
	}{
		{[]model.Requirement{of(family, 2)}, ""},
		{[]model.Requirement{of(family, 3)}, "label " + family + ": the pool wants " +
			"at least 3 distinct values to choose from, all offerings have 2; on offer: D, E"},
		{[]model.Requirement{of(family, 2, "D", "X"), of(model.LabelOS, 0, "linux")},
			"at least 2 distinct values to choose from, " + family + " In [D X] " +
				"of all offerings leaves 1"},
		{[]model.Requirement{of(family, 2), of(model.LabelZone, 0, "2"),
			of(model.LabelOS, 0, "linux")},
			"choose from, topology.kubernetes.io/zone In [2] of all offerings leaves 1"},
		{[]model.Requirement{of("team", 2)}, "label team: the pool wants " +
			"at least 2 distinct values to choose from, all offerings have 0"},
	} {
		p := model.Pool{Name: "p", Requirements: c.reqs}
		got := Barren(stock(), []model.Pool{p}, Strict)[0]
		if c.want == "" && got.Why != "" ||
			c.want != "" &&
				(got.Why != model.WhyMinValues || !strings.Contains(got.Detail, c.want)) {
			t.Errorf("%v: %s %q, want %q", c.reqs, got.Why, got.Detail, c.want)
		}
		if got := Barren(stock(), []model.Pool{p}, BestEffort)[0]; got.Why != "" {
			t.Errorf("%v: refused although minValues are no must: %q", c.reqs, got.Detail)
		}
	}
}

// What is named alone, or in two, or together, leaves nothing, and nothing less does.
func TestWhatIsNamedIsTheLeast(t *testing.T) {
	sh := offerings.New(stock())
	keys := []string{
		model.LabelZone,
		model.LabelCapacityType,
		model.LabelArch,
		"karpenter.azure.com/sku-family",
	}
	values := [][]string{
		{"1", "2", "3"},
		{"on-demand", "spot", "x"},
		{"amd64", "arm64", "x"},
		{"D", "E", "x"},
	}
	for n := range 81 {
		var reqs []model.Requirement
		for i, k := range keys {
			reqs = append(
				reqs,
				model.Requirement{
					Key:    k,
					Op:     model.In,
					Values: []string{values[i][n/[]int{1, 3, 9, 27}[i]%3]},
				},
			)
		}
		p := model.Pool{Name: "p", Requirements: reqs}
		r := newNodePool(sh, p).barren(Strict)
		if empty := sh.Filter(sh.All, OwnSet(p)).First() < 0; empty != (r.Why != "") {
			t.Fatalf("%v: %+v", reqs, r)
		}
		if r.Why == "" {
			continue
		}
		var named []model.Requirement
		for _, q := range reqs {
			if strings.Contains(r.Detail, fmt.Sprintf("%s In %v", q.Key, q.Values)) {
				named = append(named, q)
			}
		}
		if len(named) == 0 ||
			newNodePool(sh, model.Pool{Name: "p", Requirements: named}).barren(Strict).Why == "" {
			t.Errorf("%v: what is named leaves something: %s", reqs, r.Detail)
		}
		for i := range named {
			less := append(append([]model.Requirement{}, named[:i]...), named[i+1:]...)
			if newNodePool(sh, model.Pool{Name: "p", Requirements: less}).barren(Strict).Why != "" {
				t.Errorf("%v: more is named than needed: %s", reqs, r.Detail)
			}
		}
	}
}
