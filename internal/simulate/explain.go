package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Explain says for one pod where it is, where it would go, or why it goes nowhere. ok is false when there is no such
// pod.
func (a Answer) Explain(key model.PodKey) (text string, ok bool) {
	i := slices.IndexFunc(a.World.Pods, func(p model.Pod) bool { return p.Key() == key })
	if i < 0 {
		return "", false
	}
	pod := a.World.Pods[i]
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s asks for %s\n", key, pod.Requests)
	switch {
	case a.planned(&b, key):
	case pod.Node != "":
		fmt.Fprintf(&b, "  it runs on node %s\n", pod.Node)
	default:
		b.WriteString("  nothing is done for it: " + idle(pod) + "\n")
	}
	for _, n := range a.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return printable(b.String()), true
}

// Namesakes says in which namespaces there is a pod of the name, as the rest of a sentence: "; there is shop/web", or "".
func (a Answer) Namesakes(name string) string {
	var there []string
	for _, p := range a.World.Pods {
		if p.Name == name {
			there = append(there, p.Key().String())
		}
	}
	if len(there) == 0 {
		return ""
	}
	return "; there is " + some(there, maxNamed)
}

// planned prints what the plan says about a pod, and whether it says anything.
func (a Answer) planned(b *strings.Builder, key model.PodKey) bool {
	for _, n := range a.Plan.Existing {
		if n.Pod == key {
			fmt.Fprintf(b, "  it fits on %s\n", targetText(n))
			return true
		}
	}
	for _, p := range a.Plan.NewClaims {
		if slices.Contains(p.Pods, key) {
			fmt.Fprintf(b, "  it gets a new machine for pool %s, with %s\n", p.Pool, model.Count(len(p.Pods)-1, "other pod"))
			fmt.Fprintf(b, "      %s, %s, or %s\n", p.Options[0].Key, p.Options[0].Price, model.Count(len(p.Options)-1, "other offering"))
			return true
		}
	}
	for _, l := range a.Plan.Unscheduled {
		if l.Pod == key {
			b.WriteString("  it is left over\n" + a.reasons(l))
			a.remedies(b, l)
			a.waysIn(b, key)
			return true
		}
	}
	return false
}

// idle says why a pod without a node is not ours to place.
func idle(p model.Pod) string {
	switch {
	case p.Terminal:
		return "it has finished"
	case p.Deleting():
		return "it is terminating"
	case p.Gated:
		return "it has scheduling gates"
	case p.Nominated != "":
		return "kube-scheduler has reserved node " + p.Nominated + " for it"
	case p.DaemonSet:
		return "it is a DaemonSet's, and goes where its node is"
	case p.Mirror:
		return "it is the mirror of a static pod"
	case !p.Unschedulable:
		return "kube-scheduler has not said that no node takes it"
	}
	return "it did not ask for a place"
}
