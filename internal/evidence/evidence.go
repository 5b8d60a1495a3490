// Package evidence answers: what did the world look like when our plan was unsound?
//
// A plan that our own audit refuses is a defect of ours, and when somebody looks the cluster is not the same any more. So the
// picture, the plan and what is wrong with it are written down as a scenario, which `karpenter simulate` reads back: it shows the same
// findings, and what is planned today. A decider that panicked has made no plan; then the picture alone is written. The package neither judges plans (audit does) nor tells anybody (observe does).
//
// A plan stands in a scenario as lines of its own beside the notation of worldtext:
//
//	plan buy pool=general class=default [req=…] [requests.cpu=1] option=D2/zone-1/on-demand/0.096 … pods=default/web-0,default/web-1
//	plan fit default/web-2 node=n1            (or claim=c1)
//	plan left default/web-3 [why=WORD] [refused=POOL:WHY …]
//	plan price 0.096
//	plan cut
package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Case is one refusal, or one panic.
type Case struct {
	World       model.World
	Preferences place.Preferences // that the plan was made with
	MinValues   place.MinValues   // likewise
	Plan        place.Plan
	Findings    []audit.Finding // not empty, unless there is a Crash
	Crash       *Crash          // of a decider that looked at World; Plan is empty then
	At          time.Time
	Version     string // of the controller
}

// Crash is a panic that was survived.
type Crash struct {
	Message string // what was panicked with
	Site    string // the function and line that panicked; "" = not known
	Stack   string // of the goroutine, as the Go runtime writes it
}

// crashed is the rule that a panic breaks.
const crashed = "panic"

// maxFindings bounds how many findings the head of a case names; the rest is counted, and simulate finds them again.
const maxFindings = 20

// Rules are the broken rules, each once, sorted. Two cases with the same rules are taken for the same defect.
func (c Case) Rules() []string {
	if c.Crash != nil {
		return []string{crashed}
	}
	broken := map[string]bool{}
	for _, f := range c.Findings {
		broken[string(f.Rule)] = true
	}
	return slices.Sorted(maps.Keys(broken))
}

// Text writes the case as a scenario. What stands in it are names, labels, taints, amounts and prices; annotations that are not
// Karpenter's own are left out, because anything may stand in those. O(size of the world), about 200 bytes per pod.
func (c Case) Text() string {
	var b strings.Builder
	if c.Crash != nil {
		fmt.Fprintf(&b, "# The controller panicked over this picture: %s\n", oneLine(c.Crash.Message))
	} else {
		fmt.Fprintf(&b, "# The controller made this plan and refused it: it breaks %s.\n", strings.Join(c.Rules(), ", "))
	}
	b.WriteString("# That is a defect of the controller: please report it with this file. No secrets are in it, but the names of pods, nodes and labels.\n")
	fmt.Fprintf(&b, "# Version %s, %s. To see what is wrong, and what would be planned now: karpenter simulate FILE\n", c.Version, c.At.UTC().Format(time.RFC3339))
	if c.Crash != nil {
		for line := range strings.Lines(c.Crash.Stack) {
			b.WriteString("#   " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	b.WriteString("\nsimulate pending=unschedulable")
	if c.Preferences != "" {
		fmt.Fprintf(&b, " preferences=%s", c.Preferences)
	}
	if c.MinValues != "" {
		fmt.Fprintf(&b, " min-values=%s", c.MinValues)
	}
	b.WriteString("\n" + worldtext.Print(withoutNotes(c.World)))
	if c.Crash != nil {
		fmt.Fprintf(&b, "----\npanic at %s: %s\n", c.Crash.Site, oneLine(c.Crash.Message))
		return b.String()
	}
	printPlan(&b, c.Plan)
	b.WriteString("----\n")
	for i, f := range c.Findings {
		if i == maxFindings {
			fmt.Fprintf(&b, "and %d more\n", len(c.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "%s\n", f)
	}
	return b.String()
}

// oneLine keeps a message within the comment, or the answer, that it stands in.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// withoutNotes returns the world without annotations that are not ours.
func withoutNotes(w model.World) model.World {
	w.Nodes, w.Claims, w.Pools = slices.Clone(w.Nodes), slices.Clone(w.Claims), slices.Clone(w.Pools)
	for i := range w.Nodes {
		w.Nodes[i].Annotations = ours(w.Nodes[i].Annotations)
	}
	for i := range w.Claims {
		w.Claims[i].Annotations = ours(w.Claims[i].Annotations)
	}
	for i := range w.Pools {
		p := &w.Pools[i]
		p.NodeAnnotations, p.Annotations = ours(p.NodeAnnotations), ours(p.Annotations)
		if held := w.PauseOf(p); held.Provisioning { // the notation has no word for what is on hold of all pools
			p.Annotations[model.AnnotationPause] = strings.Join(held.Words(), ",")
		}
	}
	return w
}

func ours(notes map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range notes {
		domain, _, _ := strings.Cut(k, "/")
		if domain == "karpenter.sh" || strings.HasSuffix(domain, ".karpenter.sh") || domain == "karpenter.azure.com" {
			out[k] = v
		}
	}
	return out
}
