package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KubeletConfiguration holds the flags of the kubelet that a class may set.
// +kubebuilder:validation:XValidation:message="imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent",rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent"
type KubeletConfiguration struct {
	// cpuManagerPolicy static gives whole cores to guaranteed pods that ask for whole cores.
	// +kubebuilder:validation:Enum:={none,static}
	// +default="none"
	// +optional
	CPUManagerPolicy *string `json:"cpuManagerPolicy,omitempty"`
	// cpuCFSQuota enforces CPU limits.
	// +default=true
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
	// cpuCFSQuotaPeriod is the accounting period of CPU limits, from 1ms to 1s.
	// +default="100ms"
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:message="cpuCFSQuotaPeriod must be from 1ms to 1s",rule="duration(self) >= duration('1ms') && duration(self) <= duration('1s')"
	// +optional
	CPUCFSQuotaPeriod metav1.Duration `json:"cpuCFSQuotaPeriod,omitempty"`
	// imageGCHighThresholdPercent is how full the disk may be before unused images are removed. Set without the low
	// threshold to 80 or less, it takes that along, 5 below.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// imageGCLowThresholdPercent is how full the disk may stay once unused images are being removed. Set without the high
	// threshold to 85 or more, it takes that along, 5 above.
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=99
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// topologyManagerPolicy says how strictly CPU and devices of a pod must be close to each other.
	// +kubebuilder:validation:Enum:={restricted,best-effort,none,single-numa-node}
	// +default="none"
	// +optional
	TopologyManagerPolicy *string `json:"topologyManagerPolicy,omitempty"`
	// allowedUnsafeSysctls lists kernel settings that pods may change, by name or with a trailing "*". The kubelet starts
	// only with settings that it knows to belong to a pod: kernel.sem, kernel.shm*, kernel.msg*, fs.mqueue.* and net.*.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(kernel[./](sem|shm(\*|all|max|mni|_rmid_forced)|msg(\*|max|mnb|mni))|(net[./]|fs\.mqueue\.|fs/mqueue/)([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*])$`
	// +optional
	AllowedUnsafeSysctls []string `json:"allowedUnsafeSysctls,omitempty"`
	// containerLogMaxSize is how large a container's log may grow before it is rotated, such as "50Mi"; below 100Ti.
	// +kubebuilder:validation:Pattern=`^([0-9]{1,11}Ki?|[0-9]{1,8}Mi?|[0-9]{1,5}Gi?|[0-9]{1,2}Ti?)$`
	// +default="50Mi"
	// +optional
	ContainerLogMaxSize *string `json:"containerLogMaxSize,omitempty"`
	// containerLogMaxFiles is how many log files are kept per container.
	// +kubebuilder:validation:Minimum:=2
	// +default=5
	// +optional
	ContainerLogMaxFiles *int32 `json:"containerLogMaxFiles,omitempty"`
	// podPidsLimit is how many processes a pod may have; -1 means no limit.
	// +optional
	PodPidsLimit *int64 `json:"podPidsLimit,omitempty"`
	// failSwapOn keeps the kubelet from starting on a machine with swap. The controller accepts it and does not act on
	// it yet.
	// +optional
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
}
