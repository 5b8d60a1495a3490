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
	// AnnotationPause on a pool names what of it is on hold: provisioning, disruption, drift, separated by commas, or all.
	AnnotationPause = "karpenter.azure.com/pause"
	// AnnotationDriftMinAge on a pool is how old a node must be to be replaced for drift, such as "24h".
	AnnotationDriftMinAge = "karpenter.azure.com/drift-min-age"
	// AnnotationDriftCanary on a pool is how many drifted nodes are replaced first, such as "1" or "10%"; the others follow when as
	// many new ones have been healthy for AnnotationDriftSoak, such as "1h" (DefaultSoak).
	AnnotationDriftCanary = "karpenter.azure.com/drift-canary"
	AnnotationDriftSoak   = "karpenter.azure.com/drift-soak"
	// AnnotationReplacesDrifted on a claim names the pool of the drifted node that it was bought for; AnnotationDriftFailed counts on
	// a claim the replacements for drift in a row that did not come, and says when the last did not (disrupt.Brakes).
	AnnotationReplacesDrifted = "karpenter.azure.com/replaces-drifted"
	AnnotationDriftFailed     = "karpenter.azure.com/drift-failed"
	// AnnotationPinImages on a class is "true" where it is to keep the node images that its status lists.
	AnnotationPinImages = "karpenter.azure.com/pin-images"
	// AnnotationDisruptionMode on a pool is observe where its nodes are only to be judged, and not to leave.
	AnnotationDisruptionMode = "karpenter.azure.com/disruption-mode"

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
	// GraceElapsed is the reason of VolumesDetached=False: nobody waits for the volumes any more.
	GraceElapsed     = "TerminationGracePeriodElapsed"
	DisruptionReason = "DisruptionReason"
	// ConsistentStateFound says whether the node has what was bought. Nothing is decided by it.
	ConsistentStateFound = "ConsistentStateFound"

	ValidationSucceeded    = "ValidationSucceeded"
	NodeClassReady         = "NodeClassReady"
	InstanceTypesFound     = "InstanceTypesFound" // of a pool (only here): there once its requirements left no offering
	DisruptionValid        = "DisruptionValid"    // of a pool (only here): there once a budget or annotation about disruption could not be read
	FeaturesServed         = "FeaturesServed"     // of a pool (only here): there once a kind that a feature gate asks for was not served
	Paused                 = "Paused"             // of a pool (only here): there once something of it was on hold
	NodeRegistrationHealth = "NodeRegistrationHealthy"

	// Of nodes, written by AKS' agents on them: a spot machine is taken back; another scheduled event of the machine; whether the node works.
	PreemptionScheduled = "PreemptionScheduled"
	VMEventScheduled    = "VMEventScheduled"
	NodeHealthy         = "kubernetes.azure.com/NodeHealthy"

	ImagesReady            = "ImagesReady"
	KubernetesVersionReady = "KubernetesVersionReady"
	SubnetsReady           = "SubnetsReady"
	LocalDNSReady          = "LocalDNSReady"
)
