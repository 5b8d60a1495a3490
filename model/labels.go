package model

// Labels, annotations, taints and finalizers that users of Karpenter have today: the wire contract.
// Source: the karpenter.sh/v1 API and the karpenter.azure.com provider's published labels.
const (
	LabelPool         = "karpenter.sh/nodepool"
	LabelCapacityType = "karpenter.sh/capacity-type"
	LabelRegistered   = "karpenter.sh/registered"
	LabelInitialized  = "karpenter.sh/initialized"
	// LabelDoNotSyncTaints on a node keeps registration from copying the claim's taints onto it: the kubelet
	// registered with them already.
	LabelDoNotSyncTaints = "karpenter.sh/do-not-sync-taints"

	LabelInstanceType = "node.kubernetes.io/instance-type"
	LabelZone         = "topology.kubernetes.io/zone"
	LabelRegion       = "topology.kubernetes.io/region"
	LabelArch         = "kubernetes.io/arch"
	LabelOS           = "kubernetes.io/os"
	LabelHostname     = "kubernetes.io/hostname"
	LabelExcludeLB    = "node.kubernetes.io/exclude-from-external-load-balancers"

	AnnotationDoNotDisrupt    = "karpenter.sh/do-not-disrupt"
	AnnotationPoolHash        = "karpenter.sh/nodepool-hash"
	AnnotationPoolHashVersion = "karpenter.sh/nodepool-hash-version"
	// AnnotationMinValuesRelaxed is "true" on claims that show fewer distinct values than their pool's minValues ask for.
	AnnotationMinValuesRelaxed = "karpenter.sh/nodeclaim-min-values-relaxed"
	// AnnotationTerminationTime (RFC 3339) is the moment at which a leaving node's grace ends.
	AnnotationTerminationTime = "karpenter.sh/nodeclaim-termination-timestamp"
	// AnnotationMove on a claim says which move its node leaves by, and what replaces it (disrupt.Record).
	AnnotationMove = "karpenter.azure.com/disruption-move"
	// AnnotationMinimumSaving on a pool is the least share of what leaves that a replacement has to save, such as "10%".
	AnnotationMinimumSaving = "karpenter.azure.com/minimum-saving"

	TaintUnregistered = "karpenter.sh/unregistered"
	TaintDisrupted    = "karpenter.sh/disrupted"

	// Finalizer keeps claims and nodes until everything that belongs to them is gone; ClassFinalizer keeps a class of
	// Azure while claims use it.
	Finalizer      = "karpenter.sh/termination"
	ClassFinalizer = "karpenter.azure.com/termination"
)

// Capacity types, the values of LabelCapacityType.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
	Reserved = "reserved"
)

// Condition types of claims, pools and classes.
const (
	Launched            = "Launched"
	Registered          = "Registered"
	Initialized         = "Initialized"
	Ready               = "Ready"
	Consolidatable      = "Consolidatable"
	Drifted             = "Drifted"
	Drained             = "Drained"
	VolumesDetached     = "VolumesDetached"
	InstanceTerminating = "InstanceTerminating"
	DisruptionReason    = "DisruptionReason"

	ValidationSucceeded    = "ValidationSucceeded"
	NodeClassReady         = "NodeClassReady"
	InstanceTypesFound     = "InstanceTypesFound" // of a pool (only here): there once its requirements left no offering
	FeaturesServed         = "FeaturesServed"     // of a pool (only here): there once a kind that a feature gate asks for was not served
	NodeRegistrationHealth = "NodeRegistrationHealthy"

	ImagesReady            = "ImagesReady"
	KubernetesVersionReady = "KubernetesVersionReady"
	SubnetsReady           = "SubnetsReady"
	LocalDNSReady          = "LocalDNSReady"
)
