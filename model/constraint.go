package model

import (
	"slices"
	"strconv"
	"strings"
)

// Selector picks objects by their labels. A nil *Selector picks nothing, one without requirements everything.
type Selector struct {
	// Requirements all hold for what is picked; sorted by key. Operators In, NotIn, Exists, DoesNotExist.
	Requirements []Requirement
}

// Matches reports whether the labels are picked.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return false
	}
	for _, r := range s.Requirements {
		if !r.Matches(labels) {
			return false
		}
	}
	return true
}

// Matches reports whether labels satisfy the requirement as kube-scheduler reads it: an absent label satisfies NotIn and
// DoesNotExist only, and Gt and Lt compare integers.
func (r Requirement) Matches(labels map[string]string) bool {
	v, ok := labels[r.Key]
	switch r.Op {
	case In:
		return ok && slices.Contains(r.Values, v)
	case NotIn:
		return !ok || !slices.Contains(r.Values, v)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	}
	if !ok || len(r.Values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(v, 10, 64)
	want, bad := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil || bad != nil {
		return false
	}
	switch r.Op {
	case Gt:
		return have > want
	case Gte:
		return have >= want
	case Lt:
		return have < want
	case Lte:
		return have <= want
	}
	return false
}

// Spread is one topology spread constraint of a pod: among the domains of Key (values of that node label), the number of
// picked pods may differ by at most MaxSkew.
type Spread struct {
	Key        string
	MaxSkew    int32 // at least 1
	MinDomains int32 // fewer eligible domains than this count as an empty one; 0 = unset
	// Hard is DoNotSchedule; otherwise ScheduleAnyway, a wish.
	Hard bool
	// Selector picks the pods that count, in the pod's own namespace; matchLabelKeys are folded in by the door.
	Selector *Selector
	// HonorAffinity counts only domains of nodes that the pod's node selector and required affinity accept
	// (nodeAffinityPolicy, Honor by default); HonorTaints only those whose taints it tolerates (nodeTaintsPolicy, Ignore by
	// default).
	HonorAffinity, HonorTaints bool
}

// PodTerm is one pod affinity or anti-affinity term: pods that Selector picks in the namespaces, by domains of Key.
type PodTerm struct {
	Key      string
	Selector *Selector // matchLabelKeys and mismatchLabelKeys are folded in by the door
	// Namespaces are the names given, sorted; when neither names nor a selector were given, the pod's own.
	Namespaces []string
	// NamespaceSelector picks more namespaces by their labels (World.Namespaces); nil picks none, an empty one all.
	NamespaceSelector *Selector
}

// Preference is a wish with a weight from 1 to 100. Exactly one of Node and Pod is set.
type Preference struct {
	Weight int32
	Node   Term     // preferred node affinity
	Pod    *PodTerm // preferred pod affinity, or anti-affinity when Anti is set
	Anti   bool
}

// HostPort is a port of the node that a pod takes for itself.
type HostPort struct {
	IP       string // "" means every address
	Protocol string // "TCP", "UDP", "SCTP"
	Port     int32
}

// Volume is a persistent volume as scheduling sees it.
type Volume struct {
	// ID names the volume (or the claim that has none yet): pods on one node that share it attach it once.
	ID string
	// Driver is the CSI driver whose attach limit it counts against; "" = none.
	Driver string
	// Terms are the OR-ed alternatives of where it can be reached (the volume's node affinity, or the topologies that its
	// storage class allows); nil = anywhere.
	Terms []Term
	// Within are the node labels in each of which its pods' nodes have to be alike, sorted: it is yet to be made, and will be reached from nodes that
	// are like the first pod's. nil = it is there, or is reached from everywhere.
	Within []string
	// OnePod is set when its claim lets one pod use it at a time, wherever that runs (access mode ReadWriteOncePod).
	OnePod bool
	// Said is how people know it, "claim shop/data (volume pvc-7)"; "" = by its ID. Nothing is decided by it.
	Said string
}

// String is how people know the volume.
func (v Volume) String() string {
	switch {
	case v.Said != "":
		return v.Said
	case strings.HasPrefix(v.ID, "claim "):
		return v.ID
	}
	return "volume " + v.ID
}

// Namespace is a namespace and its labels.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// ObjectKey returns the name.
func (n Namespace) ObjectKey() string { return n.Name }
