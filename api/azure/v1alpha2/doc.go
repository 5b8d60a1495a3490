// Package v1alpha2 answers: what does the old version of AKSNodeClass look like?
//
// It has the same schema as v1beta1 and is served for people who still write it; the API server converts by changing
// the version only. Nothing in the controller reads it.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.azure.com
package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
)

// Version is the name of this version.
const Version = "v1alpha2"

// GroupVersion returns karpenter.azure.com/v1alpha2.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v1beta1.Group, Version: Version}
}

// AddToScheme teaches a scheme the types of this package. It may be called more than once.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &AKSNodeClass{}, &AKSNodeClassList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

// AKSNodeClass says how machines of AKS are built. NodePools name one in their nodeClassRef.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=aksnodeclasses,scope=Cluster,categories={karpenter,nap},shortName={aksnc,aksncs}
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="ImageFamily",type=string,JSONPath=".spec.imageFamily",priority=1
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="use v1beta1.AKSNodeClass instead"
type AKSNodeClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person asks for.
	// +optional
	Spec v1beta1.AKSNodeClassSpec `json:"spec,omitempty"`
	// status is what the controller found.
	// +optional
	Status v1beta1.AKSNodeClassStatus `json:"status,omitempty"`
}

// AKSNodeClassList is a list of classes.
// +kubebuilder:object:root=true
type AKSNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AKSNodeClass `json:"items"`
}
