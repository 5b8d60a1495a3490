package model

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// PodKey names a pod.
type PodKey struct{ Namespace, Name string }

// String prints "namespace/name".
func (k PodKey) String() string { return k.Namespace + "/" + k.Name }

// Term is one alternative of a required node affinity: all its requirements must hold.
type Term []Requirement

// Pod is what deciders need to know of a pod. The raw object is dropped at the door.
type Pod struct {
	Namespace, Name, UID string
	Labels               map[string]string
	Created              time.Time
	Started              time.Time
	DeletedAt            time.Time // when its grace ends, as the API server computed it; zero = not terminating
	// GraceSeconds is the pod's own termination grace; for a terminating pod, the grace it was given.
	GraceSeconds int64
	Node         string // "" = not bound
	// Nominated is the node that kube-scheduler reserved for it by preemption, or "".
	Nominated string
	// Promised is a nominated node that keeps nobody from planning for the pod: that of one of our claims that planned it, or
	// one that is gone. The mirror tells the two kinds of nomination apart.
	Promised string
	// Unschedulable is set when kube-scheduler said it found no node.
	Unschedulable bool
	Gated         bool // has scheduling gates
	Terminal      bool // succeeded or failed
	PodReady      bool
	// Phase as the API has it; zero when nobody said.
	Phase Phase

	// Requests is what the scheduler counts: containers, init and sidecar containers, overhead, and one pod.
	Requests Resources
	// Limits are what its containers may use; nil when none of them has a limit. Pods share them.
	Limits       *Limits
	NodeSelector map[string]string
	// Affinity holds the OR-ed terms of the required node affinity; nil = none. A term without requirements
	// matches nothing.
	Affinity    []Term
	Tolerations []Toleration
	Priority    int32
	// Critical is set for the system-cluster-critical and system-node-critical priority classes.
	Critical bool

	// Owner is the path in the API of the first of its owners, as in /apis/apps/v1/namespaces/shop/replicasets/web-5d; "" when
	// it has none, or nobody said. It is only told.
	Owner string
	// Revision is, of a DaemonSet's pod and of its template, the DaemonSet's name and which of its templates this is, as in
	// "agent/3"; "" when that is not known.
	Revision  string
	DaemonSet bool // owned by a DaemonSet
	// StatefulSet is set for the pods of a StatefulSet: one that ends comes back under its name, and not before it is gone.
	StatefulSet bool
	Mirror      bool // a static pod's mirror
	// DoNotDisrupt is the value of the annotation, "" when absent.
	DoNotDisrupt string
	DeletionCost int32
	// Virtual marks a pod that exists in the picture only: it stands for one pod's worth of room that a capacity buffer keeps
	// free (package buffer makes it). It waits like any other and machines are bought for it, but it has the lowest priority there is
	// and is placed last, behind every real pod; no real pod is ever refused or moved for it. It is never told anything: it has
	// no events, no nomination in the cluster, and is never evicted. The colon in its name keeps it apart from real pods.
	Virtual bool
	// VolumeClaims are the names, sorted, of the persistent volume claims in its namespace that the pod mounts.
	VolumeClaims []string

	// Spread lists the topology spread constraints in the order of the spec.
	Spread []Spread
	// PodAffinity and PodAntiAffinity are the required terms; all of them must hold.
	PodAffinity, PodAntiAffinity []PodTerm
	// Prefers are the pod's wishes, in the order of the spec, node affinity first.
	Prefers []Preference
	// HostPorts of all its containers, init and sidecar containers included.
	HostPorts []HostPort
	// Volumes are its persistent volumes, sorted by ID. All of their alternatives must meet on one node.
	Volumes []Volume

	// Needs lists what the pod asks for that the engine does not decide yet, in the order of the constants in why.go.
	Needs []Why
}

// Phase is how far a pod has come, as the API says it.
type Phase uint8

// The phases; zero is that of a pod of which nobody said.
const (
	PodPending Phase = iota + 1
	PodRunning
	PodSucceeded
	PodFailed
	PodUnknown
)

// String prints the API's word, "" for zero.
func (p Phase) String() string {
	return [...]string{"", "Pending", "Running", "Succeeded", "Failed", "Unknown"}[p]
}

// Limits are what a pod's containers may use of what is told of: thousandths of a core, and bytes.
type Limits struct{ CPU, Memory int64 }

// Key returns the pod's name.
func (p Pod) Key() PodKey { return PodKey{p.Namespace, p.Name} }

// Deleting reports whether the pod is terminating.
func (p Pod) Deleting() bool { return !p.DeletedAt.IsZero() }

// Provisionable reports whether the pod waits for a node that we could buy: the scheduler tried and failed, and
// nothing else will place it.
func (p Pod) Provisionable() bool {
	return p.Node == "" && p.Unschedulable && p.Nominated == "" && !p.Gated && !p.Terminal && !p.Deleting() &&
		!p.DaemonSet && !p.Mirror
}

// Unjudged reports whether kube-scheduler has yet to look at the pod: it will find a node for it, or say that there is none.
func (p Pod) Unjudged() bool {
	return p.Node == "" && !p.Unschedulable && p.Nominated == "" && !p.Gated && !p.Deleting() && p.Reschedulable()
}

// Protected reads the annotation do-not-disrupt: "true" protects for ever, a duration from the pod's start on. Anything else but "false"
// protects nothing, and wrong says what is wrong with it.
func (p *Pod) Protected() (until time.Time, forever bool, wrong string) {
	switch p.DoNotDisrupt {
	case "", "false":
		return time.Time{}, false, ""
	case "true":
		return time.Time{}, true, ""
	}
	span, err := time.ParseDuration(p.DoNotDisrupt)
	switch {
	case err != nil:
		return time.Time{}, false, fmt.Sprintf("%q is neither true nor a duration such as 10m or 2h", p.DoNotDisrupt)
	case p.Started.IsZero():
		return time.Time{}, false, ""
	}
	return p.Started.Add(span), false, ""
}

// Reschedulable reports whether the pod needs a place elsewhere when its node goes. What replaces a pod that is terminating waits on
// its own already, but for a StatefulSet's: that comes when the pod is gone, and its place can be had by then. (The
// StatefulSet may have been scaled down, which its pods do not tell.)
func (p Pod) Reschedulable() bool {
	return !p.Terminal && !p.DaemonSet && !p.Mirror && (!p.Deleting() || p.StatefulSet)
}

// Asks reports whether the pod says anything about other pods.
func (p *Pod) Asks() bool {
	return len(p.Spread)+len(p.PodAffinity)+len(p.PodAntiAffinity)+len(p.Prefers) > 0
}

// AskedLabels yields the label keys that the pod's selectors of other pods ask about; some more than once.
func (p *Pod) AskedLabels() iter.Seq[string] {
	return func(yield func(string) bool) {
		note := func(s *Selector) bool {
			return s == nil || !slices.ContainsFunc(s.Requirements, func(r Requirement) bool { return !yield(r.Key) })
		}
		for _, c := range p.Spread {
			if !note(c.Selector) {
				return
			}
		}
		for _, list := range [2][]PodTerm{p.PodAffinity, p.PodAntiAffinity} {
			for _, t := range list {
				if !note(t.Selector) {
					return
				}
			}
		}
		for _, w := range p.Prefers {
			if w.Pod != nil && !note(w.Pod.Selector) {
				return
			}
		}
	}
}

// Daemon is a DaemonSet: what one of its pods adds to every node it runs on.
type Daemon struct {
	Namespace, Name string
	// Pod is the template as a pod, never bound. In pictures it asks for what live pods of this revision ask for, where there
	// are some: the mirror fills that in.
	Pod Pod
}

// PDB is a PodDisruptionBudget with its selector already resolved.
type PDB struct {
	Namespace, Name string
	// Pods are the keys of the pods it covers, sorted. Filled by the mirror when a picture is taken.
	Pods []PodKey
	// Selector in resolved form; nil selects nothing, an empty one everything in the namespace.
	Selector []Requirement
	HasSel   bool
	Allowed  int32
	// AlwaysAllowUnready exempts pods that are not ready.
	AlwaysAllowUnready bool
}

// Attachment is a volume attached to a node (users say VolumeAttachment).
type Attachment struct {
	Name, Node, Volume string
	// ClaimNamespace and ClaimName name the persistent volume claim that the volume is bound to; "" when not known.
	ClaimNamespace, ClaimName string
	// Pods are the keys of pods on that node that use the volume, sorted; nil when none does. Filled by the mirror when
	// a picture is taken.
	Pods []PodKey
}

// EvictionCost is what moving the pod costs, in pods of the ordinary kind: its deletion cost and its priority make it dearer or
// cheaper. The weights are those that users of Karpenter know: the whole range of either is worth about a dozen pods. Between -10 and 10.
func (p *Pod) EvictionCost() float64 {
	return min(10, max(-10, 1+float64(p.DeletionCost)/(1<<27)+float64(p.Priority)/(1<<25)))
}
