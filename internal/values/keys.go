package values

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// key is one value of the chart that depends on the cluster.
type key struct {
	// path is where it stands in a values file, env what the controller calls it.
	path, env string
	// list says that the value is a list; the environment has it with commas.
	list bool
	// need says what happens without it; "" for one that may be left out.
	need string
	// ask is how to find it: a command, in which $RG, $NAME and $MC stand for the cluster's group, its name and the group of its nodes.
	ask string
}

const (
	askCluster  = `az aks show -g "$RG" -n "$NAME" -o json > aks.json, then: -f aks.json`
	askNetworks = `az network vnet list -g "$MC" -o json > vnets.json, then: -f vnets.json`
	askIdentity = `az identity show -g "$RG" -n karpentermsi -o json > identity.json, ` +
		`then: -f identity.json`
)

// keys are in the order of the chart.
func keys() []key {
	return []key{
		{path: "settings.clusterName", env: "CLUSTER_NAME", ask: askCluster,
			need: "machines are tagged with it"},
		{path: "settings.clusterEndpoint", env: "CLUSTER_ENDPOINT", ask: askCluster,
			need: "new machines join there"},
		{path: "settings.azure.subscriptionID", env: "AZURE_SUBSCRIPTION_ID", ask: askCluster,
			need: "machines are bought in it"},
		{path: "settings.azure.tenantID", env: "AZURE_TENANT_ID", ask: askIdentity},
		{path: "settings.azure.clientID", env: "AZURE_CLIENT_ID", ask: askIdentity,
			need: "the controller is nobody in Azure without it"},
		{path: "settings.azure.location", env: "LOCATION", ask: askCluster,
			need: "machines are bought there"},
		{path: "settings.azure.resourceGroup", env: "ARM_RESOURCE_GROUP", ask: askCluster},
		{path: "settings.azure.nodeResourceGroup", env: "AZURE_NODE_RESOURCE_GROUP",
			ask: askCluster, need: "machines are made in it"},
		{path: "settings.azure.vnetSubnetID", env: "VNET_SUBNET_ID", ask: askNetworks,
			need: "machines get their addresses from it"},
		{path: "settings.azure.vnetGUID", env: "VNET_GUID", ask: askNetworks},
		{path: "settings.azure.sshPublicKey", env: "SSH_PUBLIC_KEY", ask: askCluster +
			"; or --ssh-public-key-file ~/.ssh/id_rsa.pub",
			need: "Azure makes no Linux machine without a key or a password"},
		{path: "settings.azure.linuxAdminUsername", env: "LINUX_ADMIN_USERNAME"},
		{path: "settings.azure.nodeIdentities", env: "NODE_IDENTITIES", list: true,
			ask: askCluster, need: "kubelets pull images with it"},
		{path: "settings.azure.kubeletIdentityClientID", env: "KUBELET_IDENTITY_CLIENT_ID",
			ask: askCluster, need: "kubelets are told to use it"},
		{path: "settings.azure.networkPlugin", env: "NETWORK_PLUGIN", ask: askCluster,
			need: "machines set up the network by it"},
		{path: "settings.azure.networkPluginMode", env: "NETWORK_PLUGIN_MODE", ask: askCluster},
		{path: "settings.azure.networkDataplane", env: "NETWORK_DATAPLANE", ask: askCluster},
		{path: "settings.azure.networkPolicy", env: "NETWORK_POLICY"},
		{path: "settings.azure.dnsServiceIP", env: "DNS_SERVICE_IP"},
		{path: "settings.azure.nodeOSDiskDiskEncryptionSetID",
			env: "NODE_OSDISK_DISKENCRYPTIONSET_ID"},
	}
}

// others depend on what people want, and matter to who looks at an installation.
func others() []key {
	return []key{
		{path: "settings.bootstrapTokenExtraGroups", env: "BOOTSTRAP_TOKEN_EXTRA_GROUPS",
			list: true},
		{path: "controller.metrics.secure", env: "METRICS_SECURE"},
		{path: "controller.metrics.port", env: "METRICS_PORT"},
	}
}

// Keys are the paths of all values that can be found, in the order of the chart.
func Keys() []string {
	var out []string
	for _, k := range keys() {
		out = append(out, k.path)
	}
	return out
}

// Env is what the chart makes of a values file for the controller, as far as it depends on the cluster: environment names and values, the raw
// environment (controller.env) on top. The error names what is not a scalar or a list of scalars.
func Env(file map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for _, k := range append(keys(), others()...) {
		v := dig(file, strings.Split(k.path, ".")...)
		if v == nil {
			continue
		}
		s, err := flat(v)
		if err != nil {
			return nil, fmt.Errorf("%s %w", k.path, err)
		}
		if s != "" || k.emptyCounts() {
			out[k.env] = s
		}
	}
	list, _ := dig(file, "controller", "env").([]any)
	for _, x := range list {
		o, _ := x.(map[string]any)
		name, _ := o["name"].(string)
		if v, ok := o["value"]; ok && name != "" {
			s, err := flat(v)
			if err != nil {
				return nil, fmt.Errorf("controller.env %s %w", name, err)
			}
			out[name] = s
		}
	}
	return out, nil
}

// emptyCounts: for these, empty is a choice and not an absence.
func (k key) emptyCounts() bool {
	return slices.Contains([]string{"NETWORK_PLUGIN_MODE", "NETWORK_DATAPLANE"}, k.env)
}

func flat(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, float64, int64, int:
		return fmt.Sprint(v), nil
	case []any:
		var all []string
		for _, x := range v {
			s, err := flat(x)
			if err != nil {
				return "", err
			}
			all = append(all, s)
		}
		return strings.Join(all, ","), nil
	}
	return "", fmt.Errorf("is %T, want text or a list of texts", v)
}

// dig returns what stands at a path; nil where there is nothing.
func dig(v any, path ...string) any {
	for _, p := range path {
		o, _ := v.(map[string]any)
		v = o[p]
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := dig(v, path...).(string)
	return s
}

// AccountOf is the name of the controller's service account by a values file for a release named karpenter.
func AccountOf(file map[string]any) string {
	name := text(file, "serviceAccount", "name")
	if create, set := dig(file, "serviceAccount", "create").(bool); set && !create {
		return cmp.Or(name, "default")
	}
	return cmp.Or(name, text(file, "fullnameOverride"), "karpenter")
}
