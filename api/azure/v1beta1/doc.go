// Package v1beta1 answers: what may a person write in an AKSNodeClass, and what does it mean?
//
// It holds the Go types behind the karpenter.azure.com/v1beta1 CRD with their defaults and rules, the drift hash of the
// spec, and the translation to model.Class. It reads no cluster and no cloud, and it does not decide what a class is
// good for. Names of Go types and fields are part of the contract: the drift hash is computed over them, and existing
// clusters carry its value in annotations.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.azure.com
package v1beta1
