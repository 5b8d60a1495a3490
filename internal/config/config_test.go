package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// minimal is the smallest environment that starts.
func minimal() map[string]string {
	return map[string]string{
		"CLUSTER_NAME":              "lab",
		"CLUSTER_ENDPOINT":          "https://lab.example:6443",
		"AZURE_SUBSCRIPTION_ID":     "00000000-0000-0000-0000-000000000001",
		"LOCATION":                  "East US",
		"AZURE_NODE_RESOURCE_GROUP": "MC_lab",
		"VNET_SUBNET_ID":            "/subscriptions/s/resourceGroups/MC_lab/providers/Microsoft.Network/virtualNetworks/v/subnets/n",
		"SSH_PUBLIC_KEY":            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE+nq7TgN4D4A1BOCcIYGb40IvZaR5AgmiNRM3juUFuv",
	}
}

func lookup(env map[string]string) Lookup {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func with(env map[string]string, more ...string) map[string]string {
	for _, kv := range more {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}

func parse(t *testing.T, env map[string]string, args ...string) Config {
	t.Helper()
	c, err := Parse(args, lookup(env))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	want := Config{
		Cluster: Cluster{Name: "lab", Endpoint: "https://lab.example:6443"},
		Azure: Azure{
			SubscriptionID: "00000000-0000-0000-0000-000000000001", Location: "eastus", NodeResourceGroup: "MC_lab",
			SubnetID:     "/subscriptions/s/resourceGroups/MC_lab/providers/Microsoft.Network/virtualNetworks/v/subnets/n",
			SSHPublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE+nq7TgN4D4A1BOCcIYGb40IvZaR5AgmiNRM3juUFuv", AdminUsername: "azureuser", NetworkPlugin: "azure",
			NetworkPluginMode: "overlay", NetworkDataplane: "cilium", MemoryOverheadPercent: 0.075, SDKLogging: true,
			NetworkInterfaces: "inline", MachineCreate: "if-none-match",
			Cloud: Cloud{
				Name: "AzurePublicCloud", ResourceManagerEndpoint: "https://management.azure.com",
				AuthorityHost: "https://login.microsoftonline.com/", Audience: "https://management.core.windows.net/",
				RetailPricesEndpoint: "https://prices.azure.com",
			},
		},
		Kube: Kube{QPS: 200, Burst: 300, LeaderElection: LeaderElection{
			Name: "karpenter-leader-election", Namespace: "kube-system",
		}},
		Batch: Batch{Idle: time.Second, Max: 10 * time.Second},
		Ports: Ports{Metrics: 8080, Health: 8081}, Metrics: Metrics{Profile: meter.Standard},
		Log: Log{Level: "info", Outputs: []string{"stdout"}, ErrorOutputs: []string{"stderr"}},
		Gates: map[string]bool{
			"CapacityBuffer": false, "NodeOverlay": false, "NodeRepair": false, "NominatedNodes": true, "ReservedCapacity": true,
			"SpotToSpotConsolidation": false, "StaticCapacity": false,
		},
		PreferencePolicy: "Respect", MinValuesPolicy: "Strict", IgnoreDRARequests: true, RefusedPlans: RefusedPlansDir,
		SystemNamespace: "kube-system", CPURequests: 1000,
	}
	got := parse(t, minimal())
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{}, Cloud{})); d != "" {
		t.Error(d)
	}
}

func TestFlagWinsOverEnvironmentWinsOverDefault(t *testing.T) {
	env := with(minimal(), "LOG_LEVEL=debug", "BATCH_IDLE_DURATION=2s", "FEATURE_GATES=NodeRepair=true")
	c := parse(t, env, "--log-level=error", "-metrics-port", "9090", "--disable-leader-election")
	if c.Log.Level != "error" || c.Batch.Idle != 2*time.Second || c.Ports.Metrics != 9090 || c.Ports.Health != 8081 {
		t.Errorf("level %s, idle %s, ports %v", c.Log.Level, c.Batch.Idle, c.Ports)
	}
	if !c.Kube.LeaderElection.Disabled || !c.Gates["NodeRepair"] || !c.Gates["ReservedCapacity"] {
		t.Errorf("leader election %v, gates %v", c.Kube.LeaderElection, c.Gates)
	}
	if c := parse(t, env, "--log-level="); c.Log.Level != "info" {
		t.Errorf("an empty flag gives %q, want the default", c.Log.Level)
	}
	if c := parse(t, env, "--memory-limit", "-1"); c.MemoryLimit != 0 {
		t.Errorf("memory limit %d", c.MemoryLimit)
	}
}

func TestEmptyEnvironmentIsAChoiceForNetworkModes(t *testing.T) {
	c := parse(t, with(minimal(), "NETWORK_PLUGIN_MODE=", "NETWORK_DATAPLANE=", "NETWORK_PLUGIN=", "LOG_LEVEL="))
	if c.Azure.NetworkPluginMode != "" || c.Azure.NetworkDataplane != "" {
		t.Errorf("mode %q, dataplane %q", c.Azure.NetworkPluginMode, c.Azure.NetworkDataplane)
	}
	if c.Azure.NetworkPlugin != "azure" || c.Log.Level != "info" {
		t.Errorf("plugin %q, level %q", c.Azure.NetworkPlugin, c.Log.Level)
	}
}

func TestOldEnvironmentNamesWork(t *testing.T) {
	env := with(minimal(), "ARM_SUBSCRIPTION_ID=sub", "ARM_TENANT_ID=tenant", "ARM_RESOURCE_GROUP=rg", "ARM_CLOUD=AzureUSGovernment")
	delete(env, "AZURE_SUBSCRIPTION_ID")
	a := parse(t, env).Azure
	if a.SubscriptionID != "sub" || a.TenantID != "tenant" || a.ResourceGroup != "rg" {
		t.Errorf("%+v", a)
	}
	if a.Cloud.ResourceManagerEndpoint != "https://management.usgovcloudapi.net" || a.Cloud.RetailPricesEndpoint != "" {
		t.Errorf("%+v", a.Cloud)
	}
}

func TestLists(t *testing.T) {
	id := "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
	c := parse(t, with(minimal(), "NODE_IDENTITIES="+id+"a, "+id+"b", "ADDITIONAL_TAGS=team=platform,empty=", "LOG_OUTPUT_PATHS=stdout,/tmp/log"))
	if d := cmp.Diff([]string{id + "a", id + "b"}, c.Azure.NodeIdentities); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"team": "platform", "empty": ""}, c.Azure.AdditionalTags); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"stdout", "/tmp/log"}, c.Log.Outputs); d != "" {
		t.Error(d)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEnvironmentFileDescribesACloud(t *testing.T) {
	file := write(t, `{"name":"Stack","resourceManagerEndpoint":"https://arm.example","activeDirectoryEndpoint":"https://login.example",
		"retailPricesEndpoint":"https://prices.example/list","galleryEndpoint":"ignored"}`)
	c := parse(t, with(minimal(), "AZURE_ENVIRONMENT_FILEPATH="+file, "AZURE_AUTHORITY_HOST=https://webhook.example"))
	want := Cloud{
		Name: "Stack", ResourceManagerEndpoint: "https://arm.example", AuthorityHost: "https://login.example",
		Audience: "https://arm.example", RetailPricesEndpoint: "https://prices.example/list",
	}
	if d := cmp.Diff(want, c.Azure.Cloud, cmpopts.IgnoreUnexported(Cloud{})); d != "" {
		t.Error(d)
	}
	c = parse(t, with(minimal(), "ARM_CLOUD=AzureChinaCloud", "AZURE_AUTHORITY_HOST=https://webhook.example"))
	if c.Azure.Cloud.AuthorityHost != "https://webhook.example" || c.Azure.Cloud.Name != "AzureChinaCloud" {
		t.Errorf("%+v", c.Azure.Cloud)
	}
}

func TestBrokenEnvironmentFileIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`not json`: "not JSON",
		`{}`:       "resourceManagerEndpoint",
		`{"resourceManagerEndpoint":"https://a"}`:                                                                             "activeDirectoryEndpoint",
		`{"resourceManagerEndpoint":"http://a","activeDirectoryEndpoint":"https://b"}`:                                        "resourceManagerEndpoint",
		`{"resourceManagerEndpoint":"https://a","activeDirectoryEndpoint":"https://b","retailPricesEndpoint":"prices.local"}`: "retailPricesEndpoint",
	} {
		_, err := Parse(nil, lookup(with(minimal(), "AZURE_ENVIRONMENT_FILEPATH="+write(t, text))))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "AZURE_ENVIRONMENT_FILEPATH") {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := Parse(nil, lookup(with(minimal(), "AZURE_ENVIRONMENT_FILEPATH=/does/not/exist")))
	if err == nil || !strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("missing file: %v", err)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	const token = "abcdef.0123456789abcdef"
	c := parse(t, with(minimal(), "KUBELET_BOOTSTRAP_TOKEN="+token))
	if s := c.String() + fmt.Sprintf("%+v", c); strings.Contains(s, token) {
		t.Errorf("the token is in %s", s)
	}
	if !strings.Contains(c.String(), "kubelet-bootstrap-token=[redacted] (KUBELET_BOOTSTRAP_TOKEN)\n") {
		t.Errorf("the listing does not say that a token was given:\n%s", c)
	}
	_, err := Parse([]string{"--kubelet-bootstrap-token=" + token}, lookup(nil))
	if err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("the token is in the error: %v", err)
	}
	_, err = Parse(nil, lookup(with(minimal(), "CLUSTER_ENDPOINT=https://user:hunter2@lab.example")))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password is accepted or shown: %v", err)
	}
}

func TestHelp(t *testing.T) {
	for _, arg := range []string{"-h", "--help", "-help"} {
		if _, err := Parse([]string{"--nonsense", arg}, lookup(nil)); !errors.Is(err, ErrHelp) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestOptionsAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range options() {
		for _, n := range append([]string{o.flag}, o.env...) {
			if n != "" && seen[n] {
				t.Errorf("%s is there twice", n)
			}
			seen[n] = true
		}
		if o.usage == "" || len(o.env) == 0 || o.group == "" {
			t.Errorf("%s lacks words", o.name())
		}
		if o.flag != "" && len(o.env) == 1 && o.flag != "node-resource-group" &&
			strings.ToUpper(strings.ReplaceAll(o.flag, "-", "_")) != o.env[0] {
			t.Errorf("--%s is %s in the environment", o.flag, o.env[0])
		}
		if o.def != "" {
			if err := o.set(&Config{}, o.def); err != nil {
				t.Errorf("the default of %s %v", o.name(), err)
			}
		}
	}
}

// Scenarios: lines of input are NAME=value for the environment, which starts out as the minimal one unless the command
// is "bare", and -flags for arguments.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			env := minimal()
			switch d.Cmd {
			case "bare":
				env = map[string]string{}
			case "usage":
				return Usage()
			}
			var args []string
			for line := range strings.Lines(d.Input) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-") && strings.Contains(line, "=") {
					with(env, line)
				} else if line != "" {
					args = append(args, strings.Fields(line)...)
				}
			}
			c, err := Parse(args, lookup(env))
			switch {
			case err != nil:
				return err.Error() + "\n"
			case d.Cmd == "unused":
				return strings.Join(append(c.Unused, ""), "\n")
			case d.Cmd == "gates":
				var b strings.Builder
				for _, g := range slices.Sorted(maps.Keys(c.Gates)) {
					fmt.Fprintf(&b, "%s=%t\n", g, c.Gates[g])
				}
				return b.String()
			}
			return c.String()
		})
	})
}
