package simulate

import (
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// next is what the controller does next about a NodeClaim, and why.
type next struct {
	do     string // in words
	why    model.Why
	detail string
	heldBy []holder
}

// holder is a pod that keeps a node which leaves, and why it is not gone yet.
type holder struct {
	pod    model.PodKey
	why    model.Why
	detail string
}

// next asks the deciders of the controller for the next step of a claim. ok is false when there is
// nothing to do, and for claims of another provider. A file does not say what the cloud has, and
// nobody asks it: the machine that the claim names is taken to be there, and to run unless the claim
// says that it was asked to go. O(nodes + waiting pods + pods on the claim's node).
func (a Answer) next(w model.World, c *model.Claim, d Disruption) (n next, ok bool) {
	if c.Class.Group != worldtext.Group {
		return next{}, false
	}
	for _, s := range a.Static {
		if slices.Contains(s.Delete, c.Name) {
			return next{do: verb(lifecycle.Delete), why: model.WhyReplicasLowered,
				detail: "NodePool " + s.Pool + " has more nodes than its replicas say"}, true
		}
	}
	v := a.view(w, c, d)
	s := lifecycle.Next(v)
	n = next{do: verb(s.Do), why: s.Why, detail: s.Message}
	why, words := lifecycle.Refused(*c)
	switch {
	case s.Why == model.WhyInitialized && c.Is(model.Initialized):
		return next{}, false
	case why != "" && s.Do == lifecycle.Launch:
		return next{do: "ask for its machine again", why: why, detail: words}, true
	case why != "" && c.Deleting():
		n.why, n.detail = why, words
	case s.Why == model.WhyDraining && len(v.Nodes) > 0:
		return a.drains(w, v.Nodes[0]), true
	}
	return n, true
}

// verb says what a step does.
func verb(do lifecycle.Do) string {
	switch do {
	case lifecycle.AddFinalizer, lifecycle.Launch:
		return "ask for its machine"
	case lifecycle.Register:
		return "open its node to pods"
	case lifecycle.Initialize:
		return "count its node as initialized"
	case lifecycle.Delete:
		return "delete it"
	case lifecycle.DeleteNodes:
		return "delete its node"
	case lifecycle.Terminate:
		return "have its machine deleted"
	case lifecycle.Finish:
		return "let it go"
	}
	return "wait"
}

// view is what the controller would look at.
func (a Answer) view(w model.World, c *model.Claim, d Disruption) lifecycle.View {
	v := lifecycle.View{Claim: *c, Now: a.Now, ListedAt: a.Now}
	for i := range w.Nodes {
		if c.ProviderID != "" && w.Nodes[i].ProviderID == c.ProviderID {
			v.Nodes = append(v.Nodes, w.Nodes[i])
		}
	}
	if i := slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == c.Pool }); i >= 0 {
		v.Pool = &w.Pools[i]
	}
	i := slices.IndexFunc(w.Classes, func(x model.Class) bool { return x.Ref == c.Class })
	if i >= 0 {
		v.Class = &w.Classes[i]
	}
	if c.ProviderID != "" {
		v.Instance = &model.Instance{ID: c.ProviderID, Claim: c.Name, State: model.Running}
		if c.Is(model.InstanceTerminating) {
			v.Instance.State = model.Stopping
		}
	}
	if d.Repair && len(v.Nodes) > 0 {
		v.Sick, _ = outage.SicknessOf(&v.Nodes[0])
		v.RepairHeld = outage.Survey(&w).Full(c.Pool)
	}
	if c.Is(model.Registered) {
		return v // it does not open any more
	}
	for _, l := range nomination.Decide(w, a.Now, nil) {
		if l.Claim == c.Name {
			v.Hold = l.Hold
		}
	}
	return v
}

// drains says what keeps a node that leaves.
func (a Answer) drains(w model.World, node model.Node) next {
	s := drain.Next(drain.Look(w, node, a.Now))
	n := next{do: "wait", why: s.Why, detail: some(s.Volumes, maxNamed)}
	switch {
	case s.Prepare:
		n.do = "keep new pods off its node"
	case s.Drained && s.Detached:
		n.do = "let its node go"
	case len(s.Remove) > 0:
		n.do = "ask " + model.Count(len(s.Remove), "pod") + " to leave"
	}
	for _, r := range s.Remove {
		h := holder{r.Pod, r.Why, "it is asked to leave now"}
		if r.Force {
			h.detail = "it is deleted with " + strconv.FormatInt(*r.GraceSeconds, 10) + " s of grace"
		}
		n.heldBy = append(n.heldBy, h)
	}
	for _, x := range s.Waiting {
		n.heldBy = append(n.heldBy, holder{x.Pod, x.Why, x.Detail})
	}
	return n
}

// remedy is what lets it go on: the step's own, else that of the first pod that has one.
func (n next) remedy() string {
	if r := n.why.Remedy(); r != "" {
		return r
	}
	for _, h := range n.heldBy {
		if r := h.why.Remedy(); r != "" {
			return r
		}
	}
	return ""
}

func (n next) print(line func(word, format string, args ...any)) {
	line("next", "%s: %s%s", n.do, n.why, after(": ", n.detail))
	for i, h := range n.heldBy {
		if i == maxNamed {
			line("held by", "%s more", model.Count(len(n.heldBy)-i, "pod"))
			break
		}
		line("held by", "%s: %s%s", h.pod, h.why, after(": ", h.detail))
	}
	if r := n.remedy(); r != "" {
		line("to go on", "%s", r)
	}
}

func (n next) json() *jsonNext {
	out := &jsonNext{Do: n.do, Why: string(n.why), Detail: n.detail, Remedy: n.remedy()}
	for _, h := range n.heldBy {
		out.HeldBy = append(out.HeldBy, jsonHolder{h.pod.String(), string(h.why), h.detail})
	}
	return out
}
