package model

import "time"

// ClassRef names a class: group, kind and name of a NodeClass object.
type ClassRef struct{ Group, Kind, Name string }

// String prints "AKSNodeClass/default".
func (r ClassRef) String() string { return r.Kind + "/" + r.Name }

// Class says how machines of a cloud are built (users say NodeClass). Exactly one of the cloud fields is set.
type Class struct {
	Ref         ClassRef
	UID         string
	Generation  int64
	Deleting    bool
	Finalizers  []string
	Annotations map[string]string
	Conditions  []Condition
	// Hash is the drift hash of the spec, in the notation of the class' own annotations; HashVersion names its rules.
	Hash, HashVersion string
	Azure             *AzureClass

	// What the cloud said when it was last asked about this class; written to status by the controller.
	Images            []Image
	KubernetesVersion string
	// Unreadable names what of the object could not be read and is left out here; "" = nothing. See Aside.
	Unreadable string
}

// Ready reports whether machines may be built from c: condition Ready is True and was observed for this generation, and we know all
// that it asks for.
func (c Class) Ready() bool {
	r, ok := FindCondition(c.Conditions, Ready)
	return ok && r.Status == True && r.ObservedGeneration == c.Generation && !c.Deleting && c.Unreadable == ""
}

// Image is one machine image a class may use, with the requirements a machine must meet to boot it.
// The order of a list of images is their priority.
type Image struct {
	ID           string
	Requirements []Requirement
}

// AzureClass is the spec of an AKSNodeClass with its defaults applied. Field meanings are those of the published
// API; pointers keep "unset" apart from the zero value, because the drift hash and the kubelet flags need it.
type AzureClass struct {
	VnetSubnetID      string // "" means the controller's own subnet
	OSDiskSizeGB      int32
	ImageFamily       string
	FIPSMode          string
	Tags              map[string]string
	MaxPods           *int32
	Kubelet           AzureKubelet
	EncryptionAtHost  bool
	VTPM, SecureBoot  bool
	LocalDNSMode      string
	GPUMode           string
	ArtifactStreaming bool
	// Ignored lists the spec fields that are set but that this controller does not act on, as dotted paths in
	// sorted order. They are said in a condition, never silently dropped.
	Ignored []string
}

// AzureKubelet is the part of the class that becomes kubelet flags.
type AzureKubelet struct {
	CPUManagerPolicy            string
	CPUCFSQuota                 *bool
	CPUCFSQuotaPeriod           *time.Duration
	ImageGCHighThresholdPercent *int32
	ImageGCLowThresholdPercent  *int32
	TopologyManagerPolicy       string
	AllowedUnsafeSysctls        []string
	ContainerLogMaxSize         string
	ContainerLogMaxFiles        *int32
	PodPidsLimit                *int64
}
