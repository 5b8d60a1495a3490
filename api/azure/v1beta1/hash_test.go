package v1beta1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func ptr[T any](v T) *T { return &v }

// base is a class whose hash is published, as are those of the single changes below.
func base() *AKSNodeClass {
	return &AKSNodeClass{Spec: AKSNodeClassSpec{
		VNETSubnetID: ptr("subnet-id"),
		OSDiskSizeGB: ptr[int32](30),
		ImageFamily:  ptr("Ubuntu2204"),
		Tags:         map[string]string{"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
		Kubelet: &KubeletConfiguration{
			CPUManagerPolicy:            ptr("static"),
			CPUCFSQuota:                 ptr(true),
			CPUCFSQuotaPeriod:           metav1.Duration{Duration: 100 * time.Millisecond},
			ImageGCHighThresholdPercent: ptr[int32](85),
			ImageGCLowThresholdPercent:  ptr[int32](80),
			TopologyManagerPolicy:       ptr("none"),
			AllowedUnsafeSysctls:        []string{"net.core.somaxconn"},
			ContainerLogMaxSize:         ptr("10Mi"),
			ContainerLogMaxFiles:        ptr[int32](10),
		},
		MaxPods: ptr[int32](100),
	}}
}

// The values are those that version v3 gives in clusters that exist. A change here means that every node of such a
// cluster would look drifted after an upgrade.
func TestHashEqualsThePublishedValues(t *testing.T) {
	override := func(o LocalDNSZoneOverride) []LocalDNSZoneOverride { return []LocalDNSZoneOverride{o} }
	cases := []struct {
		name, want string
		change     func(s *AKSNodeClassSpec)
	}{
		{"base", "4108492229247269128", func(*AKSNodeClassSpec) {}},
		{"subnet", "13971920214979852468", func(s *AKSNodeClassSpec) { s.VNETSubnetID = ptr("subnet-id-2") }},
		{"disk", "7816855636861645563", func(s *AKSNodeClassSpec) { s.OSDiskSizeGB = ptr[int32](40) }},
		{"family", "15616969746300892810", func(s *AKSNodeClassSpec) { s.ImageFamily = ptr("AzureLinux") }},
		{"kubelet", "33638514539106194", func(s *AKSNodeClassSpec) { s.Kubelet.CPUManagerPolicy = ptr("none") }},
		{"pods", "15508761509963240710", func(s *AKSNodeClassSpec) { s.MaxPods = ptr[int32](200) }},
		{"dns mode", "17805442572569734619", func(s *AKSNodeClassSpec) { s.LocalDNS = &LocalDNS{Mode: LocalDNSModeRequired} }},
		{"dns vnet", "14608914734386108436", func(s *AKSNodeClassSpec) {
			s.LocalDNS = &LocalDNS{VnetDNSOverrides: override(LocalDNSZoneOverride{Zone: "example.com", QueryLogging: "Log"})}
		}},
		{"dns kube", "4529827108104295737", func(s *AKSNodeClassSpec) {
			s.LocalDNS = &LocalDNS{KubeDNSOverrides: override(LocalDNSZoneOverride{Zone: "example.com", Protocol: "ForceTCP"})}
		}},
		{"dns cache", "11008649797056761238", func(s *AKSNodeClassSpec) {
			s.LocalDNS = &LocalDNS{VnetDNSOverrides: override(LocalDNSZoneOverride{
				Zone: "example.com", CacheDuration: karpv1.MustParseNillableDuration("1h"),
			})}
		}},
		{"dns stale", "4895720480850206885", func(s *AKSNodeClassSpec) {
			s.LocalDNS = &LocalDNS{VnetDNSOverrides: override(LocalDNSZoneOverride{
				Zone: "example.com", ServeStaleDuration: karpv1.MustParseNillableDuration("30m"),
			})}
		}},
		{"streaming", "15355387647114481444", func(s *AKSNodeClassSpec) {
			s.ArtifactStreaming = &ArtifactStreaming{Enabled: ptr(true)}
		}},
		{"tags do not count", "4108492229247269128", func(s *AKSNodeClassSpec) { s.Tags = map[string]string{"other": "tag"} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			class := base()
			c.change(&class.Spec)
			if got := class.Hash(); got != c.want {
				t.Errorf("hash %s, want %s", got, c.want)
			}
		})
	}
}

func TestHashIgnoresTheOrderOfLists(t *testing.T) {
	a, b := base(), base()
	a.Spec.Kubelet.AllowedUnsafeSysctls = []string{"kernel.msg*", "net.core.somaxconn"}
	b.Spec.Kubelet.AllowedUnsafeSysctls = []string{"net.core.somaxconn", "kernel.msg*"}
	if a.Hash() != b.Hash() {
		t.Errorf("hashes differ: %s and %s", a.Hash(), b.Hash())
	}
	if a.Hash() == base().Hash() {
		t.Error("another sysctl does not change the hash")
	}
}
