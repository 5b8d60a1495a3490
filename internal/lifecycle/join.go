package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// lastApplied is kubectl's private note about the object it stands on; it says nothing about a node.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// join waits for the node of a launched machine and registers it.
func (c *casebook) join() Step {
	since := c.since(model.Launched)
	switch i := c.Instance; {
	case c.isLost():
		return c.lost()
	case i == nil && len(c.Nodes) == 0 && c.listedAfter(since):
		return c.delete(model.WhyInstanceGone, "the cloud does not list the machine any more")
	case len(c.Nodes) == 0 && c.NodeSeen:
		// It does not come back: a kubelet registers its node once in its life (registrationCompleted in
		// k8s.io/kubernetes/pkg/kubelet/kubelet_node_status.go).
		return c.delete(model.WhyNodeGone, "its node was deleted before it registered")
	case !since.Add(RegistrationTimeout).After(c.Now):
		return c.delete(model.WhyRegisterTimeout, "no node registered within "+RegistrationTimeout.String())
	}
	c.timer(since.Add(RegistrationTimeout))
	if len(c.Nodes) == 0 {
		why := model.WhyAwaitingNode
		if c.Instance != nil && c.Instance.State == model.Pending {
			why = model.WhyAwaitingInstance
		}
		return c.record(why, "", unregistered(model.Unknown, "NodeNotFound", "Node not registered with cluster")...)
	}
	if len(c.Nodes) > 1 {
		return c.record(model.WhyManyNodes, c.nodeNames(),
			unregistered(model.False, "MultipleNodesFound", "More than one node has the provider id: "+c.nodeNames())...)
	}
	n := c.Nodes[0]
	if n.Deleting() {
		return c.delete(model.WhyNodeGone, "the node "+n.Name+" is being deleted")
	}
	// A node without the taint was open to any pod before it was ready for them, unless it was we who took the taint
	// away and died before writing that down: then the label is there.
	if !n.HasTaint(model.TaintUnregistered) && n.Labels[model.LabelRegistered] != "true" {
		return c.record(model.WhyUnregisteredMissing, "the node "+n.Name+" joined without the taint "+model.TaintUnregistered,
			unregistered(model.Unknown, "UnregisteredTaintMissing",
				"The node "+n.Name+" joined without the taint "+model.TaintUnregistered)...)
	}
	if c.Hold > 0 && n.Labels[model.LabelRegistered] != "true" {
		c.lookAgain(c.Hold)
		return Step{Do: Wait, Why: model.WhyAwaitingOthers, After: c.after}
	}
	return c.register(n)
}

func (c *casebook) nodeNames() string {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// register gives the node everything its claim promises, and opens it.
func (c *casebook) register(n model.Node) Step {
	ch := NodeChange{Name: n.Name, UID: n.UID, AddFinalizer: true, OwnClaim: true, DropTaints: []string{model.TaintUnregistered}}
	ch.Labels = maps.Clone(c.Claim.Labels)
	if ch.Labels == nil {
		ch.Labels = map[string]string{}
	}
	ch.Labels[model.LabelRegistered] = "true"
	ch.Annotations = maps.Clone(c.Claim.Annotations)
	delete(ch.Annotations, lastApplied)
	// The machine registered with the startup taints in the same breath as with the unregistered one. Their owners may
	// have taken them away since, so they are not put back: that could keep the node shut for ever.
	if n.Labels[model.LabelDoNotSyncTaints] != "true" {
		ch.AddTaints = slices.Clone(c.Claim.Taints)
	}
	s := Step{Do: Register, Why: model.WhyNodeRegistered, Node: ch, After: c.after}
	s.Conditions = c.changed(
		model.Condition{Type: model.Registered, Status: model.True, Reason: model.Registered},
		model.Condition{Type: model.Initialized, Status: model.Unknown, Reason: "NodeNotReady", Message: "Node status is NotReady"},
	)
	return s
}

// initialize opens the door to disruption once the node is all that was promised.
func (c *casebook) initialize(n model.Node) Step {
	wait := func(why model.Why, reason, message string) Step {
		return c.record(why, message, model.Condition{
			Type: model.Initialized, Status: model.Unknown, Reason: reason, Message: message,
		})
	}
	if n.Ready != model.True {
		return wait(model.WhyNodeNotReady, "NodeNotReady", "Node status is NotReady")
	}
	for _, want := range c.Claim.StartupTaints {
		if carries(n, want) {
			return wait(model.WhyStartupTaints, "StartupTaintsExist", fmt.Sprintf("StartupTaint %q still exists", want))
		}
	}
	for _, t := range n.Taints {
		if ephemeral(t) {
			return wait(model.WhyStartupTaints, "KnownEphemeralTaintsExist", fmt.Sprintf("KnownEphemeralTaint %q still exists", t))
		}
	}
	for _, name := range c.Claim.Requests.Names() {
		if n.Allocatable.Get(name) == 0 {
			return wait(model.WhyResourcesMissing, "ResourceNotRegistered", fmt.Sprintf("Resource %q was requested but not registered", name))
		}
	}
	s := Step{Do: Initialize, Why: model.WhyInitialized, After: c.after}
	s.Node = NodeChange{Name: n.Name, UID: n.UID, Labels: map[string]string{model.LabelInitialized: "true"}}
	want := []model.Condition{{Type: model.Initialized, Status: model.True, Reason: model.Initialized}}
	if x, ok := c.consistent(n); ok && x.Status == model.True {
		want = append(want, x) // in one write; what is missing is given its time
	}
	s.Conditions = c.changed(want...)
	return s
}

// carries reports whether the node has a taint of that key and effect; the value may have been changed by whoever
// manages the taint.
func carries(n model.Node, t model.Taint) bool {
	return slices.ContainsFunc(n.Taints, func(x model.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect })
}

// ephemeral reports whether the control plane puts the taint on new nodes and takes it away by itself. Keys: the
// well-known taints of the Kubernetes documentation.
func ephemeral(t model.Taint) bool {
	switch t.Key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.cloudprovider.kubernetes.io/uninitialized":
		return t.Effect != model.PreferNoSchedule
	case model.TaintUnregistered:
		return true
	}
	return false
}
