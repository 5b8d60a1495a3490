package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AKSNodeClass says how machines of AKS are built. NodePools name one in their nodeClassRef.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=aksnodeclasses,scope=Cluster,categories={karpenter,nap},shortName={aksnc,aksncs}
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="ImageFamily",type=string,JSONPath=".spec.imageFamily",priority=1
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
type AKSNodeClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person asks for.
	// +optional
	Spec AKSNodeClassSpec `json:"spec,omitempty"`
	// status is what the controller found.
	// +optional
	Status AKSNodeClassStatus `json:"status,omitempty"`
}

// AKSNodeClassList is a list of classes.
// +kubebuilder:object:root=true
type AKSNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AKSNodeClass `json:"items"`
}

// AKSNodeClassSpec is what a person may ask of a machine. No field is immutable: a change makes existing machines
// drift, except for tags, which are changed in place.
// +kubebuilder:validation:XValidation:message="fipsMode FIPS is not available with imageFamily Ubuntu2404",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2404'"
// +kubebuilder:validation:XValidation:message="fipsMode FIPS with imageFamily Ubuntu2204 needs security.trustedLaunch to be on",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2204' || (has(self.security) && has(self.security.trustedLaunch) && ((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot)))"
// +kubebuilder:validation:XValidation:message="fipsMode FIPS with security.trustedLaunch needs imageFamily Ubuntu or Ubuntu2204",rule="!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204'] || !has(self.security) || !has(self.security.trustedLaunch) || !((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot))"
// +kubebuilder:validation:XValidation:message="linuxOSConfig.swapFileSize needs kubelet.failSwapOn to be false",rule="!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || (has(self.kubelet) && has(self.kubelet.failSwapOn) && !self.kubelet.failSwapOn)"
type AKSNodeClassSpec struct {
	// vnetSubnetID is the ARM id of the subnet that machines join. Without it, machines join the subnet that the
	// controller was started with.
	// +kubebuilder:validation:Pattern=`(?i)^/subscriptions/[a-z0-9-]+/resourceGroups/[a-zA-Z0-9_\-().]{0,89}[a-zA-Z0-9_\-()]/providers/Microsoft\.Network/virtualNetworks/[a-z0-9_.-]{1,80}/subnets/[a-z0-9_.-]{1,80}$`
	// +optional
	VNETSubnetID *string `json:"vnetSubnetID,omitempty"`
	// osDiskSizeGB is the size of the system disk.
	// +default=128
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=2048
	// +optional
	OSDiskSizeGB *int32 `json:"osDiskSizeGB,omitempty"`
	// ImageID is never read from or written to the API. It stands here because the drift hash counts it.
	ImageID *string `json:"-"`
	// imageFamily chooses the operating system.
	// +default="Ubuntu"
	// +kubebuilder:validation:Enum:={Ubuntu,Ubuntu2204,Ubuntu2404,AzureLinux}
	// +optional
	ImageFamily *string `json:"imageFamily,omitempty"`
	// fipsMode asks for an image with validated cryptography.
	// +optional
	FIPSMode *FIPSMode `json:"fipsMode,omitempty"`
	// tags are put on everything that is bought for a machine. A "/" in a key is written as "_". Changing tags does not
	// replace machines.
	// +kubebuilder:validation:XValidation:message="a tag key must not be longer than 512 characters",rule="self.all(k, size(k) <= 512)"
	// +kubebuilder:validation:XValidation:message="a tag key must not contain any of < > % & ?",rule="self.all(k, !k.matches('[<>%&?]'))"
	// +kubebuilder:validation:XValidation:message="a tag key must not contain a backslash",rule="self.all(k, !k.contains('\\\\'))"
	// +kubebuilder:validation:XValidation:message="a tag value must not be longer than 256 characters",rule="self.all(k, size(self[k]) <= 256)"
	// +optional
	Tags map[string]string `json:"tags,omitempty" hash:"ignore"`
	// kubelet sets flags of the kubelet.
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// maxPods is how many pods a machine may run. Without it, the number follows from the network plugin.
	// +kubebuilder:validation:Minimum:=10
	// +kubebuilder:validation:Maximum:=250
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// security holds settings that protect the machine.
	// +optional
	Security *Security `json:"security,omitempty"`
	// localDNS runs a DNS cache on the machine.
	// +optional
	LocalDNS *LocalDNS `json:"localDNS,omitempty"`
	// gpu says how graphics cards are set up.
	// +optional
	GPU *GPU `json:"gpu,omitempty"`
	// artifactStreaming lets containers start before their image has been downloaded.
	// +optional
	ArtifactStreaming *ArtifactStreaming `json:"artifactStreaming,omitempty"`
	// linuxOSConfig sets kernel and swap settings.
	// +optional
	LinuxOSConfig *LinuxOSConfiguration `json:"linuxOSConfig,omitempty"`
}

// FIPSMode says whether validated cryptography is asked for.
// +kubebuilder:validation:Enum:={FIPS,Disabled}
type FIPSMode string

// The FIPS modes.
const (
	FIPSModeFIPS     FIPSMode = "FIPS"
	FIPSModeDisabled FIPSMode = "Disabled"
)

// Security holds settings that protect a machine.
type Security struct {
	// encryptionAtHost encrypts disks and caches on the physical host. It limits which sizes can be bought.
	// +optional
	EncryptionAtHost *bool `json:"encryptionAtHost,omitempty"`
	// trustedLaunch protects the boot chain. It limits which sizes can be bought.
	// +optional
	TrustedLaunch *TrustedLaunch `json:"trustedLaunch,omitempty"`
}

// TrustedLaunch protects the boot chain of a machine. It is on when either field is true.
type TrustedLaunch struct {
	// vtpm gives the machine a virtual trusted platform module.
	// +default=false
	// +optional
	VTPM *bool `json:"vtpm,omitempty"`
	// secureBoot refuses to boot software that is not signed.
	// +default=false
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty"`
}

// GPU says how graphics cards are set up.
type GPU struct {
	// mode Driver installs the vendor's driver; None leaves the card to the user, and also allows cards for which there
	// is no driver to install.
	// +default="Driver"
	// +optional
	Mode *GPUMode `json:"mode,omitempty"`
}

// GPUMode says who installs the driver.
// +kubebuilder:validation:Enum:={Driver,None}
type GPUMode string

// The GPU modes.
const (
	GPUModeDriver GPUMode = "Driver"
	GPUModeNone   GPUMode = "None"
)

// ArtifactStreaming lets containers start before their image has been downloaded.
type ArtifactStreaming struct {
	// enabled switches it on. The controller accepts it and does not set it up yet; machines do not carry its label.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}
