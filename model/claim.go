package model

import "time"

// Claim is a promise to turn one offering into one ready node (users say NodeClaim).
//
//	created ──Launch──▶ launched ──node joins──▶ registered ──ready──▶ initialized
//	   │                    │                        │                     │
//	   └──────── failure, timeout, expiry, emptiness, a person's delete ───┘
//	                                     │
//	                                     ▼
//	           deleting: node drained ▶ volumes detached ▶ instance gone ▶ finalizer dropped
//
// Everything a restart needs stands in the object or in the cloud; nothing stands only in memory.
type Claim struct {
	Name        string
	UID         string
	Pool        string // "" for a claim made by hand
	PoolUID     string
	Class       ClassRef
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
	Finalizers  []string

	Requirements           []Requirement
	Requests               Resources
	Taints, StartupTaints  []Taint
	ExpireAfter            *time.Duration // nil = never
	TerminationGracePeriod *time.Duration // nil = wait for ever

	Created   time.Time
	DeletedAt time.Time // zero = not deleting

	ProviderID, NodeName, ImageID string
	Capacity, Allocatable         Resources
	LastPodEvent                  time.Time
	Conditions                    []Condition
	// Unreadable names what of the object could not be read and is left out here; "" = nothing. See Aside.
	Unreadable string
}

// Deleting reports whether someone asked for the claim to go.
func (c Claim) Deleting() bool { return !c.DeletedAt.IsZero() }

// Offering is what the claim's machine was bought as; its parts are empty before.
func (c *Claim) Offering() OfferingKey {
	return OfferingKey{Type: c.Labels[LabelInstanceType], Zone: c.Labels[LabelZone], CapacityType: c.Labels[LabelCapacityType]}
}

// Is reports whether the condition of the given type is True.
func (c Claim) Is(typ string) bool { return IsTrue(c.Conditions, typ) }

// Node is a machine that joined the cluster.
type Node struct {
	Name        string
	UID         string
	ProviderID  string
	Created     time.Time
	DeletedAt   time.Time
	Labels      map[string]string
	Annotations map[string]string
	Finalizers  []string
	Taints      []Taint
	Cordoned    bool
	Capacity    Resources
	Allocatable Resources
	Ready       Status
	ReadySince  time.Time
	ReadyReason string
	// Conditions are those that KeptOfNode names; Ready stands above.
	Conditions []Condition
	// AttachLimits bounds, per CSI driver, how many volumes the node can have attached (CSINode); a missing driver is no
	// bound.
	AttachLimits map[string]int64
	// KubeletVersion as the node reports it, "v1.37.1".
	KubeletVersion string
}

// Deleting reports whether someone asked for the node to go.
func (n Node) Deleting() bool { return !n.DeletedAt.IsZero() }

// Managed reports whether the node is one of ours: it carries a pool label.
func (n Node) Managed() bool { return n.Labels[LabelPool] != "" }

// HasTaint reports whether the node carries a taint with this key.
func (n Node) HasTaint(key string) bool {
	for _, t := range n.Taints {
		if t.Key == key {
			return true
		}
	}
	return false
}

// InstanceState is how far a machine has come at the cloud.
type InstanceState string

// The states of an instance.
const (
	Pending  InstanceState = "pending"  // accepted, not there yet
	Running  InstanceState = "running"  // there
	Failed   InstanceState = "failed"   // accepted, then refused; Failure says why
	Stopping InstanceState = "deleting" // on its way out
	// Stopped is a machine that was there and that somebody switched off: nothing runs on it, and it does not come back by
	// itself. Only a look at the one machine tells (cloud.Fleet.Get); a list may show it as Running.
	Stopped InstanceState = "stopped"
)

// Instance is a machine as the cloud sees it.
type Instance struct {
	ID       string // provider id, as the node will report it
	Name     string
	Claim    string // name of the claim it was bought for; "" when unknown
	ClaimUID string // "" when unknown
	Pool     string
	Offering OfferingKey
	ImageID  string
	State    InstanceState
	// FailureCode and FailureText say why State is Failed. The code is one of package cloud's.
	FailureCode, FailureText string
	// FailureReason is the cloud's own code for it, "" = none; it is shown and counted, never acted upon.
	FailureReason string
	Created       time.Time // zero when the cloud does not say
	Tags          map[string]string
}
