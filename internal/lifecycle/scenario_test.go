package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// TestScenarios asks Next about the views in testdata. A command is "next now=<since start>"; its lines describe the
// view and what they leave out is the ordinary: a claim with finalizer, made at the start for pool p; a pool and a
// ready class; a list taken just now without the claim's machine.
//
//	claim launched=10s registered=30s initialized=40s deleted=5m Drained=True@5m …
//	pool consolidateAfter=30s | none | deleting | other     class ready | none | deleting | false | stale
//	node n1 taints=a:NoSchedule,b:NoExecute ready deleting labels=k=v
//	instance running | pending | failed no-capacity: words   listed 20s
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "next" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var now string
			d.ScanArgs(t, "now", &now)
			return show(lifecycle.Next(view(t, now, d.Input)))
		})
	})
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return start.Add(d)
}

func view(t *testing.T, now, input string) lifecycle.View {
	t.Helper()
	ref := model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	v := lifecycle.View{Now: at(t, now), ListedAt: at(t, now)}
	v.Claim = model.Claim{Name: "c", UID: "cu", Pool: "p", PoolUID: "pu", Class: ref, Created: start, Generation: 1,
		Finalizers: []string{model.Finalizer}, Labels: map[string]string{model.LabelPool: "p"}}
	v.Pool = &model.Pool{Name: "p", UID: "pu", Class: ref}
	v.Class = &model.Class{Ref: ref, Generation: 1, Conditions: []model.Condition{
		{Type: model.Ready, Status: model.True, ObservedGeneration: 1}}}
	for line := range strings.Lines(input) {
		what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		switch what {
		case "claim":
			claim(t, &v.Claim, words)
		case "pool":
			pool(t, &v, words)
		case "class":
			class(t, &v, rest)
		case "seen":
			v.NodeSeen = true
		case "node":
			v.Nodes = append(v.Nodes, node(t, words))
		case "instance":
			v.Instance = instance(words, rest)
		case "listed":
			v.ListedAt = at(t, rest)
			if rest == "never" {
				v.ListedAt = time.Time{}
			}
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return v
}

func claim(t *testing.T, c *model.Claim, words []string) {
	t.Helper()
	cond := func(typ string, s model.Status, since string) {
		x := model.Condition{Type: typ, Status: s, Since: at(t, since), ObservedGeneration: 1}
		if s == model.True {
			x.Reason = typ
		}
		c.Conditions = append(c.Conditions, x)
	}
	for _, w := range words {
		k, val, _ := strings.Cut(w, "=")
		switch k {
		case "bare":
			c.Finalizers = nil
		case "manual":
			c.Pool, c.PoolUID = "", ""
		case "launched":
			cond(model.Launched, model.True, val)
			c.ProviderID = "id"
		case "registered":
			cond(model.Registered, model.True, val)
			c.NodeName = "n1"
		case "initialized":
			cond(model.Initialized, model.True, val)
			cond(model.Ready, model.True, val)
		case "deleted":
			c.DeletedAt = at(t, val)
		case "expireAfter":
			d := at(t, val).Sub(start)
			c.ExpireAfter = &d
		case "grace":
			d := at(t, val).Sub(start)
			c.TerminationGracePeriod = &d
		case "taint":
			c.Taints = append(c.Taints, taint(val))
		case "startup":
			c.StartupTaints = append(c.StartupTaints, taint(val))
		case "gpu":
			c.Requests = model.Resources{CPU: 1000, Extended: map[string]int64{"nvidia.com/gpu": 1}}
		case "podEvent":
			c.LastPodEvent = at(t, val)
		default: // Type=Status@since
			s, since, _ := strings.Cut(val, "@")
			cond(k, model.Status(s), since)
		}
	}
}

func pool(t *testing.T, v *lifecycle.View, words []string) {
	t.Helper()
	for _, w := range words {
		switch k, val, _ := strings.Cut(w, "="); k {
		case "none":
			v.Pool = nil
		case "deleting":
			v.Pool.Deleting = true
		case "other":
			v.Pool.UID = "another"
		case "consolidateAfter":
			d := at(t, val).Sub(start)
			v.Pool.ConsolidateAfter = &d
		}
	}
}

func class(t *testing.T, v *lifecycle.View, word string) {
	t.Helper()
	switch word {
	case "none":
		v.Class = nil
	case "deleting":
		v.Class.Deleting = true
	case "false":
		v.Class.Conditions[0].Status, v.Class.Conditions[0].Message = model.False, "SubnetsReady=False"
	case "stale":
		v.Class.Generation = 2
	default:
		t.Fatalf("class %q", word)
	}
}

func taint(s string) model.Taint {
	k, e, _ := strings.Cut(s, ":")
	return model.Taint{Key: k, Effect: model.Effect(e)}
}

func node(t *testing.T, words []string) model.Node {
	t.Helper()
	n := model.Node{Name: words[0], UID: "uid-" + words[0], ProviderID: "id", Labels: map[string]string{}, Ready: model.False}
	n.Allocatable = model.Resources{CPU: 1900}
	for _, w := range words[1:] {
		switch k, val, _ := strings.Cut(w, "="); k {
		case "ready":
			n.Ready = model.True
		case "deleting":
			n.DeletedAt = start
		case "gpu":
			n.Allocatable.Extended = map[string]int64{"nvidia.com/gpu": 1}
		case "label":
			n.Labels[val] = "true"
		case "taint":
			n.Taints = append(n.Taints, taint(val))
		default:
			t.Fatalf("node word %q", w)
		}
	}
	return n
}

func instance(words []string, rest string) *model.Instance {
	i := &model.Instance{ID: "id", Name: "aks-c", Claim: "c", State: model.InstanceState(words[0])}
	if i.State == model.Failed {
		i.FailureCode = strings.TrimSuffix(words[1], ":")
		_, i.FailureText, _ = strings.Cut(rest, ": ")
	}
	return i
}

// show prints a step as a few lines; what is empty is left out.
func show(s lifecycle.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s why=%s", s.Do, s.Why)
	if s.After != 0 {
		fmt.Fprintf(&b, " after=%s", s.After)
	}
	b.WriteString("\n")
	if s.Message != "" {
		fmt.Fprintf(&b, "  says: %s\n", s.Message)
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s since=%s", c.Type, c.Status, c.Reason, c.Since.Sub(start))
		if c.Message != "" {
			fmt.Fprintf(&b, ": %s", c.Message)
		}
		b.WriteString("\n")
	}
	for _, d := range s.Drop {
		fmt.Fprintf(&b, "  drop %s\n", d)
	}
	for _, k := range slices.Sorted(maps.Keys(s.ClaimAnnotations)) {
		fmt.Fprintf(&b, "  annotate claim %s=%s\n", k, s.ClaimAnnotations[k])
	}
	if n := s.Node; n.Name != "" {
		fmt.Fprintf(&b, "  node %s: labels %v, taints +%v -%v, finalizer %v, owned %v\n",
			n.Name, n.Labels, n.AddTaints, n.DropTaints, n.AddFinalizer, n.OwnClaim)
	}
	return b.String()
}
