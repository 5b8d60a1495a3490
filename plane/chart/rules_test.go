package chart

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// checker validates objects of one kind the way the API server does: defaults, schema, list keys, CEL.
type checker struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newChecker(t *testing.T, crd, version string) checker {
	t.Helper()
	for _, o := range mustRender(t, "karpenter-crd", "") {
		if o.GetName() != crd {
			continue
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &v1); err != nil {
			t.Fatal(err)
		}
		for _, v := range v1.Spec.Versions {
			if v.Name != version {
				continue
			}
			var in apiextensions.CustomResourceValidation
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &in, nil); err != nil {
				t.Fatal(err)
			}
			s, err := schema.NewStructural(in.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			sv, _, err := validation.NewSchemaValidator(in.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			return checker{s, sv, cel.NewValidator(s, true, celconfig.PerCallLimit)}
		}
	}
	t.Fatalf("no version %s of %s", version, crd)
	return checker{}
}

// check returns the object with its defaults and everything that is wrong with it.
func (c checker) check(t *testing.T, text string) (map[string]any, string) {
	t.Helper()
	var o map[string]any
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	// Whole numbers must be integers here, as they are when the API server reads them.
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	defaulting.Default(o, c.structural)
	var out []string
	for _, e := range validation.ValidateCustomResource(nil, o, c.schema) {
		out = append(out, e.Error())
	}
	for _, e := range listtype.ValidateListSetsAndMaps(nil, c.structural, o) {
		out = append(out, e.Error())
	}
	errs, _ := c.rules.Validate(context.Background(), nil, c.structural, o, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range errs {
		out = append(out, e.Error())
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
	for _, version := range []string{"v1alpha2", "v1beta1"} {
		c := newChecker(t, "aksnodeclasses.karpenter.azure.com", version)
		for _, tc := range cases {
			_, got := c.check(t, "apiVersion: karpenter.azure.com/"+version+"\nkind: AKSNodeClass\nmetadata: {name: default}\nspec:\n  "+tc.spec)
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s of %.200s\n got: %s\nwant: %s", version, tc.spec, got, tc.want)
			}
		}
	}
}

func TestClassDefaults(t *testing.T) {
	c := newChecker(t, "aksnodeclasses.karpenter.azure.com", "v1beta1")
	got, _ := c.check(t, "metadata: {name: default}\nspec: {kubelet: {}, gpu: {}}")
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
	ref := "nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}"
	requirement := func(key string) string { return "requirements: [{key: " + key + ", operator: In, values: [\"1\"]}]" }
	for _, k := range []struct {
		what, crd, version string
		spec               func(key string) string
	}{
		{"a pool's requirement", "nodepools.karpenter.sh", "v1", func(key string) string {
			return "template: {spec: {" + ref + ", " + requirement(key) + "}}"
		}},
		{"a pool's label", "nodepools.karpenter.sh", "v1", func(key string) string {
			return "template: {metadata: {labels: {" + key + ": \"1\"}}, spec: {" + ref + ", requirements: []}}"
		}},
		{"a claim's requirement", "nodeclaims.karpenter.sh", "v1", func(key string) string {
			return ref + "\n  " + requirement(key)
		}},
		{"an overlay's requirement", "nodeoverlays.karpenter.sh", "v1alpha1", func(key string) string {
			return "price: \"1\"\n  " + requirement(key)
		}},
	} {
		c := newChecker(t, k.crd, k.version)
		for _, tc := range cases {
			_, got := c.check(t, "metadata: {name: x}\nspec:\n  "+k.spec(tc.key))
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s with %s\n got: %s\nwant: %s", k.what, tc.key, got, tc.want)
			}
		}
	}
}
