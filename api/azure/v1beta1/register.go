package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names of the API.
const (
	Group   = "karpenter.azure.com"
	Version = "v1beta1"
	Kind    = "AKSNodeClass"
)

// GroupVersion returns karpenter.azure.com/v1beta1.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme teaches a scheme the types of this package. It may be called more than once.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &AKSNodeClass{}, &AKSNodeClassList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
