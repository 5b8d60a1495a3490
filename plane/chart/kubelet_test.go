package chart

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/model"
)

// retired are flags that newer kubelets no longer know, with the first minor version that exits at them. The kubelet
// linked here is a newer one. Source: the release notes of Kubernetes.
var retired = map[string]int{"keep-terminated-pod-volumes": 31, "cloud-config": 34, "pod-infra-container-image": 35}

// choices are values for the class' fields, on both sides of every edge that the CRD or the kubelet has.
var choices = map[string][]any{
	"cpuManagerPolicy":            {"none", "static", "dynamic"},
	"cpuCFSQuota":                 {true, false},
	"cpuCFSQuotaPeriod":           {"100ms", "1ms", "999us", "1s", "1001ms", "1.5ms", "0.5s", "0s", "-1ms", "1h", "", "abc", "1", "10ms"},
	"imageGCHighThresholdPercent": {-1, 0, 1, 5, 79, 80, 81, 85, 86, 99, 100, 101},
	"imageGCLowThresholdPercent":  {-1, 0, 1, 5, 79, 80, 81, 84, 85, 86, 99, 100},
	"topologyManagerPolicy":       {"none", "restricted", "best-effort", "single-numa-node", "None"},
	"containerLogMaxSize": {"50Mi", "0K", "1K", "010Ki", "99999999999K", "99999999999Ki", "999999999999Ki", "99999999M", "99999999Mi", "999999999Mi",
		"99999G", "99999Gi", "999999Gi", "99T", "99Ti", "100Ti", "1P", "1Pi", "7E", "8Ei", "-1", "1", "1k", "1.5Mi", "1e3", "Mi"},
	"containerLogMaxFiles": {0, 1, 2, 5, math.MaxInt32},
	"podPidsLimit":         {int64(math.MinInt64), -2, -1, 0, 1, 4096, int64(math.MaxInt64)},
	"failSwapOn":           {true, false},
}

// beside are values for fields of the class outside kubelet, from which flags come, too.
var beside = map[string][]any{
	"maxPods":     {-1, 0, 9, 10, 110, 250, 251, math.MaxInt32},
	"imageFamily": {"Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux", "Windows"},
	"fipsMode":    {"FIPS", "Disabled", "Maybe"},
}

var sysctls = []string{"kernel.sem", "kernel.sem*", "kernel.shm*", "kernel/shm*", "kernel.shm_*", "kernel.shm_rmid_forced", "kernel.shmmax*", "kernel.msg*",
	"kernel.msgmax", "kernel.*", "net.*", "net*", "net/ipv4/tcp_rmem", "net.ipv4.conf.eth0/1.rp_filter", "net.core.somaxconn", "net.ipv4.-x", "net.ipv4..x",
	"net.ipv4.tcp_*", "fs.mqueue.*", "fs/mqueue/msg_max", "fs.mqueue/msg_max", "fs.mqueue.", "fs.file-max", "vm.swappiness", "user.max_user_namespaces",
	"net.ipv4.x,--v=9", "net.ipv4.x --v=9", "kernel.shm*\nJUNK=", "NET.core", "net." + strings.Repeat("a", 250), "*", ""}

// TestEveryAcceptedClassStartsTheKubelet draws classes, lets the API server's own validation choose, and gives the flags
// of those it takes to Kubernetes' own kubelet: its flags, its validation, and what it checks later as it starts.
func TestEveryAcceptedClassStartsTheKubelet(t *testing.T) {
	var server admit.Server
	rng := rand.New(rand.NewPCG(20261121, 1))
	taken := map[string]bool{}
	accepted := 0
	before36 := utilfeature.DefaultFeatureGate.DeepCopy()
	if err := before36.SetFromMap(map[string]bool{"CustomCPUCFSQuotaPeriod": false}); err != nil { // its default until then
		t.Fatal(err)
	}
	try := func(kubelet, others map[string]any) {
		t.Helper()
		spec := map[string]any{"kubelet": kubelet}
		maps.Copy(spec, others)
		raw, err := json.Marshal(map[string]any{"apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass",
			"metadata": map[string]any{"name": "drawn"}, "spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		o, bad := check(t, &server, string(raw))
		if bad != "" {
			return
		}
		accepted++
		for _, fields := range []map[string]any{kubelet, others} {
			for field, v := range fields {
				taken[fmt.Sprint(field, "=", v)] = true
			}
		}
		var class v1beta1.AKSNodeClass
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &class); err != nil {
			t.Fatalf("accepted, and cannot be read: %v\n%s", err, raw)
		}
		for _, minor := range []int{29, 31, 33, 34, 35, 36, 37} {
			var gates featuregate.FeatureGate = utilfeature.DefaultFeatureGate
			if minor < 36 {
				gates = before36
			}
			if err := start(t, class, minor, gates); err != nil {
				t.Errorf("Kubernetes 1.%d: %v\n%s", minor, err, raw)
			}
		}
	}
	for field, values := range choices { // each edge alone
		for _, v := range values {
			try(map[string]any{field: v}, nil)
		}
	}
	for field, values := range beside {
		for _, v := range values {
			try(map[string]any{}, map[string]any{field: v})
		}
	}
	for _, s := range sysctls {
		try(map[string]any{"allowedUnsafeSysctls": []any{s}}, nil)
	}
	draw := func(from map[string][]any, one int) map[string]any {
		out := map[string]any{}
		for _, field := range slices.Sorted(maps.Keys(from)) {
			if rng.IntN(one) == 0 {
				out[field] = from[field][rng.IntN(len(from[field]))]
			}
		}
		return out
	}
	for range 300 {
		kubelet := draw(choices, 3)
		if rng.IntN(3) == 0 {
			kubelet["allowedUnsafeSysctls"] = []any{sysctls[rng.IntN(len(sysctls))], sysctls[rng.IntN(len(sysctls))]}
		}
		try(kubelet, draw(beside, 6))
	}
	// The draw must reach what users write, or it proves nothing.
	for _, want := range []string{"cpuCFSQuotaPeriod=10ms", "containerLogMaxSize=1K", "containerLogMaxSize=99Ti", "containerLogMaxSize=99999999Mi", "imageGCHighThresholdPercent=1",
		"imageGCLowThresholdPercent=99", "allowedUnsafeSysctls=[kernel.shm*]", "allowedUnsafeSysctls=[net.ipv4.tcp_*]", "podPidsLimit=-1",
		"maxPods=10", "maxPods=250", "imageFamily=AzureLinux", "fipsMode=FIPS"} {
		if !taken[want] {
			t.Errorf("%s was never accepted", want)
		}
	}
	if accepted < 60 {
		t.Errorf("only %d classes were accepted", accepted)
	}
}

// start does what a kubelet does with its flags before it joins.
func start(t *testing.T, class v1beta1.AKSNodeClass, minor int, gates featuregate.FeatureGate) error {
	t.Helper()
	argv, err := argvOf(class, fmt.Sprintf("1.%d.3", minor))
	if err != nil {
		return fmt.Errorf("no first boot: %w", err)
	}
	s, err := options.NewKubeletServer()
	if err != nil {
		t.Fatal(err)
	}
	// A kubelet parses into its own copy of the gates.
	fs := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	fs.SetOutput(io.Discard) // it says of every flag that it belongs into a file
	s.AddFlags(fs)
	argv = slices.DeleteFunc(argv, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		gone, old := retired[name]
		return old && minor < gone
	})
	if err := fs.Parse(argv); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unknown command %q", fs.Args())
	}
	if err := options.ValidateKubeletFlags(&s.KubeletFlags); err != nil {
		return err
	}
	s.FailCgroupV1 = false // a matter of the machine this test runs on
	s.ContainerRuntimeEndpoint = "unix:///run/containerd/containerd.sock"
	if err := validation.ValidateKubeletConfiguration(&s.KubeletConfiguration, gates); err != nil {
		return err
	}
	if _, err := sysctl.NewAllowlist(s.AllowedUnsafeSysctls); err != nil {
		return err
	}
	if _, err := logs.NewContainerLogManager(nil, nil, s.ContainerLogMaxSize, int(s.ContainerLogMaxFiles), int(s.ContainerLogMaxWorkers), s.ContainerLogMonitorInterval); err != nil {
		return err
	}
	if s.Authentication.Anonymous.Enabled || s.ReadOnlyPort != 0 || string(s.Authorization.Mode) != "Webhook" {
		return fmt.Errorf("the kubelet lets strangers in")
	}
	return nil
}

// argvOf is the command line that a machine of the class gives its kubelet: flags and labels. They hold no quotes
// or escapes (cloud/azure tests that), so blanks part them.
func argvOf(class v1beta1.AKSNodeClass, version string) ([]string, error) {
	size, _ := azure.ParseSize("Standard_D4s_v5")
	c := class.Model()
	c.Images = []model.Image{{ID: "/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2404gen2containerd/versions/202611.01.0"}}
	data, err := azure.FirstBoot(cloud.Order{
		Claim: "general-abcde", Class: c, Token: "abcdef.0123456789abcdef",
		Labels:  map[string]string{model.LabelPool: "general", model.LabelZone: "eastus-1", "example.com/team": "a", "node-restriction.kubernetes.io/x": "y"},
		Taints:  []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "example.com/t", Value: "v", Effect: model.NoSchedule}},
		Cluster: model.Cluster{Endpoint: "https://lab.hcp.eastus.azmk8s.io:443", CA: []byte("PEM"), Version: version},
	}, azure.SKU{Name: "Standard_D4s_v5", Size: size, CPUs: 4, MemoryGiB: 16, Arch: "amd64", Gen1: true, Gen2: true}, azure.Config{
		SubscriptionID: "sub", Location: "eastus", NodeResourceGroup: "MC_lab_lab_eastus", ClusterName: "lab", VnetGUID: "guid", KubeletIdentityClientID: "client",
		SubnetID: "/subscriptions/sub/resourceGroups/MC_lab_lab_eastus/providers/Microsoft.Network/virtualNetworks/vnet/subnets/subnet",
		Network:  azure.Network{Plugin: "azure", Mode: "overlay", Dataplane: "cilium"},
	})
	if err != nil {
		return nil, err
	}
	script, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, err
	}
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^export ` + name + `="(.*)"$`).FindSubmatch(script)
		if m == nil {
			return ""
		}
		return string(m[1])
	}
	return append([]string{"--node-labels=" + value("KUBELET_NODE_LABELS")}, strings.Fields(value("KUBELET_FLAGS"))...), nil
}
