package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AKSNodeClassStatus is what the controller found about a class.
type AKSNodeClassStatus struct {
	// images lists the images new machines may boot, best first.
	// +optional
	Images []NodeImage `json:"images,omitempty"`
	// kubernetesVersion is the version new machines run.
	// +optional
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`
	// localDNSState says whether new machines run the DNS cache.
	// +optional
	LocalDNSState *LocalDNSState `json:"localDNSState,omitempty"`
	// conditions say what is ready and what is not: ImagesReady, KubernetesVersionReady, SubnetsReady,
	// ValidationSucceeded, LocalDNSReady and, when all are true, Ready.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeImage is an image with what a machine must be like to boot it.
type NodeImage struct {
	// id is the image's id in a gallery.
	// +required
	ID string `json:"id"`
	// requirements are labels that a machine must have to boot the image.
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// LocalDNSState says whether the DNS cache runs.
// +kubebuilder:validation:Enum:={Enabled,Disabled}
type LocalDNSState string

// The states.
const (
	LocalDNSStateEnabled  LocalDNSState = "Enabled"
	LocalDNSStateDisabled LocalDNSState = "Disabled"
)
