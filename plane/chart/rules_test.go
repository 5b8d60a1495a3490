package chart

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/admit"
)

// check returns the object with its defaults and everything for which the API server refuses it.
func check(t *testing.T, s *admit.Server, text string) (map[string]any, string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	o, faults, known, err := s.Create(raw)
	if err != nil || !known {
		t.Fatalf("known: %v, %v: %s", known, err, text)
	}
	var out []string
	for _, f := range faults {
		out = append(out, f.String())
	}
	return o, strings.Join(out, "\n")
}

func zone(name, more string) string {
	fields := map[string]string{
		"queryLogging": "Error", "protocol": "PreferUDP", "forwardDestination": "VnetDNS", "forwardPolicy": "Random",
		"maxConcurrent": "10", "cacheDuration": "1h", "serveStaleDuration": "30m", "serveStale": "Immediate",
	}
	if strings.HasSuffix(name, "cluster.local") {
		fields["forwardDestination"] = "ClusterCoreDNS"
	}
	for _, kv := range strings.Fields(more) {
		k, v, _ := strings.Cut(kv, "=")
		fields[k] = v
	}
	out := []string{`zone: "` + name + `"`}
	for k, v := range fields {
		if v != "-" {
			out = append(out, k+": "+v)
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func vnetZones(zones ...string) string {
	return "localDNS: {mode: Required, vnetDNSOverrides: [" + strings.Join(zones, ", ") + "]}"
}

// Each line is a spec and a part of what the API server says about it; "" means it is taken.
func TestClassRules(t *testing.T) {
	root, cluster := zone(".", ""), zone("cluster.local", "")
	cases := []struct{ spec, want string }{
		{"{}", ""},
		{"vnetSubnetID: /subscriptions/s/resourcegroups/g/providers/microsoft.network/virtualNetworks/v/subnets/n", ""},
		{"vnetSubnetID: my-subnet", "spec.vnetSubnetID"},
		{"osDiskSizeGB: 29", "greater than or equal to 30"},
		{"osDiskSizeGB: 2049", "less than or equal to 2048"},
		{"imageFamily: Windows", `supported values: "Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"`},
		{"maxPods: 9", "greater than or equal to 10"},
		{"maxPods: 251", "less than or equal to 250"},
		{"tags: {team: platform, a/b: c}", ""},
		{`tags: {"a<b": c}`, "must not contain any of"},
		{`tags: {'a\b': c}`, "backslash"},
		{"tags: {" + strings.Repeat("k", 513) + ": c}", "512"},
		{"tags: {k: " + strings.Repeat("v", 257) + "}", "256"},
		{"fipsMode: FIPS", ""},
		{"{fipsMode: FIPS, imageFamily: Ubuntu2404}", "not available with imageFamily Ubuntu2404"},
		{"{fipsMode: Disabled, imageFamily: Ubuntu2404}", ""},
		{"{fipsMode: FIPS, imageFamily: Ubuntu2204}", "needs security.trustedLaunch"},
		{"{fipsMode: FIPS, imageFamily: Ubuntu2204, security: {trustedLaunch: {vtpm: true}}}", ""},
		{"{fipsMode: FIPS, imageFamily: AzureLinux, security: {trustedLaunch: {secureBoot: true}}}", "needs imageFamily Ubuntu or Ubuntu2204"},
		{"{fipsMode: FIPS, imageFamily: AzureLinux, security: {trustedLaunch: {}}}", ""},
		{"kubelet: {imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80}", "must be greater"},
		{"kubelet: {imageGCHighThresholdPercent: 81, imageGCLowThresholdPercent: 80}", ""},
		{"vnetSubnetID: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n\"; id'", "spec.vnetSubnetID"},
		{`kubelet: {allowedUnsafeSysctls: ["kernel.shm*", "net.core.somaxconn"]}`, ""},
		{`kubelet: {allowedUnsafeSysctls: ["kernel.shm*\nJUNK="]}`, "spec.kubelet.allowedUnsafeSysctls[0]"},
		{`kubelet: {allowedUnsafeSysctls: ["kernel.shm* --anonymous-auth=true"]}`, "spec.kubelet.allowedUnsafeSysctls[0]"},
		{`kubelet: {allowedUnsafeSysctls: [vm.swappiness]}`, "spec.kubelet.allowedUnsafeSysctls[0]"},
		{"kubelet: {allowedUnsafeSysctls: [" + strings.Repeat("net.x, ", 65) + "]}", "64"},
		{"kubelet: {cpuCFSQuotaPeriod: 10ms}", ""},
		{"kubelet: {cpuCFSQuotaPeriod: 2s}", "must be from 1ms to 1s"},
		{"kubelet: {cpuCFSQuotaPeriod: soon}", "spec.kubelet.cpuCFSQuotaPeriod"},
		{"kubelet: {imageGCHighThresholdPercent: 0}", "greater than or equal to 1"},
		{"kubelet: {containerLogMaxSize: 9999999Ei}", "spec.kubelet.containerLogMaxSize"},
		{"kubelet: {imageGCHighThresholdPercent: 101}", "less than or equal to 100"},
		{"kubelet: {cpuManagerPolicy: dynamic}", "spec.kubelet.cpuManagerPolicy"},
		{"kubelet: {topologyManagerPolicy: all}", "spec.kubelet.topologyManagerPolicy"},
		{"kubelet: {containerLogMaxSize: 50MB}", "spec.kubelet.containerLogMaxSize"},
		{"kubelet: {containerLogMaxFiles: 1}", "greater than or equal to 2"},
		{"gpu: {mode: Passthrough}", "spec.gpu.mode"},
		{"linuxOSConfig: {swapFileSize: 2Gi}", "needs kubelet.failSwapOn to be false"},
		{"{linuxOSConfig: {swapFileSize: 2Gi}, kubelet: {failSwapOn: true}}", "needs kubelet.failSwapOn to be false"},
		{"{linuxOSConfig: {swapFileSize: 2Gi}, kubelet: {failSwapOn: false}}", ""},
		{"linuxOSConfig: {transparentHugePageDefrag: defer+madvise, transparentHugePageEnabled: never}", ""},
		{"linuxOSConfig: {transparentHugePageEnabled: defer}", "transparentHugePageEnabled"},
		{"linuxOSConfig: {sysctls: {vmSwappiness: 101}}", "less than or equal to 100"},
		{"linuxOSConfig: {sysctls: {netCoreRmemDefault: 300000, netCoreRmemMax: 212992}}", "netCoreRmemDefault must not be above"},
		{"linuxOSConfig: {sysctls: {netCoreWmemDefault: 300000, netCoreWmemMax: 212992}}", "netCoreWmemDefault must not be above"},
		{"linuxOSConfig: {sysctls: {netIPv4NeighDefaultGcThresh1: 600, netIPv4NeighDefaultGcThresh2: 512}}", "GcThresh1 must not be above"},
		{"linuxOSConfig: {sysctls: {netIPv4NeighDefaultGcThresh2: 2000, netIPv4NeighDefaultGcThresh3: 1024}}", "GcThresh2 must not be above"},
		{"linuxOSConfig: {sysctls: {netIPv4IPLocalPortRange: 1024 65535}}", ""},
		{"linuxOSConfig: {sysctls: {netIPv4IPLocalPortRange: 1023 65535}}", "must start between"},
		{"linuxOSConfig: {sysctls: {netIPv4IPLocalPortRange: 2000 32767}}", "must end between"},
		{"linuxOSConfig: {sysctls: {netIPv4IPLocalPortRange: 60000 40000}}", "must not start above"},
		{"linuxOSConfig: {sysctls: {netIPv4IPLocalPortRange: all}}", "netIPv4IPLocalPortRange"},
		{"localDNS: {mode: Disabled}", ""},
		{"localDNS: {}", "spec.localDNS.mode: Required"},
		{"localDNS: {mode: Sometimes}", "spec.localDNS.mode"},
		{vnetZones(root, cluster), ""},
		{vnetZones(root), "must contain the zones"},
		{vnetZones(root, root, cluster), "Duplicate value"},
		{vnetZones(zone(".", "forwardDestination=ClusterCoreDNS"), cluster), "zone '.' must not be forwarded"},
		{vnetZones(root, cluster, zone("example.com", "forwardDestination=ClusterCoreDNS")), "zones outside the cluster"},
		{vnetZones(root, zone("cluster.local", "forwardDestination=VnetDNS")), "must not be forwarded to VnetDNS"},
		{vnetZones(root, cluster, zone("example.com", "serveStale=Verify protocol=ForceTCP")), "Verify is not available"},
		{vnetZones(root, cluster, zone("example.com", "cacheDuration=-")), "cacheDuration: Required"},
		{vnetZones(root, cluster, zone("example.com", "cacheDuration=1d")), "cacheDuration"},
		{vnetZones(root, cluster, zone("-x", "")), "zone"},
		{vnetZones(root, cluster, zone("example.com", "maxConcurrent=-1")), "maxConcurrent"},
	}
	var server admit.Server
	for _, version := range []string{"v1alpha2", "v1beta1"} {
		for _, tc := range cases {
			_, got := check(t, &server, "apiVersion: karpenter.azure.com/"+version+"\nkind: AKSNodeClass\nmetadata: {name: default}\nspec:\n  "+tc.spec)
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s of %.200s\n got: %s\nwant: %s", version, tc.spec, got, tc.want)
			}
		}
	}
}

func TestClassDefaults(t *testing.T) {
	got, _ := check(t, new(admit.Server), "apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: default}\nspec: {kubelet: {}, gpu: {}}")
	out, err := yaml.Marshal(got["spec"])
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "defaults.txt", string(out))
}

func TestLabelRules(t *testing.T) {
	cases := []struct{ key, want string }{
		{"kubernetes.azure.com/mode", ""},
		{"kubernetes.azure.com/sku-cpu", ""},
		{"karpenter.azure.com/sku-family", ""},
		{"karpenter.azure.com/aksnodeclass", ""},
		{"karpenter.azure.com/sku-hyperv-generation", `label domain "karpenter.azure.com" is restricted`},
		{"karpenter.azure.com/other", `label domain "karpenter.azure.com" is restricted`},
		{"kubernetes.azure.com/role", `label domain "kubernetes.azure.com" is restricted`},
		{"agentpool", `label "agentpool" is restricted`},
		{"storageprofile", `label "storageprofile" is restricted`},
		{"storagetier", `label "storagetier" is restricted`},
		{"accelerator", `label "accelerator" is restricted`},
		{"karpenter.sh/other", `label domain "karpenter.sh" is restricted`},
		{"kubernetes.io/hostname", `label "kubernetes.io/hostname" is restricted`},
		{"example.com/agentpool", ""},
		{"topology.kubernetes.io/zone", ""},
	}
	var server admit.Server
	ref := "nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}"
	requirement := func(key string) string { return "requirements: [{key: " + key + ", operator: In, values: [\"1\"]}]" }
	for _, k := range []struct {
		what, version, kind string
		spec                func(key string) string
	}{
		{"a pool's requirement", "karpenter.sh/v1", "NodePool", func(key string) string {
			return "template: {spec: {" + ref + ", " + requirement(key) + "}}"
		}},
		{"a pool's label", "karpenter.sh/v1", "NodePool", func(key string) string {
			return "template: {metadata: {labels: {" + key + ": \"1\"}}, spec: {" + ref + ", requirements: []}}"
		}},
		{"a claim's requirement", "karpenter.sh/v1", "NodeClaim", func(key string) string {
			return ref + "\n  " + requirement(key)
		}},
		{"an overlay's requirement", "karpenter.sh/v1alpha1", "NodeOverlay", func(key string) string {
			return "price: \"1\"\n  " + requirement(key)
		}},
	} {
		for _, tc := range cases {
			_, got := check(t, &server, "apiVersion: "+k.version+"\nkind: "+k.kind+"\nmetadata: {name: x}\nspec:\n  "+k.spec(tc.key))
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s with %s\n got: %s\nwant: %s", k.what, tc.key, got, tc.want)
			}
		}
	}
}
