package disrupt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/model"
)

var (
	start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	ref   = model.ClassRef{Kind: "AKSNodeClass", Name: "default"}
)

// TestScenarios asks Decide about the worlds in testdata: "decide now=<since the start>" and lines
//
//	pool p after=30s budget=10% budget=1 never static
//	claim a pool=p type=small not-initialized not-ready fresh deleting tainted protected terminating podEvent=5m
//	pod default/x on=a daemon mirror done leaving tolerates protected=true nominated=a
//	pdb default/b allowed=0 pod=default/x                  expected a
//
// Each claim has a node of its own, "node-" and its name. What lines leave out is the ordinary: an initialized,
// ready, consolidatable claim, initialized at the start. Type small costs $0.10/h, large $1.00/h.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{
		"decide": func(q *scenario.Question) string { return show(disrupt.Decide(input(q))) },
		"sweep":  func(q *scenario.Question) string { return show(disrupt.Decide(sweep(q))) },
	})
}

func catalog() map[model.ClassRef]model.Catalog {
	c := model.Catalog{Class: ref}
	for name, price := range map[string]float64{"large": 1, "small": 0.1} {
		c.Types = append(c.Types, model.InstanceType{Name: name, Offerings: []model.Offering{
			{Type: name, Zone: "z", CapacityType: model.OnDemand, Price: model.Dollars(price)}}})
	}
	return map[model.ClassRef]model.Catalog{ref: c}
}

func input(q *scenario.Question) disrupt.Input {
	expected := map[string]bool{}
	in := disrupt.Input{Now: start.Add(q.Duration(q.Arg("now"))), Expected: func() map[string]bool { return expected }}
	in.World.Catalogs = catalog()
	for _, l := range q.Lines() {
		switch l.Noun {
		case "pool":
			in.World.Pools = append(in.World.Pools, pool(q, l))
		case "claim":
			c, n := claim(q, l)
			in.World.Claims, in.World.Nodes = append(in.World.Claims, c), append(in.World.Nodes, n)
		case "pod":
			in.World.Pods = append(in.World.Pods, pod(l))
		case "pdb":
			k := l.Key()
			in.World.PDBs = append(in.World.PDBs, model.PDB{Namespace: k.Namespace, Name: k.Name, Pods: l.Pods("pod")})
		case "expected":
			expected["node-"+l.Name] = true
		default:
			q.Fatalf("unknown noun %q", l.Noun)
		}
	}
	return in
}

func pool(q *scenario.Question, l scenario.Line) model.Pool {
	p := model.Pool{Name: l.Name}
	after := q.Duration(l.Get("after", "30s"))
	if !l.Has("never") {
		p.ConsolidateAfter = &after
	}
	if l.Has("static") {
		n := int64(3)
		p.Replicas = &n
	}
	for _, b := range l.All("budget") {
		p.Budgets = append(p.Budgets, model.DisruptionBudget{Nodes: b})
	}
	return p
}

func claim(q *scenario.Question, l scenario.Line) (model.Claim, model.Node) {
	name, has, get := l.Name, l.Has, l.Get
	c := model.Claim{Name: name, Pool: get("pool", "p"), Class: ref, ProviderID: "id-" + name, Labels: map[string]string{
		model.LabelInstanceType: get("type", "small"), model.LabelZone: "z", model.LabelCapacityType: model.OnDemand}}
	n := model.Node{Name: "node-" + name, ProviderID: "id-" + name, Ready: model.True}
	cond := func(typ string) {
		c.Conditions = append(c.Conditions, model.Condition{Type: typ, Status: model.True, Since: start})
	}
	if !has("not-initialized") {
		cond(model.Initialized)
	}
	if !has("fresh") {
		cond(model.Consolidatable)
	}
	if has("terminating") {
		cond(model.InstanceTerminating)
	}
	if has("deleting") {
		c.DeletedAt = start
	}
	if has("protected") {
		c.Annotations = map[string]string{model.AnnotationDoNotDisrupt: "true"}
	}
	if has("podEvent") {
		c.LastPodEvent = start.Add(q.Duration(get("podEvent", "")))
	}
	if has("not-ready") {
		n.Ready = model.Unknown
	}
	if has("tainted") {
		n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	}
	return c, n
}

func pod(l scenario.Line) model.Pod {
	p := model.Pod{Namespace: l.Key().Namespace, Name: l.Key().Name, Started: start}
	for _, w := range l.More() {
		switch w.Key {
		case "on":
			p.Node = "node-" + w.Value
		case "daemon":
			p.DaemonSet = true
		case "mirror":
			p.Mirror = true
		case "done":
			p.Terminal = true
		case "leaving":
			p.DeletedAt = start
		case "tolerates":
			p.Tolerations = []model.Toleration{{Op: "Exists"}}
		case "protected":
			p.DoNotDisrupt = w.Value
		case "nominated":
			p.Nominated = "node-" + w.Value
		}
	}
	return p
}

func show(d disrupt.Decision) string {
	var b strings.Builder
	for i, m := range append(slices.Clone(d.Moves), d.Observed...) {
		verb := "mark"
		if m.Marked {
			verb = "delete"
		}
		if i >= len(d.Moves) {
			verb = "would " + verb
		}
		fmt.Fprintf(&b, "%s %s (%s) saves %s\n", verb, strings.Join(m.Claims, ","), m.Why, m.Saves)
		if m.Pods > 0 {
			fmt.Fprintf(&b, "  moves %d pods\n", m.Pods)
		}
		for i, x := range m.Buy {
			var options []string
			for _, o := range x.Options {
				options = append(options, o.Key.String())
			}
			fmt.Fprintf(&b, "  buys %s: %s\n", m.Record.Replacements[i], strings.Join(options, ", "))
		}
	}
	for _, u := range d.Undo {
		fmt.Fprintf(&b, "undo %s (%s) %s cancel %v\n", strings.Join(u.Claims, ","), u.Why, u.Detail, u.Cancel)
	}
	for _, n := range d.Unmark {
		fmt.Fprintf(&b, "unmark %s\n", n)
	}
	for _, k := range d.Kept {
		fmt.Fprintf(&b, "keep %s (%s) %s\n", k.Claim, k.Why, k.Detail)
	}
	if d.After != 0 {
		fmt.Fprintf(&b, "again after %s\n", d.After)
	}
	if b.Len() == 0 {
		return "nothing to decide\n"
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// TestEveryClaimIsEitherMovedOrKept checks on random worlds that no claim is forgotten or named twice, that only
// empty ones move, and that a count budget is never exceeded.
func TestEveryClaimIsEitherMovedOrKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after, limit := 30*time.Second, rapid.IntRange(0, 5).Draw(t, "budget")
		in := disrupt.Input{Now: start.Add(time.Hour)}
		in.World.Catalogs = catalog()
		in.World.Pools = []model.Pool{{Name: "p", ConsolidateAfter: &after, Budgets: []model.DisruptionBudget{{Nodes: fmt.Sprint(limit)}}}}
		full, leaving := map[string]bool{}, 0
		for i := range rapid.IntRange(0, 10).Draw(t, "claims") {
			name := fmt.Sprintf("c%02d", i)
			c := model.Claim{Name: name, Pool: "p", ProviderID: name, Conditions: []model.Condition{
				{Type: model.Initialized, Status: model.True, Since: start}, {Type: model.Consolidatable, Status: model.True, Since: start}}}
			if rapid.IntRange(0, 4).Draw(t, "deleting") == 0 {
				c.DeletedAt = start
				leaving++
			}
			in.World.Claims = append(in.World.Claims, c)
			in.World.Nodes = append(in.World.Nodes, model.Node{Name: name, ProviderID: name, Ready: model.True})
			if full[name] = rapid.Bool().Draw(t, "full"); full[name] {
				in.World.Pods = append(in.World.Pods, model.Pod{Namespace: "d", Name: name, Node: name})
			}
		}
		d := disrupt.Decide(in)
		var seen []string
		for _, m := range d.Moves {
			seen = append(seen, m.Claims...)
			if full[m.Claims[0]] {
				t.Errorf("%s moves although it is not empty", m.Claims[0])
			}
		}
		for _, k := range d.Kept {
			seen = append(seen, k.Claim)
			if k.Why == "" {
				t.Errorf("%s stays without a reason", k.Claim)
			}
		}
		slices.Sort(seen)
		if len(slices.Compact(slices.Clone(seen))) != len(in.World.Claims) || len(seen) != len(in.World.Claims) {
			t.Errorf("%d claims, decided %v", len(in.World.Claims), seen)
		}
		if len(d.Moves) > max(limit-leaving, 0) {
			t.Errorf("%d moves with a budget of %d and %d leaving", len(d.Moves), limit, leaving)
		}
	})
}
