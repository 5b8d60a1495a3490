// Package provisiontest answers: what custom data makes a node, for tests that need some?
//
// Upstream holds what upstream's own provider sends today, as far as it decides anything; source: its bootstrap template
// at 352646f5 (August 2026), whose variables and values are facts and whose text is not here.
package provisiontest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Token is the bootstrap token of Upstream.
const Token = "abcdef.0123456789abcdef"

// Host is the API server of Upstream.
const Host = "x-dns-abc.hcp.westus3.azmk8s.io"

// Version is the Kubernetes version of Upstream; Flags and the URLs follow it.
const Version = "1.36.2"

// Upstream is the environment that upstream's provider makes for a Standard_D2s_v5 with Ubuntu and Version, for a cluster
// with this CA (PEM). The caller may change it.
func Upstream(ca []byte) map[string]string {
	env := map[string]string{
		"ADMINUSER": "azureuser", "API_SERVER_NAME": Host, "APISERVER_PUBLIC_KEY": "", "KUBE_CA_CRT": encode(string(ca)),
		"TLS_BOOTSTRAP_TOKEN": Token, "KUBERNETES_VERSION": Version, "IS_VHD": "true", "CSE_TIMEOUT": "15m",
		"CSE_HELPERS_FILEPATH":        "/opt/azure/containers/provision_source.sh",
		"CSE_DISTRO_HELPERS_FILEPATH": "/opt/azure/containers/provision_source_distro.sh",
		"CSE_INSTALL_FILEPATH":        "/opt/azure/containers/provision_installs.sh",
		"CSE_DISTRO_INSTALL_FILEPATH": "/opt/azure/containers/provision_installs_distro.sh",
		"CSE_CONFIG_FILEPATH":         "/opt/azure/containers/provision_configs.sh",
		"KUBE_BINARY_URL":             "", "CREDENTIAL_PROVIDER_DOWNLOAD_URL": "",
		"TARGET_CLOUD": "AzurePublicCloud", "TARGET_ENVIRONMENT": "AzurePublicCloud", "LOCATION": "westus3", "CLI_TOOL": "ctr",
		"SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000001", "TENANT_ID": "00000000-0000-0000-0000-000000000002",
		"RESOURCE_GROUP": "MC_rg_c_westus3", "PROVISION_OUTPUT": "/var/log/azure/cluster-provision-cse-output.log",
		"KUBELET_CONFIG_FILE_ENABLED": "false", "KUBELET_CONFIG_FILE_CONTENT": "", "KUBELET_CLIENT_CONTENT": "", "KUBELET_CLIENT_CERT_CONTENT": "",
		"ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION": "false", "ENABLE_SECURE_TLS_BOOTSTRAPPING": "false", "NEEDS_CGROUPV2": "true", "HAS_KUBELET_DISK_TYPE": "false",
		"CONTAINERD_CONFIG_CONTENT": encode(Containerd("runc")), "CONTAINERD_PACKAGE_URL": "", "RUNC_PACKAGE_URL": "",
		"BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER": "", "MCR_REPOSITORY_BASE": "mcr.microsoft.com",
		"NETWORK_PLUGIN": "none", "NETWORK_POLICY": "cilium", "NETWORK_MODE": "",
		"VNET_CNI_PLUGINS_URL":              "https://acs-mirror.azureedge.net/azure-cni/v1.4.32/binaries/azure-vnet-cni-linux-amd64-v1.4.32.tgz",
		"ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE": "false", "IPV6_DUAL_STACK_ENABLED": "false", "ENABLE_HOSTS_CONFIG_AGENT": "false",
		"ENABLE_IMDS_RESTRICTION": "false", "INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE": "false", "HAS_CUSTOM_SEARCH_DOMAIN": "false",
		"OUTBOUND_COMMAND":            "curl -v --insecure --proxy-insecure https://mcr.microsoft.com/v2/",
		"SHOULD_CONFIGURE_HTTP_PROXY": "false", "SHOULD_CONFIGURE_HTTP_PROXY_CA": "false", "SHOULD_CONFIGURE_CUSTOM_CA_TRUST": "false",
		"CUSTOM_CA_TRUST_COUNT": "0", "IS_CUSTOM_CLOUD": "false",
		"SYSCTL_CONTENT": encode("net.ipv4.tcp_retries2=8\nnet.core.message_burst=80\nnet.core.message_cost=40\nnet.core.somaxconn=16384\n" +
			"net.ipv4.tcp_max_syn_backlog=16384\nnet.ipv4.neigh.default.gc_thresh1=4096\nnet.ipv4.neigh.default.gc_thresh2=8192\nnet.ipv4.neigh.default.gc_thresh3=16384\n"),
		"SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE": "false", "SHOULD_CONFIG_SWAP_FILE": "false", "SWAP_FILE_SIZE_MB": "0", "MESSAGE_OF_THE_DAY": "",
		"ENABLE_UNATTENDED_UPGRADES": "false", "DISABLE_SSH": "false", "GPU_NODE": "false", "CONFIG_GPU_DRIVER_IF_NEEDED": "false",
		"GPU_DRIVER_VERSION": "", "GPU_DRIVER_TYPE": "", "GPU_IMAGE_SHA": "", "MIG_NODE": "false", "GPU_INSTANCE_PROFILE": "", "SGX_NODE": "false",
		"KUBELET_NODE_LABELS": "agentpool=x,karpenter.sh/nodepool=general,kubernetes.azure.com/cluster=MC_rg_c_westus3,kubernetes.azure.com/mode=user,kubernetes.azure.com/role=agent",
		"KUBELET_FLAGS":       strings.Join(Flags(), " "),
	}
	maps.Copy(env, identity())
	return env
}

// identity are the values of azure.json.
func identity() map[string]string {
	return map[string]string{
		"SERVICE_PRINCIPAL_CLIENT_ID": "msi", "SERVICE_PRINCIPAL_FILE_CONTENT": encode("msi"), "USER_ASSIGNED_IDENTITY_ID": "00000000-0000-0000-0000-000000000003",
		"USE_MANAGED_IDENTITY_EXTENSION": "true", "USE_INSTANCE_METADATA": "true", "VM_TYPE": "vmss", "SUBNET": "aks-subnet",
		"NETWORK_SECURITY_GROUP": "aks-agentpool-12345678-nsg", "VIRTUAL_NETWORK": "aks-vnet-12345678", "VIRTUAL_NETWORK_RESOURCE_GROUP": "MC_rg_c_westus3",
		"ROUTE_TABLE": "aks-agentpool-12345678-routetable", "PRIMARY_AVAILABILITY_SET": "", "PRIMARY_SCALE_SET": "", "LOAD_BALANCER_SKU": "Standard",
		"CLOUDPROVIDER_BACKOFF": "true", "CLOUDPROVIDER_BACKOFF_MODE": "v2", "CLOUDPROVIDER_BACKOFF_RETRIES": "6", "CLOUDPROVIDER_BACKOFF_EXPONENT": "0",
		"CLOUDPROVIDER_BACKOFF_DURATION": "5", "CLOUDPROVIDER_BACKOFF_JITTER": "0", "CLOUDPROVIDER_RATELIMIT": "true", "CLOUDPROVIDER_RATELIMIT_QPS": "10",
		"CLOUDPROVIDER_RATELIMIT_BUCKET": "100", "CLOUDPROVIDER_RATELIMIT_QPS_WRITE": "10", "CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE": "100",
		"LOAD_BALANCER_DISABLE_OUTBOUND_SNAT": "false", "EXCLUDE_MASTER_FROM_STANDARD_LB": "true", "MAXIMUM_LOADBALANCER_RULE_COUNT": "250",
	}
}

// Flags are the kubelet's flags that upstream's provider sends for Version, in one of the orders in which it does.
func Flags() []string {
	return []string{"--max-pods=250", "--address=0.0.0.0", "--anonymous-auth=false", "--authentication-token-webhook=true", "--authorization-mode=Webhook",
		"--cgroups-per-qos=true", "--client-ca-file=/etc/kubernetes/certs/ca.crt", "--cloud-provider=external", "--cluster-dns=10.0.0.10",
		"--cluster-domain=cluster.local", "--enforce-node-allocatable=pods", "--event-qps=0", "--eviction-hard=memory.available<750Mi",
		"--image-credential-provider-bin-dir=/var/lib/kubelet/credential-provider",
		"--image-credential-provider-config=/var/lib/kubelet/credential-provider-config.yaml", "--image-gc-high-threshold=85",
		"--image-gc-low-threshold=80", "--kube-reserved=cpu=100m,memory=1843Mi", "--kubeconfig=/var/lib/kubelet/kubeconfig",
		"--node-status-update-frequency=10s", "--pod-manifest-path=/etc/kubernetes/manifests", "--pod-max-pids=-1", "--protect-kernel-defaults=true",
		"--read-only-port=0", "--register-with-taints=karpenter.sh/unregistered:NoExecute", "--resolv-conf=/run/systemd/resolve/resolv.conf",
		"--rotate-certificates=true", "--streaming-connection-idle-timeout=4h", "--tls-cert-file=/etc/kubernetes/certs/kubeletserver.crt",
		"--tls-private-key-file=/etc/kubernetes/certs/kubeletserver.key",
		"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
}

// Containerd is a configuration of containerd whose runtime is of this name: runc or nvidia-container-runtime.
func Containerd(runtime string) string {
	cri := `plugins."io.containerd.grpc.v1.cri"`
	return fmt.Sprintf("version = 2\noom_score = 0\n[%[1]s]\n  sandbox_image = \"mcr.microsoft.com/oss/kubernetes/pause:3.6\"\n  [%[1]s.containerd]\n"+
		"    default_runtime_name = %[2]q\n    [%[1]s.containerd.runtimes.%[2]s]\n      runtime_type = \"io.containerd.runc.v2\"\n"+
		"    [%[1]s.containerd.runtimes.%[2]s.options]\n      BinaryName = \"/usr/bin/%[2]s\"\n      SystemdCgroup = true\n"+
		"  [%[1]s.registry]\n    config_path = \"/etc/containerd/certs.d\"\n[metrics]\n  address = \"0.0.0.0:10257\"\n", cri, runtime)
}

// Script is custom data that exports the environment, as upstream's provider does: all that is assigned is exported, and
// the script waits for the image's own before it calls it.
func Script(env map[string]string) []byte {
	var b strings.Builder
	b.WriteString("#!/bin/bash\nset -o allexport\n")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s='%s'\n", name, strings.ReplaceAll(env[name], "'", `'\''`))
	}
	b.WriteString("echo '#EOF' >> /opt/azure/manifest.json\n" +
		"for i in $(seq 1 1200); do\n  if [ -s /opt/azure/containers/provision.sh ]; then\n    break\n  fi\n" +
		"  if [ \"$i\" -eq 1200 ]; then exit 100; else sleep 1; fi\ndone\n" +
		"/usr/bin/nohup /bin/bash -c \"/bin/bash /opt/azure/containers/provision_start.sh\" >> /var/log/azure/cluster-provision-cse-output.log 2>&1\n")
	return []byte(b.String())
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
