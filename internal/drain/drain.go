// Package drain answers: which pods leave this node next?
//
// Next looks at one leaving node, the pods on it, the disruption budgets that cover them and the volumes still attached,
// and names the pods to remove now, or says that the node is drained, detached, and may be let go. It is pure, and does
// not decide that a node should leave (a person, lifecycle or disrupt did).
package drain

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// View is everything Next looks at.
type View struct {
	Node model.Node
	// Claim is nil when the node's claim is gone already.
	Claim       *model.Claim
	Pods        []model.Pod // all pods bound to the node
	PDBs        []model.PDB
	Attachments []model.Attachment // of this node
	// InstanceGone is set when the cloud no longer knows the machine: then nothing on it needs seeing off.
	InstanceGone bool
	Now          time.Time
}

// Look is what the picture shows of a node that leaves, as far as its machine is there. O(pods on the node + attachments).
func Look(w model.World, n model.Node, now time.Time) View {
	w = w.Indexed()
	v := View{Node: n, Claim: w.Index.ClaimOf(&n), PDBs: w.PDBs, Now: now}
	for _, p := range w.Index.On(n.Name).Pods {
		v.Pods = append(v.Pods, *p)
	}
	for _, a := range w.Attachments {
		if a.Node == n.Name {
			v.Attachments = append(v.Attachments, a)
		}
	}
	return v
}

// Step is what to do next for one leaving node.
type Step struct {
	// Prepare is set until the node carries the disrupted taint and the load-balancer label; nothing is evicted before.
	Prepare bool
	// Remove are the pods to ask to leave now, most patient first; one group at a time.
	Remove []Removal
	// Waiting are pods that hold the node and why nothing more is done about them now.
	Waiting []Waiting
	// Drained says that no pod holds the node any more; Detached that no volume does either. The instance may be
	// terminated only when both are set.
	Drained, Detached bool
	// Volumes are the attachments that hold the node when nothing else does, or that are left when its grace is over; sorted.
	Volumes []string
	Why     model.Why
	// After is when to look again even if nothing changed; zero = only when something changes.
	After time.Duration
}

// Removal asks one pod to leave.
type Removal struct {
	Pod   model.PodKey
	UID   string
	Force bool // delete with GraceSeconds: the node's grace is about to end
	// GraceSeconds is nil for the pod's own grace.
	GraceSeconds *int64
	// Own is what the pod would have had, in seconds, and End when the node's grace ends; set with Force.
	Own int64
	End time.Time
	Why model.Why
}

// Waiting is a pod that holds the node.
type Waiting struct {
	Pod    model.PodKey
	Why    model.Why
	Detail string
}
