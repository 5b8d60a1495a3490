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
//	machine a D4 1 [spot] [drifted] [grace] [protected] [fresh]
//
// for a node of the pool general with its claim, initialized and quiet.
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
	in := disrupt.Input{World: w, Sweep: true, SpotToSpot: q.Has("spot-to-spot"),
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
	for i := range in.World.Claims {
		c := &in.World.Claims[i]
		for k, n := range c.Conditions {
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
	kind, is, extra := "on-demand", "Launched,Registered,Initialized,Consolidatable", ""
	for _, w := range words[3:] {
		switch w {
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
	return fmt.Sprintf("node %s pool=general provider-id=p-%s cpu=%s memory=%sGi initialized %s\n"+
		"claim %s pool=general node=%s provider-id=p-%s is=%s %s%s", name, name, cpu, times4(cpu), labels,
		name, name, name, is, labels, extra)
}

func times4(s string) string {
	var n int
	_, _ = fmt.Sscan(s, &n)
	return fmt.Sprint(4 * n)
}
