package top

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// state is how something is: a word, a sign for who sees no colours, and how much attention it asks for.
type state struct {
	word, sign string
	style      style
}

// ofMachine says how far a machine has come.
func ofMachine(m *machine) state {
	n, c := m.node, m.claim
	switch {
	case c != nil && c.Deleting(),
		n != nil && (n.Deleting() || n.HasTaint(model.TaintDisrupted)):
		m.isLeaving = true
		return state{"leaving", "-", attention}
	case n == nil && c.Is(model.Launched):
		return state{"joining", "+", news}
	case n == nil:
		word := "launching"
		if x, ok := model.FindCondition(c.Conditions, model.Launched); ok && x.Reason != "" {
			word += ": " + x.Reason
		}
		return state{word, "+", news}
	case n.Ready != model.True && (c == nil || c.Is(model.Initialized)):
		m.unready = true
		word := "not ready"
		if n.ReadyReason != "" {
			word += ": " + n.ReadyReason
		}
		return state{word, "!", bad}
	case c != nil && !c.Is(model.Initialized):
		return state{"starting", "+", news}
	case n.Cordoned:
		return state{"cordoned", "!", attention}
	case c != nil && c.Is(model.Drifted):
		return state{"drifted", "~", attention}
	case c != nil && m.tenants == 0:
		return state{"empty", "~", attention}
	}
	return state{"ready", "", plain}
}

// ofPool says whether a pool may buy.
func ofPool(w model.World, p *model.Pool) state {
	switch {
	case p.Deleting:
		return state{"deleting", "-", attention}
	case p.Unreadable != "":
		return state{"unreadable: " + p.Unreadable, "!", bad}
	case model.IsTrue(p.Conditions, model.Paused):
		return state{"paused", "~", attention}
	case !p.Ready():
		word := "not ready"
		if x, ok := model.FindCondition(p.Conditions, model.Ready); ok && x.Reason != "" {
			word += ": " + x.Reason
		}
		return state{word, "!", bad}
	}
	return state{"ready", "", plain}
}

// limits says how much of the pool's limits its machines take: the limit that is nearest.
func (p *pool) limits() (share int64, resource string) {
	if p.pool == nil {
		return 0, ""
	}
	for _, r := range slices.Sorted(maps.Keys(p.pool.Limits)) {
		used := p.capacity.Get(r)
		if r == model.ResourceNodes {
			used = int64(p.machines)
		}
		x := int64(100)
		if most := p.pool.Limits[r]; most > 0 {
			x = percent(used, most)
		}
		if resource == "" || x > share {
			share, resource = x, r
		}
	}
	return share, resource
}

// percent is a share in whole percents, rounded down; 0 of nothing.
func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 100)
}

// blockers counts what keeps a node that its pods or people hold: O(pods of the node). The deciders' whole answer costs a plan,
// and is given when a person asks why.
func (p *Picture) blockers(m *machine) string {
	if m.node == nil {
		return ""
	}
	var parts []string
	if m.node.Annotations[model.AnnotationDoNotDisrupt] == "true" {
		parts = append(parts, "node "+string(model.WhyDoNotDisrupt))
	}
	marked, held := 0, 0
	for _, pod := range p.world.Index.On(m.node.Name).Pods {
		if !pod.Reschedulable() {
			continue
		}
		switch p.held(pod) {
		case model.WhyDoNotDisrupt:
			marked++
		case model.WhyPDB:
			held++
		}
	}
	for _, x := range []struct {
		n   int
		why model.Why
	}{{marked, model.WhyDoNotDisrupt}, {held, model.WhyPDB}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.why))
		}
	}
	return strings.Join(parts, ", ")
}

// held says what keeps a pod on its node now; "" = nothing.
func (p *Picture) held(pod *model.Pod) model.Why {
	until, forever, _ := pod.Protected()
	if forever || until.After(p.Now) {
		return model.WhyDoNotDisrupt
	}
	if p.budget(pod) != "" {
		return model.WhyPDB
	}
	return ""
}

// budget names a PodDisruptionBudget that lets the pod not go now; "" = none.
func (p *Picture) budget(pod *model.Pod) string {
	list := p.world.PDBs // sorted by namespace
	from, _ := slices.BinarySearchFunc(list, pod.Namespace, func(b model.PDB, ns string) int {
		return strings.Compare(b.Namespace, ns)
	})
	for i := from; i < len(list) && list[i].Namespace == pod.Namespace; i++ {
		b := &list[i]
		if b.Allowed > 0 || b.AlwaysAllowUnready && !pod.PodReady {
			continue
		}
		_, covered := slices.BinarySearchFunc(b.Pods, pod.Name,
			func(k model.PodKey, name string) int { return strings.Compare(k.Name, name) })
		if covered {
			return b.Name
		}
	}
	return ""
}

// ofPod says how far a pod has come, and what holds it.
func (p *Picture) ofPod(pod *model.Pod) state {
	switch {
	case pod.Deleting():
		return state{"terminating", "-", attention}
	case pod.Terminal:
		return state{"finished", "", faint}
	case pod.Node == "":
		return waits(pod)
	case p.held(pod) == model.WhyDoNotDisrupt:
		return state{string(model.WhyDoNotDisrupt), "#", attention}
	case p.budget(pod) != "":
		return state{string(model.WhyPDB) + " " + p.budget(pod), "#", attention}
	case pod.DaemonSet:
		return state{"of a DaemonSet", "", faint}
	case pod.Mirror:
		return state{"static", "", faint}
	case pod.Phase == model.PodPending:
		return state{"starting", "+", news}
	}
	return state{"runs", "", plain}
}

func waits(pod *model.Pod) state {
	switch {
	case pod.Gated:
		return state{"has scheduling gates", "", faint}
	case pod.Nominated != "":
		return state{"is to go to " + pod.Nominated, "+", news}
	case pod.Promised != "":
		return state{"is to go to " + pod.Promised, "+", news}
	case pod.Unschedulable:
		return state{"no node takes it", "!", bad}
	}
	return state{"not yet looked at", "+", news}
}

// age writes a span as kubectl does: 45s, 12m, 3h, 9d; "" when the beginning is not known.
func age(from, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	d := max(now.Sub(from), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// dollars writes a price per hour; "?" when it is not known.
func dollars(p model.Price, known bool) string {
	if !known {
		return "?"
	}
	return fmt.Sprintf("%.4f", p.Float())
}
