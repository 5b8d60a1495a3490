package ready_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

// Labels and taints become words of a kubelet's command line: what it would not take, or take for more than one word, the
// pool says itself.
func TestLabelsAndTaintsThatNoKubeletTakesAreNamed(t *testing.T) {
	taint := func(k, v string, e model.Effect) model.Pool {
		return model.Pool{Taints: []model.Taint{{Key: k, Value: v, Effect: e}}}
	}
	for _, c := range []struct {
		pool model.Pool
		want string // "" = nothing is wrong
	}{
		{taint("example.com/a", "v", model.NoSchedule), ""},
		{taint("a", "", model.NoExecute), ""},
		{taint("example.com/a", "v --v=9", model.NoSchedule), `taints[0]: "v --v=9" is not a valid taint value`},
		{taint("example.com/a", "v\nJUNK=", model.NoSchedule), `"v\nJUNK=" is not a valid taint value`},
		{taint("example.com/a", "v", "Never"), `"Never" is not an effect`},
		{taint("ex ample/a", "v", model.NoSchedule), `"ex ample/a" has no valid domain`},
		{model.Pool{StartupTaints: []model.Taint{{Key: "a", Value: "'", Effect: model.NoSchedule}}}, `startupTaints[0]: "'" is not a valid taint value`},
		{model.Pool{Labels: map[string]string{"example.com/a": "b"}}, ""},
		{model.Pool{Labels: map[string]string{"exam\"ple/a": "b"}}, "has no valid domain"},
		{model.Pool{Labels: map[string]string{"a": "b c"}}, `"b c" is not a valid label value`},
	} {
		got := ready.Problems(c.pool)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%+v: %q, want %q", c.pool, got, c.want)
		}
	}
}

func conditionOf(t *testing.T, list []model.Condition, typ string) model.Condition {
	t.Helper()
	c, ok := model.FindCondition(list, typ)
	if !ok {
		return model.Condition{}
	}
	return c
}

// A pool whose requirements leave nothing says so and is not ready; one that never was in that state carries no word of it.
func TestAPoolThatCanBuyNothingIsNotReady(t *testing.T) {
	class := &model.Class{Conditions: []model.Condition{{Type: model.Ready, Status: model.True, ObservedGeneration: 0}}}
	p := model.Pool{Generation: 3}
	fine := ready.Pool(p, class, "")
	if c := conditionOf(t, fine, model.Ready); c.Status != model.True || len(fine) != 3 {
		t.Fatalf("%+v", fine)
	}
	p.Conditions = ready.Pool(p, class, "the pool's requirement x excludes every offering")
	found, root := conditionOf(t, p.Conditions, model.InstanceTypesFound), conditionOf(t, p.Conditions, model.Ready)
	if found.Status != model.False || found.Reason != "NoCompatibleInstanceTypes" || !strings.Contains(found.Message, "requirement x") || found.ObservedGeneration != 3 {
		t.Errorf("%+v", found)
	}
	if root.Status != model.False || !strings.Contains(root.Message, model.InstanceTypesFound) {
		t.Errorf("%+v", root)
	}
	again := ready.Pool(p, class, "")
	if conditionOf(t, again, model.InstanceTypesFound).Status != model.True || conditionOf(t, again, model.Ready).Status != model.True {
		t.Errorf("mended: %+v", again)
	}
}

// Pools carry which features wait for their CRD, and stay ready.
func TestPoolsSayWhichFeaturesWait(t *testing.T) {
	p := model.Pool{Generation: 2}
	if got := ready.Features(p, nil); got != nil {
		t.Errorf("all is served: %+v", got)
	}
	p.Conditions = ready.Features(p, []model.Unserved{{Resource: "nodeoverlays.karpenter.sh", Version: "v1alpha1"}})
	if c := conditionOf(t, p.Conditions, model.FeaturesServed); c.Status != model.False || c.Reason != "Unserved" || !strings.Contains(c.Message, "nodeoverlays.karpenter.sh/v1alpha1") {
		t.Errorf("%+v", c)
	}
	if c := conditionOf(t, ready.Features(p, nil), model.FeaturesServed); c.Status != model.True || c.Message != "" {
		t.Errorf("served again: %+v", c)
	}
}

func TestWhatCannotBeReadAboutDisruptionIsSaid(t *testing.T) {
	hour := []model.DisruptionBudget{{Nodes: "1"}, {Nodes: "1", Schedule: "TZ=Europe/Berlln 0 9 * * *", Duration: time.Hour}}
	saving := func(s string) map[string]string { return map[string]string{model.AnnotationMinimumSaving: s} }
	for _, c := range []struct {
		claim string
		pool  model.Pool
		want  []string // parts of the message; nil = no condition
	}{
		{"nothing is wrong", model.Pool{Annotations: saving("10%"), Budgets: hour[:1]}, nil},
		{"a zone that is none", model.Pool{Budgets: hour}, []string{`budgets[1]: "Europe/Berlln" is no time zone`, "no node leaves"}},
		{"a share without a sign", model.Pool{Annotations: saving("10")}, []string{`minimum-saving]: "10" is no share`, "the default counts"}},
		{"more than all", model.Pool{Annotations: saving("101%")}, []string{`"101%"`}},
		{"not a number", model.Pool{Annotations: saving("NaN%")}, []string{`"NaN%"`}},
		{"both", model.Pool{Annotations: saving("much"), Budgets: hour}, []string{"budgets[1]", `"much"`}},
	} {
		got := ready.Disruption(c.pool)
		if (len(got) == 0) != (c.want == nil) {
			t.Errorf("%s: %+v", c.claim, got)
			continue
		}
		for _, part := range c.want {
			if got[0].Status != model.False || got[0].Type != model.DisruptionValid || !strings.Contains(got[0].Message, part) {
				t.Errorf("%s: %+v, want words with %q", c.claim, got[0], part)
			}
		}
	}
	mended := ready.Disruption(model.Pool{Conditions: []model.Condition{{Type: model.DisruptionValid, Status: model.False}}})
	if len(mended) != 1 || mended[0].Status != model.True {
		t.Errorf("after it was mended: %+v, want True", mended)
	}
}

func TestWhatIsBeingDeletedIsNotInUse(t *testing.T) {
	at := time.Date(2026, 7, 4, 0, 0, 0, 0, time.UTC)
	two := model.Resources{CPU: 2000}
	node := func(name string) model.Node {
		return model.Node{Name: name, ProviderID: "id-" + name, Labels: map[string]string{model.LabelPool: "p"}, Capacity: two}
	}
	claim := func(name string) model.Claim {
		return model.Claim{Name: name, Pool: "p", ProviderID: "id-" + name, Capacity: two}
	}
	w := model.World{Nodes: []model.Node{node("stays"), node("claim-goes"), node("node-goes")},
		Claims: []model.Claim{claim("stays"), claim("claim-goes"), claim("node-goes"), claim("comes"), claim("goes-before-it-joins")}}
	w.Nodes[2].DeletedAt = at
	w.Claims[1].DeletedAt, w.Claims[4].DeletedAt = at, at
	sum, nodes := ready.Usage(w, "p")
	if sum.CPU != 4000 || nodes != 2 {
		t.Errorf("%d nodes with %d thousandths of a core, want the one that stays and the one that comes", nodes, sum.CPU)
	}
}

// What one part lacks makes the whole false; what nobody has looked at yet makes it unknown, and says so in the word that
// people's tools know.
func TestReadyIsTheSumOfItsParts(t *testing.T) {
	part := func(typ string, s model.Status) model.Condition { return model.Condition{Type: typ, Status: s} }
	for want, list := range map[string][]model.Condition{
		"True Ready ": {part("A", model.True), part("B", model.True)},
		"Unknown ReconcilingDependents B=Unknown":      {part("A", model.True), part("B", model.Unknown)},
		"False UnhealthyDependents A=Unknown, B=False": {part("A", model.Unknown), part("B", model.False)},
		"False UnhealthyDependents A=False, B=Unknown": {part("A", model.False), part("B", model.Unknown)},
	} {
		all := ready.Class(model.Class{Generation: 3}, list)
		root := all[len(all)-1]
		got := string(root.Status) + " " + root.Reason + " " + root.Message
		if got != want || root.Type != model.Ready || root.ObservedGeneration != 3 {
			t.Errorf("%+v, want %s", root, want)
		}
	}
}
