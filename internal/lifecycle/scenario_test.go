package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/drift"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/model"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// TestScenarios asks Next about the views in testdata. A command is "next now=<since start>"; its lines describe the
// view and what they leave out is the ordinary: a claim with finalizer, made at the start for pool p; a pool and a
// ready class; a list taken just now without the claim's machine.
//
//	claim launched=10s registered=30s initialized=40s deleted=5m Drained=True@5m gpu bought=8 …
//	pool consolidateAfter=30s | none | deleting | other     class ready | none | deleting | false | stale
//	node n1 taints=a:NoSchedule,b:NoExecute ready deleting labels=k=v preempted=1m event=Freeze@1m
//	sick Ready due=10m held
//	drift ImageDrift patience=1h     drift - hashes
//	instance running | pending | failed no-capacity: words   listed 20s
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{"next": func(q *scenario.Question) string { return show(lifecycle.Next(view(q))) }})
}

func at(q *scenario.Question, s string) time.Time { return start.Add(q.Duration(s)) }

func view(q *scenario.Question) lifecycle.View {
	ref := model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	now := at(q, q.Arg("now"))
	v := lifecycle.View{Now: now, ListedAt: now}
	v.Claim = model.Claim{Name: "c", UID: "cu", Pool: "p", PoolUID: "pu", Class: ref, Created: start, Generation: 1,
		Finalizers: []string{model.Finalizer}, Labels: map[string]string{model.LabelPool: "p"}}
	v.Pool = &model.Pool{Name: "p", UID: "pu", Class: ref}
	v.Class = &model.Class{Ref: ref, Generation: 1, Conditions: []model.Condition{
		{Type: model.Ready, Status: model.True, ObservedGeneration: 1}}}
	for _, l := range q.Lines() {
		switch l.Noun {
		case "claim":
			claim(q, &v.Claim, l.Words)
		case "pool":
			pool(q, &v, l.Words)
		case "class":
			class(q, &v, l.Rest)
		case "seen":
			v.NodeSeen = true
		case "sick": // for 5 minutes, or as it says
			v.Sick = outage.Sickness{Condition: l.Name, Status: model.False, Since: start, Due: at(q, l.Get("due", "5m"))}
			if l.Has("held") {
				v.RepairHeld = "too many are"
			}
		case "drift":
			v.Drift = drift.Finding{Reason: l.Name, Message: "it is not what it was", Patience: q.Duration(l.Get("patience", "0s"))}
			if l.Has("hashes") {
				v.Drift, v.Hashes = drift.Finding{}, map[string]string{"hash": "new"}
			}
		case "node":
			v.Nodes = append(v.Nodes, node(q, l))
		case "instance":
			v.Instance = instance(l)
		case "listed":
			v.ListedAt = time.Time{}
			if l.Rest != "never" {
				v.ListedAt = at(q, l.Rest)
			}
		default:
			q.Fatalf("unknown noun %q", l.Noun)
		}
	}
	return v
}

func claim(q *scenario.Question, c *model.Claim, words []scenario.Word) {
	cond := func(typ string, s model.Status, since string) {
		x := model.Condition{Type: typ, Status: s, Since: at(q, since), ObservedGeneration: 1}
		if s == model.True {
			x.Reason = typ
		}
		c.Conditions = append(c.Conditions, x)
	}
	for _, w := range words {
		val := w.Value
		switch w.Key {
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
			c.DeletedAt = at(q, val)
		case "expireAfter":
			d := at(q, val).Sub(start)
			c.ExpireAfter = &d
		case "grace":
			d := at(q, val).Sub(start)
			c.TerminationGracePeriod = &d
		case "taint":
			c.Taints = append(c.Taints, taint(val))
		case "startup":
			c.StartupTaints = append(c.StartupTaints, taint(val))
		case "gpu":
			c.Requests = model.Resources{CPU: 1000, Extended: map[string]int64{"nvidia.com/gpu": 1}}
		case "bought": // GiB of memory; before it, gpu
			c.Capacity = model.Resources{CPU: 2000, Memory: q.Int(val) << 30, Extended: c.Requests.Extended}
		case "end":
			c.Annotations = map[string]string{model.AnnotationTerminationTime: at(q, val).Format(time.RFC3339)}
		case "podEvent":
			c.LastPodEvent = at(q, val)
		default: // Type=Status@since
			s, since, _ := strings.Cut(val, "@")
			cond(w.Key, model.Status(s), since)
		}
	}
}

func pool(q *scenario.Question, v *lifecycle.View, words []scenario.Word) {
	for _, w := range words {
		switch val := w.Value; w.Key {
		case "none":
			v.Pool = nil
		case "deleting":
			v.Pool.Deleting = true
		case "other":
			v.Pool.UID = "another"
		case "consolidateAfter":
			d := at(q, val).Sub(start)
			v.Pool.ConsolidateAfter = &d
		}
	}
}

func class(q *scenario.Question, v *lifecycle.View, word string) {
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
		q.Fatalf("class %q", word)
	}
}

func taint(s string) model.Taint {
	k, e, _ := strings.Cut(s, ":")
	return model.Taint{Key: k, Effect: model.Effect(e)}
}

func node(q *scenario.Question, l scenario.Line) model.Node {
	n := model.Node{Name: l.Name, UID: "uid-" + l.Name, ProviderID: "id", Labels: map[string]string{}, Ready: model.False}
	n.Allocatable = model.Resources{CPU: 1900}
	for _, w := range l.More() {
		switch val := w.Value; w.Key {
		case "ready":
			n.Ready = model.True
		case "deleting":
			n.DeletedAt = start
		case "preempted", "event": // preempted=<since the start>, event=Freeze@<since the start>
			n.Conditions = append(n.Conditions, warning(q, w))
		case "memory":
			n.Capacity = model.Resources{CPU: 2000, Memory: q.Int(val) << 30, Extended: n.Allocatable.Extended}
		case "gpu":
			n.Allocatable.Extended = map[string]int64{"nvidia.com/gpu": 1}
		case "label":
			n.Labels[val] = "true"
		case "taint":
			n.Taints = append(n.Taints, taint(val))
		default:
			q.Fatalf("node word %q", w.Key)
		}
	}
	return n
}

// warning is a scheduled event that was announced 10 seconds after the start.
func warning(q *scenario.Question, w scenario.Word) model.Condition {
	c := model.Condition{Type: model.PreemptionScheduled, Status: model.True, Reason: "SpotEvictionIncoming", Since: at(q, "10s")}
	event, when := "Preempt", w.Value
	if w.Key == "event" {
		event, when, _ = strings.Cut(w.Value, "@")
		c.Type, c.Reason = model.VMEventScheduled, event+"Scheduled"
	}
	if when != "" {
		c.Message = event + " Scheduled: " + at(q, when).Format("Mon, 02 Jan 2006 15:04:05 GMT") + ". EventId: 1"
	}
	return c
}

func instance(l scenario.Line) *model.Instance {
	i := &model.Instance{ID: "id", Name: "aks-c", Claim: "c", State: model.InstanceState(l.Name)}
	if i.State == model.Failed {
		i.FailureCode = strings.TrimSuffix(l.More()[0].Key, ":")
		_, i.FailureText, _ = strings.Cut(l.Rest, ": ")
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
