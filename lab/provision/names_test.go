package provision

import (
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
)

// named are all variables that the scripts read or once read, by area, each name written out. Source: Azure/AgentBaker at 06836ee2, parts/linux/cloud-init/artifacts,
// and what senders of custom data set for it.
func named() []string {
	return strings.Fields(`
		API_SERVER_NAME KUBE_CA_CRT TLS_BOOTSTRAP_TOKEN KUBERNETES_VERSION CSE_HELPERS_FILEPATH CSE_DISTRO_HELPERS_FILEPATH CSE_INSTALL_FILEPATH
		CSE_DISTRO_INSTALL_FILEPATH CSE_CONFIG_FILEPATH CSE_CONFIG_GPU_FILEPATH CSE_CONFIG_LOCALDNS_FILEPATH CSE_CONFIG_KUBELET_FILEPATH
		CSE_CONFIG_NETWORK_FILEPATH CSE_CONFIG_ADDONS_FILEPATH IS_VHD CSE_TIMEOUT CSE_MAX_DURATION_SECONDS KUBE_BINARY_URL
		CREDENTIAL_PROVIDER_DOWNLOAD_URL PRE_PROVISION_ONLY SKIP_WAAGENT_HOLD TARGET_CLOUD TARGET_ENVIRONMENT LOCATION SUBSCRIPTION_ID TENANT_ID
		RESOURCE_GROUP CLI_TOOL PROVISION_OUTPUT APISERVER_PUBLIC_KEY ADMINUSER

		KUBELET_FLAGS KUBELET_NODE_LABELS KUBELET_CONFIG_FILE_ENABLED KUBELET_CONFIG_FILE_CONTENT KUBELET_CLIENT_CONTENT KUBELET_CLIENT_CERT_CONTENT
		KUBELET_IMAGE ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION NEEDS_CGROUPV2 HAS_KUBELET_DISK_TYPE

		CONTAINERD_CONFIG_CONTENT CONTAINERD_CONFIG_NO_GPU_CONTENT CONTAINERD_PACKAGE_URL RUNC_PACKAGE_URL CUSTOM_KUBE_BINARY_URL
		CUSTOM_KUBE_BINARY_DOWNLOAD_URL PRIVATE_KUBE_BINARY_URL PRIVATE_KUBE_BINARY_DOWNLOAD_URL SHOULD_CONFIG_CONTAINERD_ULIMITS CONTAINERD_ULIMITS
		ARTIFACT_STREAMING_ENABLED BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER MCR_REPOSITORY_BASE SERVICE_ACCOUNT_IMAGE_PULL_ENABLED
		SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_CLIENT_ID SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_TENANT_ID IDENTITY_BINDINGS_LOCAL_AUTHORITY_SNI

		NETWORK_PLUGIN VNET_CNI_PLUGINS_URL NETWORK_POLICY NETWORK_MODE ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE KUBENET_TEMPLATE IPV6_DUAL_STACK_ENABLED
		STANDARD_SECONDARY_NIC_COUNT OUTBOUND_COMMAND ENABLE_IMDS_RESTRICTION INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE ENABLE_HOSTS_CONFIG_AGENT
		HAS_CUSTOM_SEARCH_DOMAIN CUSTOM_SEARCH_DOMAIN_FILEPATH CUSTOM_SEARCH_DOMAIN_NAME CUSTOM_SEARCH_REALM_USER CUSTOM_SEARCH_REALM_PASSWORD

		SHOULD_CONFIGURE_HTTP_PROXY HTTP_PROXY_URLS HTTPS_PROXY_URLS NO_PROXY_URLS PROXY_VARS SHOULD_CONFIGURE_HTTP_PROXY_CA HTTP_PROXY_TRUSTED_CA
		SHOULD_CONFIGURE_CUSTOM_CA_TRUST CUSTOM_CA_TRUST_COUNT CUSTOM_CA_CERT_0 IS_CUSTOM_CLOUD CUSTOM_ENV_JSON AZURE_ENVIRONMENT_FILEPATH
		AKS_CUSTOM_CLOUD_CONTAINER_REGISTRY_DNS_SUFFIX ARM_RESOURCE_ENDPOINT INIT_AKS_CLOUD_FILEPATH REPO_DEPOT_ENDPOINT

		SERVICE_PRINCIPAL_CLIENT_ID SERVICE_PRINCIPAL_FILE_CONTENT USER_ASSIGNED_IDENTITY_ID USE_MANAGED_IDENTITY_EXTENSION USE_INSTANCE_METADATA VM_TYPE
		SUBNET NETWORK_SECURITY_GROUP VIRTUAL_NETWORK VIRTUAL_NETWORK_RESOURCE_GROUP ROUTE_TABLE PRIMARY_AVAILABILITY_SET PRIMARY_SCALE_SET
		LOAD_BALANCER_SKU CLOUDPROVIDER_BACKOFF CLOUDPROVIDER_BACKOFF_MODE CLOUDPROVIDER_BACKOFF_RETRIES CLOUDPROVIDER_BACKOFF_EXPONENT
		CLOUDPROVIDER_BACKOFF_DURATION CLOUDPROVIDER_BACKOFF_JITTER CLOUDPROVIDER_RATELIMIT CLOUDPROVIDER_RATELIMIT_QPS
		CLOUDPROVIDER_RATELIMIT_BUCKET CLOUDPROVIDER_RATELIMIT_QPS_WRITE CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE LOAD_BALANCER_DISABLE_OUTBOUND_SNAT
		EXCLUDE_MASTER_FROM_STANDARD_LB MAXIMUM_LOADBALANCER_RULE_COUNT KMS_PROVIDER_VAULT_NAME

		ENABLE_SECURE_TLS_BOOTSTRAPPING SECURE_TLS_BOOTSTRAPPING_AAD_RESOURCE SECURE_TLS_BOOTSTRAPPING_USER_ASSIGNED_IDENTITY_ID
		SECURE_TLS_BOOTSTRAPPING_VALIDATE_KUBECONFIG_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_ACCESS_TOKEN_TIMEOUT
		SECURE_TLS_BOOTSTRAPPING_GET_INSTANCE_DATA_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_NONCE_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_ATTESTED_DATA_TIMEOUT
		SECURE_TLS_BOOTSTRAPPING_GET_CREDENTIAL_TIMEOUT CUSTOM_SECURE_TLS_BOOTSTRAPPING_CLIENT_DOWNLOAD_URL

		SYSCTL_CONTENT SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE THP_ENABLED THP_DEFRAG SHOULD_CONFIG_SWAP_FILE SWAP_FILE_SIZE_MB MESSAGE_OF_THE_DAY
		ENABLE_UNATTENDED_UPGRADES DISABLE_SSH DISABLE_PUBKEY_AUTH

		GPU_NODE CONFIG_GPU_DRIVER_IF_NEEDED GPU_DRIVER_VERSION GPU_DRIVER_TYPE GPU_IMAGE_SHA GPU_NEEDS_FABRIC_MANAGER MIG_NODE GPU_INSTANCE_PROFILE
		NVIDIA_MIG_STRATEGY NVIDIA_MIG_PROFILE_LAYOUT ENABLE_MANAGED_GPU ENABLE_MANAGED_GPU_DRA

		SHOULD_ENABLE_LOCALDNS LOCALDNS_COREFILE_BASE LOCALDNS_GENERATED_COREFILE LOCALDNS_COREFILE_WITH_HOSTS SHOULD_ENABLE_HOSTS_PLUGIN
		LOCALDNS_CRITICAL_FQDNS LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS LOCALDNS_CPU_LIMIT LOCALDNS_MEMORY_LIMIT

		AZURE_PRIVATE_REGISTRY_SERVER BLOCK_OUTBOUND_NETWORK CNI_PLUGINS_URL CONTAINERD_DOWNLOAD_URL_BASE CONTAINERD_VERSION CONTAINER_RUNTIME
		DHCPV6_CONFIG_FILEPATH DHCPV6_SERVICE_FILEPATH ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED ENABLE_TLS_BOOTSTRAPPING HYPERKUBE_URL IS_KRUSTLET IS_KATA
		KUBEPROXY_URL MOBY_VERSION NEEDS_CONTAINERD NEEDS_DOCKER_LOGIN RUNC_VERSION SGX_NODE TELEPORTD_PLUGIN_DOWNLOAD_URL TELEPORT_ENABLED`)
}

// worlds are the ways of sending custom data in which one variable or another has a meaning, each as a change to what upstream sends.
func worlds() []map[string]string {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	node := func(v string) string {
		return "https://acs-mirror.azureedge.net/kubernetes/v" + v + "/binaries/kubernetes-node-linux-amd64.tar.gz"
	}
	return []map[string]string{
		nil,
		gpuBase("cuda-lts", "580.159.04", "20260629214430"),
		with(gpuBase("cuda-lts", "580.159.04", "20260629214430"), "MIG_NODE", "true"),
		with(gpuBase("cuda-lts", "580.159.04", "20260629214430"), "ENABLE_MANAGED_GPU", "true"),
		{"SHOULD_CONFIGURE_HTTP_PROXY": "true", "SHOULD_CONFIGURE_HTTP_PROXY_CA": "true", "HTTP_PROXY_TRUSTED_CA": b64("x")},
		{"SHOULD_CONFIGURE_CUSTOM_CA_TRUST": "true", "CUSTOM_CA_TRUST_COUNT": "1", "CUSTOM_CA_CERT_0": b64("y")},
		{"IS_CUSTOM_CLOUD": "true"}, {"SHOULD_CONFIG_SWAP_FILE": "true", "SWAP_FILE_SIZE_MB": "100"},
		{"SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE": "true", "THP_ENABLED": "always", "THP_DEFRAG": "always"}, {"SHOULD_CONFIG_CONTAINERD_ULIMITS": "true"},
		{"ENABLE_SECURE_TLS_BOOTSTRAPPING": "true"}, {"TLS_BOOTSTRAP_TOKEN": unset}, {"KUBELET_CONFIG_FILE_ENABLED": "true"}, {"NETWORK_PLUGIN": "azure"},
		{"NETWORK_MODE": "transparent"}, {"SERVICE_ACCOUNT_IMAGE_PULL_ENABLED": "true"}, {"HAS_CUSTOM_SEARCH_DOMAIN": "true"},
		{"CLOUDPROVIDER_BACKOFF_MODE": "v1", "CLOUDPROVIDER_BACKOFF_EXPONENT": "1", "CLOUDPROVIDER_BACKOFF_JITTER": "1"},
		{"KUBERNETES_VERSION": "1.32.4", "KUBE_BINARY_URL": node("1.32.4")},
		{"SHOULD_ENABLE_LOCALDNS": "true", "LOCALDNS_COREFILE_BASE": b64(".:53 {\n}\n"), "SHOULD_ENABLE_HOSTS_PLUGIN": "true"},
		{"SHOULD_ENABLE_LOCALDNS": "true", "LOCALDNS_COREFILE_BASE": b64(".:53 {\n}\n"), "SHOULD_ENABLE_HOSTS_PLUGIN": "true",
			"LOCALDNS_CRITICAL_FQDNS": "x.example.com", "LOCALDNS_COREFILE_WITH_HOSTS": b64(".:53 {\n}\n")},
		{"API_SERVER_NAME": "elsewhere.io"}, {"NETWORK_PLUGIN": "azure", "NETWORK_POLICY": "azure"},
		{"SHOULD_ENABLE_LOCALDNS": "true", "LOCALDNS_GENERATED_COREFILE": b64(".:53 {\n}\n")},
	}
}

// base is a world, and what a machine arrives at in it.
type base struct {
	change  map[string]string
	arrives Outcome
}

// read reports whether what a machine arrives at depends on the variable, in some world. Values that the format refuses are not tried: of these people
// are warned before anything reads them.
func read(name string, format Format, bases []base, arrive func(map[string]string) Outcome) bool {
	values := []string{unset, "true", "false"}
	if format != Flag {
		values = []string{unset, "true", "7", "transparent", "1.30.1", "/etc/x", "https://example.com/x.tgz", base64.StdEncoding.EncodeToString([]byte("a=1\n"))}
	}
	for _, b := range bases {
		for _, v := range values {
			if v == unset || format.check(v) == nil {
				change := map[string]string{}
				maps.Copy(change, b.change)
				change[name] = v
				if !reflect.DeepEqual(arrive(change), b.arrives) {
					return true
				}
			}
		}
	}
	return false
}

// Every variable that the scripts read makes a difference here, or stands among the ignored with the reason; one that nobody knows fails with its name.
func TestEveryVariableIsReadOrIgnoredForAReason(t *testing.T) {
	ca, names := authority(t), named()
	arrive := func(change map[string]string) Outcome {
		env := provisiontest.Upstream(ca)
		for k, v := range change {
			if env[k] = v; v == unset {
				delete(env, k)
			}
		}
		m := small()
		if change["GPU_NODE"] == "true" {
			m.Size, m.GPUs = "Standard_NC4as_T4_v3", 1
		}
		return boots(provisiontest.Script(env), m)
	}
	known := map[string]Variable{"CUSTOM_CA_CERT_0": {Name: "CUSTOM_CA_CERT_0", Format: Base64}} // one of as many as CUSTOM_CA_TRUST_COUNT says
	for _, v := range Contract() {
		known[v.Name] = v
		if !slices.Contains(names, v.Name) {
			t.Errorf("%s is in the contract, and no script is named that reads it", v.Name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) || len(names) < len(known) {
		t.Errorf("a name stands twice among %d", len(names))
	}
	reasons := ignored()
	var bases []base
	for _, change := range worlds() {
		bases = append(bases, base{change, arrive(change)})
	}
	count := 0
	for _, name := range names {
		v, ok := known[name]
		reason := reasons[name]
		delete(reasons, name)
		switch {
		case slices.Contains(Retired(), name):
		case !ok && reason == "":
			t.Errorf("%s is read by the scripts, and nobody here knows it", name)
		case ok && read(name, v.Format, bases, arrive):
			if count++; reason != "" {
				t.Errorf("%s is read: take it out of the ignored", name)
			}
		case reason == "":
			t.Errorf("%s is in the contract, makes no difference, and no reason is given", name)
		}
	}
	for name := range reasons {
		t.Errorf("%s is ignored, and no script reads it", name)
	}
	t.Logf("%d of %d variables make a difference", count, len(names))
}

// ignored are variables that make no difference to this machine, with the reason.
func ignored() map[string]string {
	out := map[string]string{
		"ADMINUSER":                         "the administrator's account is not simulated, and errors about it are passed over",
		"IS_VHD":                            "every image of the lab carries the marker of a golden image, which decides then",
		"IS_KATA":                           "the lab has no Kata",
		"SKIP_WAAGENT_HOLD":                 "two waits for the agent's package are not simulated",
		"CSE_MAX_DURATION_SECONDS":          "how long the scripts try again: the lab's network answers or refuses at once",
		"CONFIG_GPU_DRIVER_IF_NEEDED":       "a driver that cannot be validated is installed in both ways, and the lab's images carry none that could",
		"CONTAINERD_CONFIG_NO_GPU_CONTENT":  "used with the tag SkipGpuDriverInstall on the virtual machine, which the lab does not read",
		"NVIDIA_MIG_STRATEGY":               "an argument of the managed plugin, of which nothing runs",
		"NVIDIA_MIG_PROFILE_LAYOUT":         "passed on to a script that does not look at it yet",
		"ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE": "of kubenet, which the lab's clusters have not",
		"KUBENET_TEMPLATE":                  "of kubenet, which the lab's clusters have not",
		"STANDARD_SECONDARY_NIC_COUNT":      "the lab's machines have one network card",
		"DISABLE_PUBKEY_AUTH":               "nobody logs in to the lab's machines",
		"TARGET_ENVIRONMENT":                "a word in messages in the public cloud",
		"CLI_TOOL":                          "a word in messages",
		"PROVISION_OUTPUT":                  "a word in messages",
	}
	for reason, names := range map[string]string{
		"the lab is the public cloud": `IS_CUSTOM_CLOUD CUSTOM_ENV_JSON AKS_CUSTOM_CLOUD_CONTAINER_REGISTRY_DNS_SUFFIX
			ARM_RESOURCE_ENDPOINT INIT_AKS_CLOUD_FILEPATH REPO_DEPOT_ENDPOINT`,
		"nothing pulls images on the lab's machines": "BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER MCR_REPOSITORY_BASE",
		"programs come from the image and its mirror only": `CONTAINERD_PACKAGE_URL RUNC_PACKAGE_URL CUSTOM_KUBE_BINARY_URL CUSTOM_KUBE_BINARY_DOWNLOAD_URL
			PRIVATE_KUBE_BINARY_URL PRIVATE_KUBE_BINARY_DOWNLOAD_URL`,
		"of images to come, whose scripts nobody has read": "CSE_CONFIG_GPU_FILEPATH CSE_CONFIG_LOCALDNS_FILEPATH CSE_CONFIG_KUBELET_FILEPATH CSE_CONFIG_NETWORK_FILEPATH CSE_CONFIG_ADDONS_FILEPATH",
		"the lab's machines join no domain":                "HAS_CUSTOM_SEARCH_DOMAIN CUSTOM_SEARCH_DOMAIN_FILEPATH CUSTOM_SEARCH_DOMAIN_NAME CUSTOM_SEARCH_REALM_USER CUSTOM_SEARCH_REALM_PASSWORD",
		"pods of the lab have no network to the metadata":  "ENABLE_IMDS_RESTRICTION INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE",
		"the service does not run here, and the token is used": `SECURE_TLS_BOOTSTRAPPING_AAD_RESOURCE SECURE_TLS_BOOTSTRAPPING_USER_ASSIGNED_IDENTITY_ID
			SECURE_TLS_BOOTSTRAPPING_VALIDATE_KUBECONFIG_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_ACCESS_TOKEN_TIMEOUT
			SECURE_TLS_BOOTSTRAPPING_GET_INSTANCE_DATA_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_NONCE_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_ATTESTED_DATA_TIMEOUT
			SECURE_TLS_BOOTSTRAPPING_GET_CREDENTIAL_TIMEOUT CUSTOM_SECURE_TLS_BOOTSTRAPPING_CLIENT_DOWNLOAD_URL`,
	} {
		for _, name := range strings.Fields(names) {
			out[name] = reason
		}
	}
	return out
}
