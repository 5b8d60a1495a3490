// Package kube answers: what do we ask of the cluster?
//
// It is the cluster door: the Store interface in our own words, the patches it takes and the error codes it gives. It
// decides nothing and remembers nothing. The twin is kube/memkube, the real thing kube/apikube, the exam both sit
// kube/storetest.
package kube

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/internal/coded"
	"github.com/karpenter-aks/karpenter/model"
)

// Store reads and changes the cluster. Every method may be repeated safely and called concurrently. Errors are
// *Error (possibly wrapped); callers act on codes.
type Store interface {
	// Follow tells sink every object as it is and then every change, in order per object, until ctx ends (then it
	// returns nil) or the connection cannot be kept (then it returns an error and may be called again; sink then sees
	// everything anew, and objects that vanished meanwhile are absent).
	Follow(ctx context.Context, sink Sink) error

	// CreateClaim writes a new claim with its finalizer. Exists when the name is taken.
	CreateClaim(ctx context.Context, c model.Claim) (model.Claim, error)
	// PatchClaim changes what the patch names and nothing else.
	PatchClaim(ctx context.Context, name string, p ClaimPatch) error
	// DeleteClaim asks for the claim to go; its finalizer keeps it until PatchClaim drops it.
	DeleteClaim(ctx context.Context, name string) error

	// PatchNode changes what the patch names and nothing else.
	PatchNode(ctx context.Context, name string, p NodePatch) error
	// DeleteNode asks for the node object to go; its finalizer keeps it until PatchNode drops it.
	DeleteNode(ctx context.Context, name string) error

	// PatchPool and PatchClass write status, and annotations and finalizers where the patch names them.
	PatchPool(ctx context.Context, name string, p PoolPatch) error
	PatchClass(ctx context.Context, ref model.ClassRef, p ClassPatch) error

	// PatchOverlay and PatchBuffer write status.
	PatchOverlay(ctx context.Context, name string, p OverlayPatch) error
	PatchBuffer(ctx context.Context, key model.PodKey, p BufferPatch) error

	// RemovePod evicts a pod, respecting disruption budgets (Blocked when one forbids it), or deletes it when
	// Removal.Force is set. NotFound when the pod, or a pod of that UID, is gone.
	RemovePod(ctx context.Context, r Removal) error

	// Nominate tells kube-scheduler which node was planned for a waiting pod; a node of "" takes it back. The scheduler
	// tries that node first and keeps its room for the pod, but has the last word. NotFound when the pod, or a pod of that
	// UID, is gone; Invalid when it is on a node already.
	Nominate(ctx context.Context, n Nomination) error

	// Token makes a bootstrap token for a claim, "id.secret", valid until about Until and for TokenLife at most. Asked again
	// by the same process it returns the same one while that is good for as long; a process that made none cannot read what
	// an earlier one made, and makes another. Both are good then.
	Token(ctx context.Context, r TokenRequest) (string, error)
	// DropToken removes the claim's tokens; nil when there is none, and when we may not: they expire.
	DropToken(ctx context.Context, claimUID string) error

	// Cluster says what a new machine must know to join.
	Cluster(ctx context.Context) (model.Cluster, error)
	// MaintenanceWindow is what AKS announces in the ConfigMap upcoming-maintenance-window of the namespace that the controller runs in; zero when
	// it announces none. Invalid when it cannot be read as times; Denied when we may not read it.
	MaintenanceWindow(ctx context.Context) (model.MaintenanceWindow, error)

	// Announce publishes an event to people. Best effort: it never fails and never blocks for long.
	Announce(e Event)
}

// Sink takes what Follow tells. Calls are serial.
type Sink interface {
	// Begin is called once when a Follow starts, before anything else. Without it a sink could not tell an object that
	// an earlier Follow told late from one that this Follow told early, and would keep objects that are gone.
	Begin()
	Apply(c model.Change)
	// Synced is called once everything that existed when Follow began has been applied. Objects that were applied in
	// an earlier Follow but not in this one are gone: the sink forgets them now.
	Synced()
}

// PodSink is a Sink that takes pods by pointer. There may be hundreds of thousands, and each that is in a Change is copied once more.
type PodSink interface {
	Sink
	// ApplyPod is Apply of the pod as it is now. The sink keeps it, and may change it.
	ApplyPod(p *model.Pod)
}

// TellPod tells a sink of a pod as it is now, in the way that costs least. Nobody may use p afterwards.
func TellPod(s Sink, p *model.Pod) {
	if k, ok := s.(PodSink); ok {
		k.ApplyPod(p)
		return
	}
	s.Apply(model.Change{Object: *p})
}

// ClaimPatch changes a claim. Zero fields change nothing.
type ClaimPatch struct {
	UID            string // when set, the patch applies only to this very object (NotFound otherwise)
	Conditions     []model.Condition
	DropConditions []string
	Labels         map[string]string // merged
	Annotations    map[string]string // merged; an empty value takes the annotation away
	ProviderID     string
	NodeName       string
	ImageID        string
	Capacity       *model.Resources
	Allocatable    *model.Resources
	LastPodEvent   time.Time
	AddFinalizer   bool
	DropFinalizer  bool
}

// NodePatch changes a node. Zero fields change nothing.
type NodePatch struct {
	UID           string // when set, the patch applies only to this very object
	Labels        map[string]string
	Annotations   map[string]string
	AddTaints     []model.Taint // replaces taints of the same key and effect
	DropTaints    []string      // by key
	AddFinalizer  bool
	DropFinalizer bool
	// OwnerClaim and OwnerUID, when set, make the claim the node's owner.
	OwnerClaim, OwnerUID string
}

// PoolPatch changes a pool.
type PoolPatch struct {
	Conditions  []model.Condition
	Annotations map[string]string
	Resources   *model.Resources // status.resources
	Nodes       *int64           // status.nodes
	// ClassGeneration is status.nodeClassObservedGeneration; 0 changes nothing.
	ClassGeneration int64
}

// ClassPatch changes a class.
type ClassPatch struct {
	Conditions        []model.Condition
	Annotations       map[string]string
	Images            []model.Image // nil changes nothing
	KubernetesVersion string
	AddFinalizer      bool
	DropFinalizer     bool
}

// OverlayPatch changes the status of an overlay.
type OverlayPatch struct {
	Conditions []model.Condition
}

// BufferPatch changes the status of a buffer. Zero fields change nothing.
type BufferPatch struct {
	Conditions []model.Condition
	// Resolved, when set, is written as a whole: what the buffer was found to mean.
	Resolved *BufferResolved
}

// BufferResolved is what a buffer was found to mean.
type BufferResolved struct {
	Replicas           int32
	Template           string // name of the PodTemplate in use; "" removes it and its generation from the status
	TemplateGeneration int64
	Strategy           string
}

// Removal asks for a pod to leave.
type Removal struct {
	Pod          model.PodKey
	UID          string
	GraceSeconds *int64 // nil = the pod's own
	Force        bool   // delete instead of evict: disruption budgets are not asked
}

// Nomination is a node planned for a pod.
type Nomination struct {
	Pod  model.PodKey
	UID  string
	Node string
}

// TokenLife is how long a bootstrap token lives at most. The chart's admission policy holds us to it.
const TokenLife = 30 * time.Minute

// TokenRequest asks for the bootstrap token of a claim.
type TokenRequest struct {
	Claim, ClaimUID string
	Until           time.Time
}

// EventType is Normal or Warning.
type EventType string

// The event types.
const (
	Normal  EventType = "Normal"
	Warning EventType = "Warning"
)

// Event is something said to people about an object. Equal events within a few minutes are said once.
type Event struct {
	About   model.Object // the object it is about; only the key fields (and UID, when known) are read
	Type    EventType
	Reason  string // the published event reasons: FailedScheduling, Nominated, …
	Message string
	// Minor events give way to others where many wait to be published: what they say can be seen on the object, too.
	Minor bool
}

// Code says what kind of thing went wrong.
type Code string

// The codes.
const (
	NotFound    Code = "not-found"
	Exists      Code = "exists"
	Conflict    Code = "conflict"    // someone else changed it; look again
	Blocked     Code = "blocked"     // a disruption budget forbids it for now
	Invalid     Code = "invalid"     // the API server refused the content
	Denied      Code = "denied"      // we lack the permission
	Unavailable Code = "unavailable" // the API server cannot be reached, or asks us to wait
	// Pruned: the write was done, but for what is Dropped, which the cluster's CRD does not know. Doing it again changes nothing.
	Pruned  Code = "pruned"
	Unknown Code = "unknown"
)

// Dropped are the paths of what a cluster did not keep, sorted. Of errors with the code Pruned.
type Dropped []string

// Error is a refusal of the cluster in our words.
type Error = coded.Error[Code, Dropped]

// CodeOf returns the code of err: "" for nil, Unknown for errors that carry none.
func CodeOf(err error) Code { return coded.Of[Code, Dropped](err, Unknown) }

// Errorf builds an *Error whose text wraps like fmt.Errorf.
func Errorf(code Code, format string, args ...any) *Error {
	return coded.Errorf[Code, Dropped](code, format, args...)
}
