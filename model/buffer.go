package model

// Buffer is room that is kept free for pods to come (users say CapacityBuffer).
type Buffer struct {
	Namespace, Name, UID string
	Generation           int64
	// Strategy says who acts on it; "" means BufferActive, the only one that is ours.
	Strategy string
	// Exactly one of Template, the name of a PodTemplate, and Scalable says what its pods look like; a buffer with
	// neither is a mistake.
	Template string
	Scalable *ScalableRef
	// Replicas is how many pods it has room for; Percentage that many per cent of what Scalable has. nil = not said.
	Replicas, Percentage *int32
	// Limits bounds what all its pods ask for together, in the units of the resource's column; nil = no limit.
	Limits map[string]int64

	// What status says now. StatusReplicas is nil before anything was written.
	Conditions               []Condition
	StatusReplicas           *int32
	StatusTemplate           string
	StatusTemplateGeneration int64
	StatusStrategy           string
	// Unreadable names what of the object could not be read and is left out here; "" = nothing. See Aside.
	Unreadable string
}

// BufferActive is the strategy of buffers for which machines are bought.
const BufferActive = "buffer.x-k8s.io/active-capacity"

// Condition types of buffers.
const (
	ReadyForProvisioning = "ReadyForProvisioning"
	Provisioning         = "Provisioning"
)

// Key names the buffer. Its pods have keys of their own.
func (b Buffer) Key() PodKey { return PodKey{b.Namespace, b.Name} }

// ObjectKey returns namespace and name.
func (b Buffer) ObjectKey() string { return b.Namespace + "/" + b.Name }

// ScalableRef names something in the buffer's namespace that keeps pods of one shape.
type ScalableRef struct {
	Group string // "" means apps
	Kind  string // KindDeployment, KindStatefulSet or KindReplicaSet; anything else is not known
	Name  string
}

// Template is the shape of pods that something in the cluster makes, or could make.
type Template struct {
	Kind            string // one of the kinds below
	Namespace, Name string
	Generation      int64
	Replicas        int32 // wanted; 0 for a PodTemplate
	Pod             Pod   // never bound
}

// Kinds of templates.
const (
	KindPodTemplate = "PodTemplate"
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindReplicaSet  = "ReplicaSet"
)

// ObjectKey returns kind, namespace and name.
func (t Template) ObjectKey() string { return t.Kind + "/" + t.Namespace + "/" + t.Name }
