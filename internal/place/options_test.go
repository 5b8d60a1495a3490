package place

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
	"pgregory.net/rapid"
)

// TestOptionsAreThoseOfTheIndex asks for options of a catalogue with labels of all kinds, and compares them with what the index that plans are
// made from says.
func TestOptionsAreThoseOfTheIndex(t *testing.T) {
	keys := []string{model.LabelInstanceType, model.LabelZone, "failure-domain.beta.kubernetes.io/zone", model.LabelCapacityType, model.LabelArch, "beta.kubernetes.io/arch",
		"karpenter.azure.com/sku-cpu", "karpenter.azure.com/sku-gpu-name", "example.com/own", "example.com/none"}
	values := []string{"0", "1", "2", "a", "b", "t0", "t1", "t2", "t3"}
	key, value := rapid.SampledFrom(keys), rapid.SampledFrom(values)
	labels := rapid.MapOfN(key, value, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		var cat model.Catalog
		for i := range rapid.IntRange(0, 4).Draw(t, "types") {
			x := model.InstanceType{Name: fmt.Sprint("t", i), Labels: labels.Draw(t, "labels"), Allocatable: model.Resources{CPU: rapid.Int64Range(1, 3).Draw(t, "cpu")}}
			if rapid.Bool().Draw(t, "either") {
				x.Either = map[string][]string{key.Draw(t, "key"): {value.Draw(t, "one"), value.Draw(t, "other")}}
			}
			for j := range rapid.IntRange(0, 3).Draw(t, "offerings") {
				o := model.Offering{Type: x.Name, Zone: fmt.Sprint(j), CapacityType: value.Draw(t, "capacity"), Price: model.Price(rapid.Int64Range(1, 3).Draw(t, "price")),
					Available: rapid.IntRange(0, 4).Draw(t, "available") > 0}
				if rapid.IntRange(0, 2).Draw(t, "own") == 0 {
					o.Labels = labels.Draw(t, "own labels")
				}
				x.Offerings = append(x.Offerings, o)
			}
			cat.Types = append(cat.Types, x)
		}
		claim := model.Claim{Requests: model.Resources{CPU: rapid.Int64Range(0, 3).Draw(t, "requests")}}
		for range rapid.IntRange(0, 3).Draw(t, "requirements") {
			op := rapid.SampledFrom([]model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt}).Draw(t, "op")
			r := model.Requirement{Key: key.Draw(t, "key"), Op: op}
			switch op {
			case model.In, model.NotIn:
				r.Values = rapid.SliceOfN(value, 1, 4).Draw(t, "values")
			case model.Gt, model.Lt:
				r.Values = []string{"1"}
			}
			claim.Requirements = append(claim.Requirements, r)
		}
		sh := offerings.New(cat)
		var want []answer.Option
		sh.Filter(sh.All, require.New(claim.Requirements)).And(sh.Available).Each(func(i int) {
			if claim.Requests.FitsIn(sh.Items[i].Type.Allocatable) {
				want = append(want, answer.Option{Key: sh.Items[i].Offering.Key(), Price: sh.Items[i].Offering.Price})
			}
		})
		got, why := OptionsOrWhy(claim, cat)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("claim %v\nof %+v\ngot  %v\nwant %v", claim.Requirements, cat.Types, got, want)
		}
		if (why.Why == "") != (len(got) > 0) {
			t.Fatalf("%d options, and refused for %q", len(got), why.Why)
		}
	})
}

// TestALaunchIndexesNothing: hundreds of machines of a plan are launched within seconds. What one launch asks of the catalogue must not grow
// with what the catalogue says of each size.
func TestALaunchIndexesNothing(t *testing.T) {
	catalogue := func(labels int) (cat model.Catalog) {
		for i := range 500 {
			x := model.InstanceType{Name: fmt.Sprintf("t%03d", i), Labels: map[string]string{model.LabelArch: "amd64"}, Allocatable: model.Resources{CPU: 1000}}
			for k := range labels {
				x.Labels[fmt.Sprint("karpenter.azure.com/sku-", k)] = fmt.Sprint(i % (k + 2))
			}
			for z := range 3 {
				x.Offerings = append(x.Offerings, model.Offering{Type: x.Name, Zone: fmt.Sprint(z), CapacityType: model.OnDemand, Price: model.Price(i*3 + z), Available: true})
			}
			cat.Types = append(cat.Types, x)
		}
		return cat
	}
	claim := model.Claim{Requests: model.Resources{CPU: 500}, Requirements: []model.Requirement{{Key: model.LabelArch, Op: model.In, Values: []string{"amd64"}},
		{Key: model.LabelInstanceType, Op: model.In, Values: []string{"t100", "t200", "t300"}}, {Key: "karpenter.sh/nodepool", Op: model.In, Values: []string{"p"}}}}
	few, many := catalogue(1), catalogue(30)
	if got := offer.Options(claim, many); len(got) != 9 || !slices.IsSortedFunc(got, func(a, b answer.Option) int { return int(a.Price - b.Price) }) {
		t.Fatalf("options %v, want the nine offerings of three types", got)
	}
	with := func(cat model.Catalog) float64 { return testing.AllocsPerRun(3, func() { offer.Options(claim, cat) }) }
	// The index of this catalogue takes thousands.
	if a, b := with(few), with(many); b > a || b > 60 {
		t.Errorf("%.0f allocations with one label per size, %.0f with thirty; want no more than with one, and at most 60", a, b)
	}
}
