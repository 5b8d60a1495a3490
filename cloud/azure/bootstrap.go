package azure

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/cloud"
)

// maxCustomData is the most that Azure takes as a machine's custom data, in bytes after base64.
const maxCustomData = 64 << 10

// bootScript is where AKS' node images keep their first-boot script. It reads the environment below.
const bootScript = "/opt/azure/containers/provision_start.sh"

// customData writes what the machine's image reads on its first boot: a bash script that exports the variables of the
// image's contract, sorted by name, and runs the image's own script; base64. The same order gives the same bytes.
// It fails with cloud.Invalid when the order cannot be written down: a value that one of its readers would take for
// something else (see accept.go), or more than 64 KiB.
func customData(o cloud.Order, s SKU, cfg Config, n nodeNetwork) (string, error) {
	if bad := problemsOf(o.Class.Azure); len(bad) > 0 {
		return "", cloud.Errorf(cloud.Invalid, "%s: %s", o.Class.Ref, strings.Join(bad, "; "))
	}
	host, err := addressOf(o.Cluster.Endpoint)
	if err != nil {
		return "", err
	}
	if dns := dnsIP(o, cfg.Network); !isIP(dns) {
		return "", cloud.Errorf(cloud.Invalid, "cluster DNS: %q is not an IP address", dns)
	}
	labels, flags := nodeLabels(o, s, cfg), kubeletFlags(o, s, cfg.Network)
	if err := acceptOrder(labels, o.Taints); err != nil {
		return "", err
	}
	own := clusterVars(o, host, cfg, n)
	maps.Copy(own, machineVars(o, s, cfg))
	own["KUBELET_FLAGS"], own["KUBELET_NODE_LABELS"] = strings.Join(flags, " "), labelFlag(labels)
	if err := readable(own, flags); err != nil {
		return "", err
	}
	vars := imageConstants()
	maps.Copy(vars, own)
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(vars[name]))
	}
	b.WriteString("/usr/bin/nohup /bin/bash " + bootScript + "\n")
	data := base64.StdEncoding.EncodeToString([]byte(b.String()))
	if len(data) > maxCustomData {
		return "", cloud.Errorf(cloud.Invalid, "custom data is %d bytes, Azure takes %d: fewer labels or taints are needed", len(data), maxCustomData)
	}
	return data, nil
}

// FirstBoot returns the custom data of an order's machine, base64, as Launch would send it, but for the names of the
// network's own resources. It asks nobody: it is for those who hold it against the software that reads it.
func FirstBoot(o cloud.Order, s SKU, cfg Config) (string, error) {
	return customData(o, s, cfg.withDefaults(), nodeNetwork{})
}

// quote writes a value so that bash reads exactly it: in double quotes, with the four characters that keep their
// meaning there escaped. A "!" is safe because scripts have no history expansion.
func quote(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(v) + `"`
}

// imageConstants are the variables of the image's contract that never differ between our machines. Names and values:
// the contract that AKS' node images publish.
func imageConstants() map[string]string {
	out := map[string]string{
		"BLOCK_OUTBOUND_NETWORK":                       "false",
		"CLI_TOOL":                                     "ctr",
		"CLOUDPROVIDER_BACKOFF":                        "true",
		"CLOUDPROVIDER_BACKOFF_DURATION":               "5",
		"CLOUDPROVIDER_BACKOFF_EXPONENT":               "0",
		"CLOUDPROVIDER_BACKOFF_JITTER":                 "0",
		"CLOUDPROVIDER_BACKOFF_MODE":                   "v2",
		"CLOUDPROVIDER_BACKOFF_RETRIES":                "6",
		"CLOUDPROVIDER_RATELIMIT":                      "true",
		"CLOUDPROVIDER_RATELIMIT_BUCKET":               "100",
		"CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE":         "100",
		"CLOUDPROVIDER_RATELIMIT_QPS":                  "10",
		"CLOUDPROVIDER_RATELIMIT_QPS_WRITE":            "10",
		"CSE_CONFIG_FILEPATH":                          "/opt/azure/containers/provision_configs.sh",
		"CSE_DISTRO_HELPERS_FILEPATH":                  "/opt/azure/containers/provision_source_distro.sh",
		"CSE_DISTRO_INSTALL_FILEPATH":                  "/opt/azure/containers/provision_installs_distro.sh",
		"CSE_HELPERS_FILEPATH":                         "/opt/azure/containers/provision_source.sh",
		"CSE_INSTALL_FILEPATH":                         "/opt/azure/containers/provision_installs.sh",
		"CSE_TIMEOUT":                                  "15m",
		"CUSTOM_CA_TRUST_COUNT":                        "0",
		"CUSTOM_SEARCH_DOMAIN_FILEPATH":                "/opt/azure/containers/setup-custom-search-domains.sh",
		"DHCPV6_CONFIG_FILEPATH":                       "/opt/azure/containers/enable-dhcpv6.sh",
		"DHCPV6_SERVICE_FILEPATH":                      "/etc/systemd/system/dhcpv6.service",
		"EXCLUDE_MASTER_FROM_STANDARD_LB":              "true",
		"IS_VHD":                                       "true",
		"KUBELET_CONFIG_FILE_ENABLED":                  "false",
		"LOAD_BALANCER_SKU":                            "Standard",
		"MAXIMUM_LOADBALANCER_RULE_COUNT":              "250",
		"MCR_REPOSITORY_BASE":                          "mcr.microsoft.com",
		"NEEDS_CGROUPV2":                               "true",
		"NEEDS_CONTAINERD":                             "true",
		"NETWORK_MODE":                                 "transparent",
		"OUTBOUND_COMMAND":                             "curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/",
		"PROVISION_OUTPUT":                             "/var/log/azure/cluster-provision-cse-output.log",
		"SERVICE_PRINCIPAL_CLIENT_ID":                  "msi",
		"SERVICE_PRINCIPAL_FILE_CONTENT":               base64.StdEncoding.EncodeToString([]byte("msi")),
		"USE_INSTANCE_METADATA":                        "true",
		"USE_MANAGED_IDENTITY_EXTENSION":               "true",
		"VM_TYPE":                                      "standard",
		"BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER":  "",
		"ENABLE_IMDS_RESTRICTION":                      "false",
		"INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE": "false",
	}
	for _, off := range []string{
		"ARTIFACT_STREAMING_ENABLED", "DISABLE_PUBKEY_AUTH", "DISABLE_SSH", "ENABLE_HOSTS_CONFIG_AGENT",
		"ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION", "ENABLE_SECURE_TLS_BOOTSTRAPPING", "ENABLE_UNATTENDED_UPGRADES",
		"ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE", "HAS_CUSTOM_SEARCH_DOMAIN",
		"HAS_KUBELET_DISK_TYPE", "IPV6_DUAL_STACK_ENABLED", "IS_CUSTOM_CLOUD", "IS_KATA", "LOAD_BALANCER_DISABLE_OUTBOUND_SNAT",
		"MIG_NODE", "PRE_PROVISION_ONLY", "SGX_NODE", "SHOULD_CONFIGURE_CUSTOM_CA_TRUST", "SHOULD_CONFIGURE_HTTP_PROXY",
		"SHOULD_CONFIGURE_HTTP_PROXY_CA", "SHOULD_CONFIG_CONTAINERD_ULIMITS", "SHOULD_CONFIG_SWAP_FILE",
		"SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE", "TELEPORT_ENABLED",
	} {
		out[off] = "false"
	}
	return out
}

// clusterVars tell the machine where it is and whom to join.
func clusterVars(o cloud.Order, apiServer string, cfg Config, n nodeNetwork) map[string]string {
	subnet, _ := parseSubnetID(subnetOf(o.Class.Azure, cfg))
	ca := base64.StdEncoding.EncodeToString(o.Cluster.CA)
	return map[string]string{
		"API_SERVER_NAME":                apiServer,
		"APISERVER_PUBLIC_KEY":           "",
		"KUBE_CA_CRT":                    ca,
		"TLS_BOOTSTRAP_TOKEN":            o.Token,
		"KUBERNETES_VERSION":             strings.TrimPrefix(o.Cluster.Version, "v"),
		"TARGET_CLOUD":                   cfg.Environment,
		"TARGET_ENVIRONMENT":             cfg.Environment,
		"TENANT_ID":                      cfg.TenantID,
		"SUBSCRIPTION_ID":                cfg.SubscriptionID,
		"RESOURCE_GROUP":                 cfg.NodeResourceGroup,
		"LOCATION":                       cfg.Location,
		"VIRTUAL_NETWORK":                subnet.Vnet,
		"VIRTUAL_NETWORK_RESOURCE_GROUP": subnet.ResourceGroup,
		"SUBNET":                         subnet.Name,
		"NETWORK_SECURITY_GROUP":         n.securityGroup,
		"ROUTE_TABLE":                    n.routeTable,
		"PRIMARY_AVAILABILITY_SET":       "",
		"PRIMARY_SCALE_SET":              "",
		"NETWORK_PLUGIN":                 imageNetworkPlugin(cfg.Network),
		"NETWORK_POLICY":                 cfg.Network.Policy,
		"USER_ASSIGNED_IDENTITY_ID":      cfg.KubeletIdentityClientID,
	}
}

// machineVars tell the machine what kind of node it is, but for the kubelet's flags and labels.
func machineVars(o cloud.Order, s SKU, cfg Config) map[string]string {
	driver := gpuDriverFor(s, o.Class.Azure.GPUMode)
	return map[string]string{
		"ADMINUSER":                          cfg.AdminUsername,
		"KUBE_BINARY_URL":                    kubeBinaryURL(o.Cluster.Version, s.Arch),
		"CREDENTIAL_PROVIDER_DOWNLOAD_URL":   credentialProviderURL(o.Cluster.Version, s.Arch),
		"VNET_CNI_PLUGINS_URL":               fmt.Sprintf("%s/azure-cni/v1.4.32/binaries/azure-vnet-cni-linux-%s-v1.4.32.tgz", mirror, s.Arch),
		"CNI_PLUGINS_URL":                    fmt.Sprintf("%s/cni-plugins/v1.1.1/binaries/cni-plugins-linux-%s-v1.1.1.tgz", mirror, s.Arch),
		"GPU_NODE":                           strconv.FormatBool(driver.version != ""),
		"CONFIG_GPU_DRIVER_IF_NEEDED":        strconv.FormatBool(driver.version != ""),
		"ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED": "false",
		"GPU_DRIVER_VERSION":                 driver.version,
		"GPU_DRIVER_TYPE":                    driver.kind,
		"GPU_IMAGE_SHA":                      driver.suffix,
		"GPU_NEEDS_FABRIC_MANAGER":           strconv.FormatBool(driver.fabric),
		"SYSCTL_CONTENT":                     base64.StdEncoding.EncodeToString([]byte(sysctls)),
		"GPU_INSTANCE_PROFILE":               "",
		"CONTAINERD_CONFIG_CONTENT":          base64.StdEncoding.EncodeToString([]byte(containerdConfig(driver.version != ""))),
		"CONTAINERD_CONFIG_NO_GPU_CONTENT":   base64.StdEncoding.EncodeToString([]byte(containerdConfig(false))),
	}
}

// imageNetworkPlugin is what the image must set up itself: nothing where a DaemonSet brings the network.
func imageNetworkPlugin(n Network) string {
	if n.Plugin != pluginAzure || n.Mode == modeOverlay || n.Dataplane == dataplaneCilium {
		return pluginNone
	}
	return pluginAzure
}

// mirror is where AKS publishes what its images do not carry.
const mirror = "https://acs-mirror.azureedge.net"

// kubeBinaryURL is where the image fetches Kubernetes; from 1.34 on it is part of the image.
func kubeBinaryURL(version, arch string) string {
	if atLeast(version, 1, 34) {
		return ""
	}
	v := strings.TrimPrefix(version, "v")
	return fmt.Sprintf("%s/kubernetes/v%s/binaries/kubernetes-node-linux-%s.tar.gz", mirror, v, arch)
}

// credentialProviderURL is where the image fetches the kubelet's registry credential provider; before 1.30 the
// kubelet had it built in.
func credentialProviderURL(version, arch string) string {
	v := "1.33.0"
	switch {
	case !atLeast(version, 1, 30):
		return ""
	case !atLeast(version, 1, 31):
		v = "1.30.12"
	case !atLeast(version, 1, 32):
		v = "1.31.6"
	case !atLeast(version, 1, 33):
		v = "1.32.5"
	}
	return fmt.Sprintf("%s/cloud-provider-azure/v%s/binaries/azure-acr-credential-provider-linux-%s-v%s.tar.gz", mirror, v, arch, v)
}

// sysctls are the kernel settings that AKS gives every node. The image writes what it is sent to /etc/sysctl.d as it
// stands, and an empty file when it is sent nothing. Source: AKS' defaults, as AgentBaker publishes them.
const sysctls = `net.ipv4.tcp_retries2=8
net.core.message_burst=80
net.core.message_cost=40
net.core.somaxconn=16384
net.ipv4.tcp_max_syn_backlog=16384
net.ipv4.neigh.default.gc_thresh1=4096
net.ipv4.neigh.default.gc_thresh2=8192
net.ipv4.neigh.default.gc_thresh3=16384
`

// containerdConfig is containerd's configuration (version 2 of its format).
func containerdConfig(gpu bool) string {
	runtime, binary := "runc", "/usr/bin/runc"
	if gpu {
		runtime, binary = "nvidia-container-runtime", "/usr/bin/nvidia-container-runtime"
	}
	return fmt.Sprintf(`version = 2
oom_score = 0
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "mcr.microsoft.com/oss/kubernetes/pause:3.6"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = %q
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s.options]
      BinaryName = %q
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
[metrics]
  address = "0.0.0.0:10257"
`, runtime, runtime, runtime, binary)
}
