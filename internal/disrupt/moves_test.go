package disrupt_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// sweep reads a question about nodes with pods. A command is "sweep now=<since the start>", with
// budget=… for all pools, held=CLAIM, saving=…% on all pools and spot-to-spot; its lines are a world
// as worldtext reads it, and
//
//	machine a D4 1 [in=POOL] [spot] [drifted] [grace] [protected] [fresh] [marked] [taken] [expires=2h] [leaving-for=REPLACEMENT]
//	     [created=10m] [failed=2/50m] [replaces-drifted] [not-ready]
//
// for a node of the pool general with its claim, initialized and quiet. leaving-for is a drifted node whose move was begun
// ten minutes before one hour, created also when it was initialized, failed how many replacements of it in a row did not come, and
// when the last did not.
func sweep(q *scenario.Question) disrupt.Input {
	var text strings.Builder
	for _, line := range strings.Split(q.Below(), "\n") {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "machine" {
			line = machine(words[1:])
		}
		text.WriteString(line + "\n")
	}
	w, err := worldtext.Parse(text.String())
	if err != nil {
		q.Fatalf("%v", err)
	}
	in := disrupt.Input{World: w, Sweep: true, Repair: q.Has("repair"), Static: q.Has("static"), SpotToSpot: q.Has("spot-to-spot"),
		Now: worldtext.Epoch().Add(q.Duration(q.Arg("now")))}
	for i := range in.World.Pools {
		p := &in.World.Pools[i]
		p.Budgets = nil
		if b := q.Arg("budget"); b != "" {
			p.Budgets = []model.DisruptionBudget{{Nodes: b}}
		}
		if s := q.Arg("saving"); s != "" {
			p.Annotations = map[string]string{model.AnnotationMinimumSaving: s}
		}
	}
	if h := q.Arg("held"); h != "" {
		in.Held = map[string]time.Time{h: in.Now.Add(time.Minute)}
	}
	for i := range in.World.Nodes { // those that are not are so since then
		in.World.Nodes[i].ReadySince = worldtext.Epoch().Add(5 * time.Minute)
	}
	for i := range in.World.Claims {
		c := &in.World.Claims[i]
		for k, n := range c.Conditions {
			if n.Type == model.Initialized && !c.Created.IsZero() {
				c.Conditions[k].Since = c.Created
			}
			if n.Type == model.Drifted {
				// The later in the alphabet, the longer ago.
				c.Conditions[k].Since = n.Since.Add(-time.Duration(c.Name[0]) * time.Minute)
			}
		}
		if _, ok := c.Annotations["grace"]; ok {
			grace := time.Hour
			c.TerminationGracePeriod = &grace
		}
	}
	return in
}

// machine writes a node and its claim.
func machine(words []string) string {
	name, typ, zone := words[0], words[1], words[2]
	kind, is, extra, taint, pool := "on-demand", "Launched,Registered,Initialized,Consolidatable", "", "", "general"
	for _, w := range words[3:] {
		w, value, _ := strings.Cut(w, "=")
		switch w {
		case "in":
			pool = value
		case "created":
			extra += " created=" + value
		case "not-ready":
			taint += " not-ready"
		case "failed":
			n, ago, _ := strings.Cut(value, "/")
			d, err := time.ParseDuration(ago)
			if err != nil {
				panic(err) // of the scenario
			}
			extra += " annotation." + model.AnnotationDriftFailed + "=" + n + "%20" + worldtext.Epoch().Add(d).Format(time.RFC3339)
		case "replaces-drifted":
			extra += " annotation." + model.AnnotationReplacesDrifted + "=" + pool
		case "marked", "leaving-for":
			taint += " taint=" + model.TaintDisrupted + ":NoSchedule"
			if w == "leaving-for" {
				r := disrupt.Record{Why: model.WhyDrifted, Claims: []string{name}, Replacements: []string{value},
					Since: worldtext.Epoch().Add(50 * time.Minute)}
				extra += " annotation." + model.AnnotationMove + "=" + strings.ReplaceAll(r.Text(), ",", "%2C")
			}
		case "expires":
			extra += " created=0s expire=" + value
		case "taken":
			taint += " interrupted"
		case "spot":
			kind = "spot"
		case "drifted":
			is += ",Drifted"
		case "fresh":
			is = strings.Replace(is, ",Consolidatable", "", 1)
		case "grace":
			extra += " annotation.grace=yes"
		case "protected":
			extra += " annotation.karpenter.sh/do-not-disrupt=true"
		}
	}
	cpu := strings.TrimLeft(typ, "DE")
	labels := fmt.Sprintf(
		"label.node.kubernetes.io/instance-type=%s label.topology.kubernetes.io/zone=%s "+
			"label.karpenter.sh/capacity-type=%s",
		typ,
		zone,
		kind,
	)
	return fmt.Sprintf("node %s pool=%s provider-id=p-%s cpu=%s memory=%sGi initialized %s%s\n"+
		"claim %s pool=%s node=%s provider-id=p-%s is=%s %s%s", name, pool, name, cpu, times4(cpu), labels, taint,
		name, pool, name, name, is, labels, extra)
}

func times4(s string) string {
	var n int
	_, _ = fmt.Sscan(s, &n)
	return fmt.Sprint(4 * n)
}
