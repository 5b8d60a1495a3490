package azure

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"go.yaml.in/yaml/v3"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/lab/provision"
	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
	"github.com/karpenter-aks/karpenter/model"
)

// bashReads is what bash exports when it runs a script of ours: lines of export NAME="value", in whose quotes a backslash
// keeps its meaning before four characters. The last line starts AKS' own scripts.
func bashReads(script string) (map[string]string, error) {
	out := map[string]string{}
	rest, ok := strings.CutPrefix(script, "#!/bin/bash\n")
	if !ok {
		return nil, fmt.Errorf("does not begin as a script of bash")
	}
	for {
		var export bool
		if rest, export = strings.CutPrefix(rest, "export "); !export {
			break
		}
		name, after, found := strings.Cut(rest, `="`)
		if !found || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return nil, fmt.Errorf("%.40q is no assignment", rest)
		}
		var v strings.Builder
		i := 0
		for ; i < len(after) && after[i] != '"'; i++ {
			switch {
			case after[i] == '\\' && i+1 < len(after) && strings.IndexByte("\"$`\\", after[i+1]) >= 0:
				i++
			case after[i] == '$' || after[i] == '`':
				return nil, fmt.Errorf("%s holds a bare %q", name, after[i])
			}
			v.WriteByte(after[i])
		}
		if rest, found = strings.CutPrefix(after[min(i, len(after)):], "\"\n"); !found {
			return nil, fmt.Errorf("%s does not end with its line", name)
		}
		out[name] = v.String()
	}
	if rest != "/usr/bin/nohup /bin/bash "+bootScript+"\n" {
		return nil, fmt.Errorf("ends with %q", rest)
	}
	return out, nil
}

// systemdReads is what systemd takes from an EnvironmentFile: a value ends at its line, blanks around it go, a quote
// counts where the value begins, a backslash takes the next character as it stands and joins a line to the next.
// Source: systemd.exec(5), EnvironmentFile=.
func systemdReads(file string) map[string]string {
	out := map[string]string{}
	for len(file) > 0 {
		line, rest, _ := strings.Cut(file, "\n")
		trimmed := strings.TrimLeft(line, " \t\r")
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' || !strings.Contains(line, "=") {
			file = rest
			continue
		}
		name, after, _ := strings.Cut(file, "=")
		v, used := oneValue(after)
		out[strings.TrimSpace(name)] = v
		file = after[used:]
	}
	return out
}

func oneValue(s string) (value string, used int) {
	var b strings.Builder
	kept := 0 // length of b up to the last character that is no trailing blank
	i, start := 0, true
	for i < len(s) && s[i] != '\n' {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			start, kept = false, b.Len()
		case start && (c == '"' || c == '\''):
			for i++; i < len(s) && s[i] != c; i++ {
				if c == '"' && s[i] == '\\' && i+1 < len(s) {
					i++
				}
				b.WriteByte(s[i])
			}
			kept = b.Len()
		case c == ' ' || c == '\t' || c == '\r':
			if !start {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
			start, kept = false, b.Len()
		}
		i++
	}
	return b.String()[:kept], min(i+1, len(s))
}

// systemdSplits is how systemd makes arguments of an unbraced $NAME in a command line: at blanks, with quotes honoured
// and taken away, a backslash taking the next character as it stands. Source: systemd.service(5), command lines.
func systemdSplits(v string) []string {
	var out []string
	var b strings.Builder
	var quote byte
	open := false
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '\\' && i+1 < len(v):
			i++
			b.WriteByte(v[i])
			open = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if open {
				out, open = append(out, b.String()), false
				b.Reset()
			}
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		out = append(out, b.String())
	}
	return out
}

// asked is everything that people can put into a machine's first boot, one of each.
type asked struct {
	sysctl, sysctl2, logSize, cpu, topology, subnet          string
	labelKey, labelValue, taintKey, taintValue, effect       string
	endpoint, token, version, dns, user, clientID, guid, pol string
	low, high                                                int32
	period                                                   int64
}

// good is an order that nothing is wrong with.
func good() asked {
	return asked{
		sysctl: "kernel.shm*", sysctl2: "net.core.somaxconn", logSize: "50Mi", cpu: "static", topology: "best-effort", subnet: "nodes",
		labelKey: "example.com/team", labelValue: "a", taintKey: "example.com/t", taintValue: "v", effect: "NoSchedule",
		endpoint: "https://lab.hcp.eastus.azmk8s.io:443", token: "abcdef.0123456789abcdef", version: "1.35.4", dns: "10.0.0.10",
		user: "azureuser", clientID: "client", guid: "guid", pol: "cilium", low: 70, high: 75, period: int64(10 * time.Millisecond),
	}
}

func (a asked) order(s SKU) (cloud.Order, Config) {
	cfg, o := testConfig(), testOrder(nil, s)
	cfg.AdminUsername, cfg.KubeletIdentityClientID, cfg.VnetGUID, cfg.Network.Policy = a.user, a.clientID, a.guid, a.pol
	cfg.Network.DNSServiceIP = a.dns
	o.Cluster.Endpoint, o.Cluster.Version, o.Token = a.endpoint, a.version, a.token
	o.Labels[a.labelKey] = a.labelValue
	o.Taints = append(o.Taints, model.Taint{Key: a.taintKey, Value: a.taintValue, Effect: model.Effect(a.effect)})
	period := time.Duration(a.period)
	head, _, _ := strings.Cut(cfg.SubnetID, "/subnets/")
	o.Class.Azure.VnetSubnetID = head + "/subnets/" + a.subnet
	o.Class.Azure.Kubelet = model.AzureKubelet{
		AllowedUnsafeSysctls: []string{a.sysctl, a.sysctl2}, ContainerLogMaxSize: a.logSize, CPUManagerPolicy: a.cpu,
		TopologyManagerPolicy: a.topology, CPUCFSQuotaPeriod: &period, ImageGCLowThresholdPercent: to.Ptr(a.low), ImageGCHighThresholdPercent: to.Ptr(a.high),
	}
	return o, cfg
}

// fieldFlags are the flags that the class' kubelet fields are allowed to change.
var fieldFlags = []string{"allowed-unsafe-sysctls", "container-log-max-size", "cpu-manager-policy", "topology-manager-policy",
	"cpu-cfs-quota-period", "feature-gates", "image-gc-low-threshold", "image-gc-high-threshold"}

// check follows the order through all readers.
func (a asked) check(t *testing.T) (accepted bool) {
	t.Helper()
	s := readSKUs(skusOf("Standard_D2s_v5"), "eastus")[0]
	o, cfg := a.order(s)
	o.Cluster.CA = clusterCA(t)
	data, err := customData(o, s, cfg, testNetwork())
	if err != nil {
		if cloud.CodeOf(err) != cloud.Invalid {
			t.Fatalf("refused with %s, want %s: %v", cloud.CodeOf(err), cloud.Invalid, err)
		}
		return false
	}
	script, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	env, err := bashReads(string(script))
	if err != nil {
		t.Fatalf("bash reads something else: %v", err)
	}
	// What AKS' scripts write.
	file := systemdReads("KUBELET_FLAGS=" + env["KUBELET_FLAGS"] + "\nKUBELET_REGISTER_SCHEDULABLE=true\nNETWORK_POLICY=" + env["NETWORK_POLICY"] +
		"\nKUBELET_IMAGE=\nKUBELET_NODE_LABELS=" + env["KUBELET_NODE_LABELS"] + "\n")
	if got := slices.Sorted(maps.Keys(file)); len(got) != 5 {
		t.Fatalf("the kubelet's environment file has variables %v", got)
	}
	labels := nodeLabels(o, s, cfg)
	if file["KUBELET_NODE_LABELS"] != labelFlag(labels) || strings.Count(file["KUBELET_NODE_LABELS"], ",")+1 != len(labels) {
		t.Fatalf("labels read as %q, meant %v", file["KUBELET_NODE_LABELS"], labels)
	}
	argv := systemdSplits(file["KUBELET_FLAGS"])
	if want := kubeletFlags(o, s, cfg.Network); !slices.Equal(argv, want) {
		t.Fatalf("flags read as %q, meant %q", argv, want)
	}
	plainOrder := o
	class := *o.Class.Azure
	class.Kubelet = model.AzureKubelet{}
	plainOrder.Class.Azure = &class
	without := flagMap(t, kubeletFlags(plainOrder, s, cfg.Network))
	for name, v := range flagMap(t, argv) {
		if without[name] != v && !slices.Contains(fieldFlags, name) {
			t.Fatalf("the class changes --%s from %q to %q", name, without[name], v)
		}
		delete(without, name)
	}
	if len(without) > 0 {
		t.Fatalf("the class takes flags away: %v", without)
	}
	m := machineOf(o, s)
	m.CustomData = script
	files := provision.Run(t.Context(), script, m, reachable{}).Files
	if a == good() && (files[kubeletConfig].Content == "" || files[cloudConfig].Content == "") {
		t.Fatalf("the machine wrote %v only", slices.Sorted(maps.Keys(files)))
	}
	for path, want := range written(env) {
		if f, ok := files[path]; ok {
			if got, err := parsed(f.Content); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s reads as %v, meant %v: %v", path, got, want, err)
			}
		}
	}
	return true
}

// Files of YAML and JSON into which the image's scripts put values as they stand.
const (
	kubeletConfig = "/var/lib/kubelet/bootstrap-kubeconfig"
	cloudConfig   = "/etc/kubernetes/azure.json"
)

// parsed is what two parsers of YAML read in the text, the one that Kubernetes' programs have and the one that other tools have. They must agree, and
// so must that of JSON where the text begins as JSON does.
func parsed(text string) (map[string]any, error) {
	var kube, other, plain map[string]any
	err := errors.Join(kubeyaml.UnmarshalStrict([]byte(text), &kube), yaml.Unmarshal([]byte(text), &other))
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(other)
	if err == nil {
		err = json.Unmarshal(raw, &other) // numbers as JSON has them
	}
	if err == nil && strings.HasPrefix(text, "{") {
		if err = json.Unmarshal([]byte(text), &plain); err == nil && !reflect.DeepEqual(plain, kube) {
			err = fmt.Errorf("JSON reads %v, YAML %v", plain, kube)
		}
	}
	if err == nil && !reflect.DeepEqual(kube, other) {
		err = fmt.Errorf("one parser of YAML reads %v, another %v", kube, other)
	}
	return kube, err
}

// written is what the two files must say, by their paths. Names and types of azure.json: cloud-provider-azure's configuration.
func written(env map[string]string) map[string]map[string]any {
	cloud := map[string]any{"providerKeyName": "k8s", "providerKeyVersion": "", "providerVaultName": "", "aadClientSecret": "msi"}
	for key, name := range map[string]string{"cloud": "TARGET_CLOUD", "tenantId": "TENANT_ID", "subscriptionId": "SUBSCRIPTION_ID", "aadClientId": "SERVICE_PRINCIPAL_CLIENT_ID",
		"resourceGroup": "RESOURCE_GROUP", "location": "LOCATION", "vmType": "VM_TYPE", "subnetName": "SUBNET", "securityGroupName": "NETWORK_SECURITY_GROUP",
		"vnetName": "VIRTUAL_NETWORK", "vnetResourceGroup": "VIRTUAL_NETWORK_RESOURCE_GROUP", "routeTableName": "ROUTE_TABLE",
		"primaryAvailabilitySetName": "PRIMARY_AVAILABILITY_SET", "primaryScaleSetName": "PRIMARY_SCALE_SET", "cloudProviderBackoffMode": "CLOUDPROVIDER_BACKOFF_MODE",
		"userAssignedIdentityID": "USER_ASSIGNED_IDENTITY_ID", "loadBalancerSku": "LOAD_BALANCER_SKU"} {
		cloud[key] = env[name]
	}
	for key, v := range map[string]any{"cloudProviderBackoff": true, "cloudProviderBackoffRetries": 6.0, "cloudProviderBackoffDuration": 5.0, "cloudProviderRateLimit": true,
		"cloudProviderRateLimitQPS": 10.0, "cloudProviderRateLimitBucket": 100.0, "cloudProviderRateLimitQPSWrite": 10.0, "cloudProviderRateLimitBucketWrite": 100.0,
		"useManagedIdentityExtension": true, "useInstanceMetadata": true, "disableOutboundSNAT": false, "excludeMasterFromStandardLB": true, "maximumLoadBalancerRuleCount": 250.0} {
		cloud[key] = v
	}
	one := func(kind, name string, v map[string]any) []any { return []any{map[string]any{"name": name, kind: v}} }
	return map[string]map[string]any{cloudConfig: cloud, kubeletConfig: {
		"apiVersion": "v1", "kind": "Config", "current-context": "local",
		"clusters": one("cluster", "localcluster", map[string]any{"certificate-authority": "/etc/kubernetes/certs/ca.crt", "server": "https://" + env["API_SERVER_NAME"] + ":443"}),
		"users":    one("user", "kubelet-bootstrap", map[string]any{"token": env["TLS_BOOTSTRAP_TOKEN"]}),
		"contexts": one("context", "local", map[string]any{"cluster": "localcluster", "user": "kubelet-bootstrap"}),
	}}
}

// What is not refused before it reaches YAML and JSON is seen there: each of these says something else in a file than was meant.
func TestReadersOfYAMLSeeMoreThanText(t *testing.T) {
	s := readSKUs(skusOf("Standard_D2s_v5"), "eastus")[0]
	o, cfg := good().order(s)
	o.Cluster.CA = clusterCA(t)
	data, err := customData(o, s, cfg, testNetwork())
	if err != nil {
		t.Fatal(err)
	}
	script, _ := base64.StdEncoding.DecodeString(data)
	for _, c := range []struct{ path, name, value string }{
		{kubeletConfig, "", ""}, {cloudConfig, "", ""},
		{kubeletConfig, "TLS_BOOTSTRAP_TOKEN", `abcdef.0123456789abcdef"` + "\n    username: \"root"},
		{kubeletConfig, "TLS_BOOTSTRAP_TOKEN", `abcdef.\x30123456789abcde`},
		{cloudConfig, "SUBNET", `nodes", "tenantId": "another`},
		{cloudConfig, "SUBNET", `\u006eodes`},
		{cloudConfig, "VIRTUAL_NETWORK", `a", "extra": "b`},
		{cloudConfig, "USE_INSTANCE_METADATA", "yes"},
		{cloudConfig, "MAXIMUM_LOADBALANCER_RULE_COUNT", "0x10"},
	} {
		env, err := bashReads(string(script))
		if err != nil {
			t.Fatal(err)
		}
		if c.name != "" {
			env[c.name] = c.value
		}
		m := machineOf(o, s)
		m.CustomData = provisiontest.Script(env)
		f, ok := provision.Run(t.Context(), m.CustomData, m, reachable{}).Files[c.path]
		got, err := parsed(f.Content)
		if same := ok && err == nil && reflect.DeepEqual(got, written(env)[c.path]); same != (c.name == "") {
			t.Errorf("%s with %s %q reads as %v: %v", c.path, c.name, c.value, got, err)
		}
	}
}

func flagMap(t *testing.T, argv []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, arg := range argv {
		name, v, ok := strings.Cut(arg, "=")
		if _, twice := out[strings.TrimPrefix(name, "--")]; twice || !ok || !strings.HasPrefix(name, "--") {
			t.Fatalf("%q is no flag of its own", arg)
		}
		out[strings.TrimPrefix(name, "--")] = v
	}
	return out
}

// each calls f with every text that a person may write, and its name.
func (a *asked) each(f func(name string, at *string)) {
	for _, x := range []struct {
		name string
		at   *string
	}{
		{"sysctl", &a.sysctl}, {"second sysctl", &a.sysctl2}, {"log size", &a.logSize}, {"cpu manager policy", &a.cpu},
		{"topology manager policy", &a.topology}, {"subnet", &a.subnet}, {"label key", &a.labelKey}, {"label value", &a.labelValue},
		{"taint key", &a.taintKey}, {"taint value", &a.taintValue}, {"effect", &a.effect}, {"endpoint", &a.endpoint}, {"token", &a.token},
		{"version", &a.version}, {"dns", &a.dns}, {"user", &a.user}, {"client id", &a.clientID}, {"vnet guid", &a.guid}, {"policy", &a.pol},
	} {
		f(x.name, x.at)
	}
}

// tricks are ends of values that one reader or another takes for more than text.
var tricks = []string{"\nJUNK=", " --anonymous-auth=true", "\t--v=9", `"`, "'", `\`, "\\\n", "$(id)", "${HOME}", "`id`", ";id", "#", "\x00", "\r", "é", "\u2028", "%n", "<", "{", "*x"}

// No text that is accepted means more than itself to anybody, and an order without tricks is accepted.
func TestNoTextSpeaksToItsReaders(t *testing.T) {
	if !good().check(t) {
		t.Fatal("an order that nothing is wrong with is refused")
	}
	a := good()
	a.each(func(name string, _ *string) {
		for _, trick := range tricks {
			b := good()
			b.each(func(n string, at *string) {
				if n == name {
					*at += trick
				}
			})
			if b.check(t) {
				t.Errorf("%s with %q at its end was accepted", name, trick)
			}
		}
	})
	a.sysctl = "kernel.shm*\nJUNK="
	s := readSKUs(skusOf("Standard_D2s_v5"), "eastus")[0]
	o, _ := a.order(s)
	c := validation(o.Class.Azure, Config{})
	if c.Status != model.False || c.Reason != reasonFieldsInvalid || !strings.Contains(c.Message, `kubelet.allowedUnsafeSysctls[0]: "kernel.shm*\nJUNK="`) {
		t.Errorf("the class' condition does not name field and value: %+v", c)
	}
}

// FuzzWhatIsAcceptedReadsAsItself: whatever the strings are, an order is refused as invalid, or bash, systemd, the
// splitting of arguments, and the parsers of the YAML and JSON that a machine writes give back what was meant.
func FuzzWhatIsAcceptedReadsAsItself(f *testing.F) {
	add := func(a asked) {
		f.Add(a.sysctl, a.logSize, a.subnet, a.labelKey, a.labelValue, a.taintKey, a.taintValue, a.endpoint, a.token, a.version, a.dns, a.user, a.pol, a.low, a.high, a.period)
	}
	add(good())
	for _, trick := range tricks {
		a := good()
		a.each(func(_ string, at *string) { *at += trick })
		add(a)
		b := good()
		b.labelValue += trick
		add(b)
	}
	f.Fuzz(func(t *testing.T, sysctl, logSize, subnet, labelKey, labelValue, taintKey, taintValue, endpoint, token, version, dns, user, pol string, low, high int32, period int64) {
		a := good()
		a.sysctl, a.logSize, a.subnet, a.labelKey, a.labelValue, a.taintKey, a.taintValue = sysctl, logSize, subnet, labelKey, labelValue, taintKey, taintValue
		a.endpoint, a.token, a.version, a.dns, a.user, a.pol, a.low, a.high, a.period = endpoint, token, version, dns, user, pol, low, high, period
		a.check(t)
	})
}

// The reading of bash above is bash's.
func TestBashReadsTheScriptSo(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("the first-boot script is bash's, which is needed to check it: %v", err)
	}
	s := readSKUs(skusOf("Standard_NC4as_T4_v3 GPUs=1"), "eastus")[0]
	for _, version := range []string{"1.29.4", "1.37.1"} {
		a := good()
		a.version = version
		o, cfg := a.order(s)
		data, err := customData(o, s, cfg, testNetwork())
		if err != nil {
			t.Fatal(err)
		}
		script, _ := base64.StdEncoding.DecodeString(data)
		want, err := bashReads(string(script))
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-c", strings.Replace(string(script), "/usr/bin/nohup /bin/bash "+bootScript, "env -0", 1))
		run.Env = []string{"PATH=/usr/bin:/bin"}
		out, err := run.Output()
		if err != nil {
			t.Fatalf("bash: %v", err)
		}
		got := map[string]string{}
		for _, line := range bytes.Split(out, []byte{0}) {
			k, v, _ := strings.Cut(string(line), "=")
			got[k] = v
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: bash reads %q, we say %q", k, got[k], v)
			}
		}
	}
}

// A kubelet exits at each of these; the class must say so instead.
func TestClassesThatNoKubeletTakesAreRefused(t *testing.T) {
	for _, c := range []struct {
		k    model.AzureKubelet
		want string
	}{
		{model.AzureKubelet{AllowedUnsafeSysctls: []string{"vm.swappiness"}}, `kubelet.allowedUnsafeSysctls[0]: "vm.swappiness" is not a namespaced`},
		{model.AzureKubelet{AllowedUnsafeSysctls: []string{"net.*", "kernel.shm_*"}}, `kubelet.allowedUnsafeSysctls[1]: "kernel.shm_*"`},
		{model.AzureKubelet{AllowedUnsafeSysctls: make([]string, 65)}, "65 entries, at most 64"},
		{model.AzureKubelet{CPUCFSQuotaPeriod: to.Ptr(2 * time.Second)}, "cpuCFSQuotaPeriod: 2s is not between 1ms and 1s"},
		{model.AzureKubelet{CPUCFSQuotaPeriod: to.Ptr(time.Microsecond)}, "cpuCFSQuotaPeriod: 1µs is not"},
		{model.AzureKubelet{ImageGCHighThresholdPercent: to.Ptr[int32](0)}, "imageGCLowThresholdPercent 0 must be below imageGCHighThresholdPercent 0"},
		{model.AzureKubelet{ImageGCLowThresholdPercent: to.Ptr[int32](100)}, "100 must be below imageGCHighThresholdPercent 100"},
		{model.AzureKubelet{ImageGCLowThresholdPercent: to.Ptr[int32](80), ImageGCHighThresholdPercent: to.Ptr[int32](80)}, "80 must be below"},
		{model.AzureKubelet{ContainerLogMaxSize: "1Pi"}, `kubelet.containerLogMaxSize: "1Pi"`},
		{model.AzureKubelet{ContainerLogMaxFiles: to.Ptr[int32](1)}, "containerLogMaxFiles: 1 is below 2"},
		{model.AzureKubelet{CPUManagerPolicy: "dynamic"}, `cpuManagerPolicy: "dynamic" is none of`},
		{model.AzureKubelet{TopologyManagerPolicy: "None"}, `topologyManagerPolicy: "None" is none of`},
	} {
		got := validation(&model.AzureClass{Kubelet: c.k}, Config{})
		if got.Status != model.False || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s %q, want False with %q", got.Status, got.Message, c.want)
		}
	}
	for _, k := range []model.AzureKubelet{
		{ImageGCHighThresholdPercent: to.Ptr[int32](1)}, {ImageGCHighThresholdPercent: to.Ptr[int32](80)}, {ImageGCLowThresholdPercent: to.Ptr[int32](99)},
		{ContainerLogMaxSize: "50K"}, {AllowedUnsafeSysctls: []string{"kernel.sem", "kernel.msg*", "net.ipv4.conf.eth0/1.rp_filter", "fs.mqueue.*"}},
	} {
		if bad := problemsOf(&model.AzureClass{Kubelet: k}); len(bad) > 0 {
			t.Errorf("%+v: refused: %v", k, bad)
		}
	}
}
