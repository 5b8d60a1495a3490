package v1beta1

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// Defaults of fields that the API server fills in. Model applies them again, for objects that never passed through it.
const (
	DefaultOSDiskSizeGB = 128
	DefaultImageFamily  = "Ubuntu"
)

// Model returns the class in our words, with defaults applied. The result shares no memory with c.
func (c *AKSNodeClass) Model() model.Class {
	out := model.Class{
		Ref:         model.ClassRef{Group: Group, Kind: Kind, Name: c.Name},
		UID:         string(c.UID),
		Generation:  c.Generation,
		Deleting:    !c.DeletionTimestamp.IsZero(),
		Finalizers:  slices.Clone(c.Finalizers),
		Annotations: maps.Clone(c.Annotations),
		Conditions:  conditions(c.Status.Conditions),
		Hash:        c.Hash(),
		HashVersion: HashVersion,
		Azure:       c.Spec.azure(),
		Images:      images(c.Status.Images),
	}
	out.KubernetesVersion = orZero(c.Status.KubernetesVersion)
	return out
}

func (s *AKSNodeClassSpec) azure() *model.AzureClass {
	a := &model.AzureClass{
		VnetSubnetID: orZero(s.VNETSubnetID),
		OSDiskSizeGB: or(s.OSDiskSizeGB, DefaultOSDiskSizeGB),
		ImageFamily:  or(s.ImageFamily, DefaultImageFamily),
		FIPSMode:     string(orZero(s.FIPSMode)),
		Tags:         maps.Clone(s.Tags),
		MaxPods:      clone(s.MaxPods),
		GPUMode:      string(GPUModeDriver),
		Ignored:      s.ignored(),
	}
	if k := s.Kubelet; k != nil {
		a.Kubelet = k.model()
	}
	if sec := s.Security; sec != nil {
		a.EncryptionAtHost = orZero(sec.EncryptionAtHost)
		if t := sec.TrustedLaunch; t != nil {
			a.VTPM, a.SecureBoot = orZero(t.VTPM), orZero(t.SecureBoot)
		}
	}
	if s.LocalDNS != nil {
		a.LocalDNSMode = string(s.LocalDNS.Mode)
	}
	if s.GPU != nil {
		a.GPUMode = string(or(s.GPU.Mode, GPUModeDriver))
	}
	if s.ArtifactStreaming != nil {
		a.ArtifactStreaming = orZero(s.ArtifactStreaming.Enabled)
	}
	return a
}

func (k *KubeletConfiguration) model() model.AzureKubelet {
	out := model.AzureKubelet{
		CPUManagerPolicy:            orZero(k.CPUManagerPolicy),
		CPUCFSQuota:                 clone(k.CPUCFSQuota),
		ImageGCHighThresholdPercent: clone(k.ImageGCHighThresholdPercent),
		ImageGCLowThresholdPercent:  clone(k.ImageGCLowThresholdPercent),
		TopologyManagerPolicy:       orZero(k.TopologyManagerPolicy),
		AllowedUnsafeSysctls:        slices.Clone(k.AllowedUnsafeSysctls),
		ContainerLogMaxSize:         orZero(k.ContainerLogMaxSize),
		ContainerLogMaxFiles:        clone(k.ContainerLogMaxFiles),
		PodPidsLimit:                clone(k.PodPidsLimit),
	}
	if d := k.CPUCFSQuotaPeriod.Duration; d != 0 {
		out.CPUCFSQuotaPeriod = &d
	}
	return out
}

// ignored lists the fields that are set, that ask for something other than what a machine does anyway, and that the
// controller does not act on. Paths are those of the spec, sorted.
func (s *AKSNodeClassSpec) ignored() []string {
	var out []string
	add := func(set bool, path string) {
		if set {
			out = append(out, path)
		}
	}
	add(s.FIPSMode != nil && *s.FIPSMode == FIPSModeFIPS, "fipsMode")
	add(s.LocalDNS != nil && s.LocalDNS.Mode != LocalDNSModeDisabled, "localDNS")
	add(s.ArtifactStreaming != nil && orZero(s.ArtifactStreaming.Enabled), "artifactStreaming.enabled")
	if k := s.Kubelet; k != nil {
		add(k.FailSwapOn != nil && !*k.FailSwapOn, "kubelet.failSwapOn")
	}
	if s.LinuxOSConfig != nil {
		out = append(out, setFields("linuxOSConfig", reflect.ValueOf(*s.LinuxOSConfig))...)
	}
	slices.Sort(out)
	return out
}

// setFields returns the paths of the leaves below v that are set, by their JSON names.
func setFields(path string, v reflect.Value) []string {
	var out []string
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		leaf := path + "." + name
		if f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.Struct {
			out = append(out, setFields(leaf, f.Elem())...)
			continue
		}
		out = append(out, leaf)
	}
	return out
}

func conditions(list []metav1.Condition) []model.Condition {
	var out []model.Condition
	for _, c := range list {
		out = append(out, model.Condition{
			Type: c.Type, Status: model.Status(c.Status), Reason: c.Reason, Message: c.Message,
			Since: c.LastTransitionTime.UTC(), ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

func images(list []NodeImage) []model.Image {
	var out []model.Image
	for _, i := range list {
		out = append(out, model.Image{ID: i.ID, Requirements: requirements(i.Requirements)})
	}
	return out
}

func requirements(list []corev1.NodeSelectorRequirement) []model.Requirement {
	var out []model.Requirement
	for _, r := range list {
		out = append(out, model.Requirement{Key: r.Key, Op: model.Operator(r.Operator), Values: slices.Clone(r.Values)})
	}
	return out
}

// StatusImages is the reverse of what Model does to status.images: the images as the status holds them.
func StatusImages(list []model.Image) []NodeImage {
	out := make([]NodeImage, 0, len(list))
	for _, i := range list {
		n := NodeImage{ID: i.ID, Requirements: make([]corev1.NodeSelectorRequirement, 0, len(i.Requirements))}
		for _, r := range i.Requirements {
			n.Requirements = append(n.Requirements, corev1.NodeSelectorRequirement{
				Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Op), Values: slices.Clone(r.Values),
			})
		}
		out = append(out, n)
	}
	return out
}

func or[T any](p *T, d T) T {
	if p == nil {
		return d
	}
	return *p
}

func orZero[T any](p *T) T {
	var zero T
	return or(p, zero)
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
