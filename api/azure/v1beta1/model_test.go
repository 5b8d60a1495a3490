package v1beta1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-aks/karpenter/model"
)

func TestModelOfAnEmptySpecHasTheDefaults(t *testing.T) {
	got := (&AKSNodeClass{}).Model()
	want := &model.AzureClass{OSDiskSizeGB: 128, ImageFamily: "Ubuntu", GPUMode: "Driver"}
	if d := cmp.Diff(want, got.Azure); d != "" {
		t.Error(d)
	}
	if got.HashVersion != "v3" || got.Hash == "" {
		t.Errorf("hash %q of version %q", got.Hash, got.HashVersion)
	}
}

func TestModelCarriesEverything(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := base()
	c.ObjectMeta = metav1.ObjectMeta{
		Name: "default", UID: "u", Generation: 3, Finalizers: []string{"karpenter.azure.com/termination"},
		Annotations: map[string]string{"a": "b"}, DeletionTimestamp: &metav1.Time{Time: now},
	}
	c.Spec.Kubelet.PodPidsLimit = ptr[int64](-1)
	c.Spec.Security = &Security{EncryptionAtHost: ptr(true), TrustedLaunch: &TrustedLaunch{VTPM: ptr(true), SecureBoot: ptr(true)}}
	c.Spec.LocalDNS = &LocalDNS{Mode: LocalDNSModeDisabled}
	c.Spec.GPU = &GPU{Mode: ptr(GPUModeNone)}
	c.Spec.FIPSMode = ptr(FIPSModeDisabled)
	c.Spec.ArtifactStreaming = &ArtifactStreaming{Enabled: ptr(false)}
	c.Status = AKSNodeClassStatus{
		KubernetesVersion: ptr("1.37.1"),
		Images: []NodeImage{{ID: "img", Requirements: []corev1.NodeSelectorRequirement{
			{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
		}}},
		Conditions: []metav1.Condition{{
			Type: "Ready", Status: "True", Reason: "Ready", Message: "m", ObservedGeneration: 3,
			LastTransitionTime: metav1.Time{Time: now},
		}},
	}
	period := 100 * time.Millisecond
	want := model.Class{
		Ref: model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"},
		UID: "u", Generation: 3, Deleting: true,
		Finalizers:  []string{"karpenter.azure.com/termination"},
		Annotations: map[string]string{"a": "b"},
		Conditions: []model.Condition{{
			Type: "Ready", Status: model.True, Reason: "Ready", Message: "m", Since: now, ObservedGeneration: 3,
		}},
		Hash: c.Hash(), HashVersion: "v3",
		Images: []model.Image{{ID: "img", Requirements: []model.Requirement{
			{Key: "kubernetes.io/arch", Op: model.In, Values: []string{"amd64"}},
		}}},
		KubernetesVersion: "1.37.1",
		Azure: &model.AzureClass{
			VnetSubnetID: "subnet-id", OSDiskSizeGB: 30, ImageFamily: "Ubuntu2204", FIPSMode: "Disabled",
			Tags:    map[string]string{"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
			MaxPods: ptr[int32](100), EncryptionAtHost: true, VTPM: true, SecureBoot: true,
			LocalDNSMode: "Disabled", GPUMode: "None",
			Kubelet: model.AzureKubelet{
				CPUManagerPolicy: "static", CPUCFSQuota: ptr(true), CPUCFSQuotaPeriod: &period,
				ImageGCHighThresholdPercent: ptr[int32](85), ImageGCLowThresholdPercent: ptr[int32](80),
				TopologyManagerPolicy: "none", AllowedUnsafeSysctls: []string{"net.core.somaxconn"},
				ContainerLogMaxSize: "10Mi", ContainerLogMaxFiles: ptr[int32](10), PodPidsLimit: ptr[int64](-1),
			},
		},
	}
	if d := cmp.Diff(want, c.Model()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(c.Status.Images, StatusImages(c.Model().Images)); d != "" {
		t.Errorf("images do not come back: %s", d)
	}
}

func TestFieldsThatAreNotActedOnAreListed(t *testing.T) {
	c := AKSNodeClass{Spec: AKSNodeClassSpec{
		FIPSMode:          ptr(FIPSModeFIPS),
		LocalDNS:          &LocalDNS{Mode: LocalDNSModePreferred},
		ArtifactStreaming: &ArtifactStreaming{Enabled: ptr(true)},
		Kubelet: &KubeletConfiguration{
			CPUCFSQuotaPeriod: metav1.Duration{Duration: 5 * time.Millisecond}, FailSwapOn: ptr(false),
		},
		LinuxOSConfig: &LinuxOSConfiguration{
			SwapFileSize:               ptr("2Gi"),
			Sysctls:                    &SysctlConfiguration{VMSwappiness: ptr[int32](0), NetIPv4TCPTwReuse: ptr(true)},
			TransparentHugePageEnabled: ptr(TransparentHugePageEnabled("never")),
		},
	}}
	want := []string{
		"artifactStreaming.enabled",
		"fipsMode",
		"kubelet.failSwapOn",
		"linuxOSConfig.swapFileSize",
		"linuxOSConfig.sysctls.netIPv4TCPTwReuse",
		"linuxOSConfig.sysctls.vmSwappiness",
		"linuxOSConfig.transparentHugePageEnabled",
		"localDNS",
	}
	if d := cmp.Diff(want, c.Model().Azure.Ignored); d != "" {
		t.Error(d)
	}
}

func TestSchemeKnowsTheTypes(t *testing.T) {
	s := runtime.NewScheme()
	for range 2 {
		if err := AddToScheme(s); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Recognizes(GroupVersion().WithKind(Kind)) || !s.Recognizes(GroupVersion().WithKind(Kind+"List")) {
		t.Error("the scheme does not know AKSNodeClass and its list")
	}
}
