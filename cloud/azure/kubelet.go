package azure

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// defaultDNS is AKS' default cluster IP of the DNS service.
const defaultDNS = "10.0.0.10"

// defaultCFSPeriod is the kubelet's own period of CPU limits.
const defaultCFSPeriod = 100 * time.Millisecond

// kubeletFlags are the flags of the machine's kubelet, "--k=v" sorted. Values follow AKS' node images: webhook
// authentication, rotated client certificates, an out-of-tree cloud provider, and the reservations on which
// the catalogue's allocatable is computed.
func kubeletFlags(o cloud.Order, s SKU, net Network) []string {
	f := map[string]string{
		"address":                           "0.0.0.0",
		"anonymous-auth":                    "false",
		"authentication-token-webhook":      "true",
		"authorization-mode":                "Webhook",
		"cgroups-per-qos":                   "true",
		"client-ca-file":                    "/etc/kubernetes/certs/ca.crt",
		"cloud-provider":                    "external",
		"cluster-dns":                       dnsIP(o, net),
		"cluster-domain":                    "cluster.local",
		"enforce-node-allocatable":          "pods",
		"event-qps":                         "0",
		"eviction-hard":                     fmt.Sprintf("memory.available<%dMi", evictionMi),
		"kube-reserved":                     fmt.Sprintf("cpu=%dm,memory=%dMi", kubeReservedMilliCPU(s.CPUs), kubeReservedMi(s.MemoryGiB)),
		"max-pods":                          strconv.FormatInt(maxPodsOf(o.Class.Azure, net), 10),
		"node-status-update-frequency":      "10s",
		"pod-manifest-path":                 "/etc/kubernetes/manifests",
		"pod-max-pids":                      "-1",
		"protect-kernel-defaults":           "true",
		"read-only-port":                    "0",
		"register-with-taints":              taintFlag(o.Taints),
		"resolv-conf":                       "/run/systemd/resolve/resolv.conf",
		"rotate-certificates":               "true",
		"streaming-connection-idle-timeout": "4h",
		"tls-cert-file":                     "/etc/kubernetes/certs/kubeletserver.crt",
		"tls-private-key-file":              "/etc/kubernetes/certs/kubeletserver.key",
		"tls-cipher-suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256," +
			"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	}
	if !atLeast(o.Cluster.Version, 1, 34) {
		f["cloud-config"] = "/etc/kubernetes/azure.json"
	}
	if !atLeast(o.Cluster.Version, 1, 35) {
		f["pod-infra-container-image"] = "mcr.microsoft.com/oss/kubernetes/pause:3.6"
	}
	if !atLeast(o.Cluster.Version, 1, 31) {
		f["keep-terminated-pod-volumes"] = "false"
	}
	if atLeast(o.Cluster.Version, 1, 30) {
		f["image-credential-provider-config"] = "/var/lib/kubelet/credential-provider-config.yaml"
		f["image-credential-provider-bin-dir"] = "/var/lib/kubelet/credential-provider"
	}
	classFlags(f, o.Class.Azure.Kubelet, o.Cluster.Version)
	out := make([]string, 0, len(f))
	for _, k := range slices.Sorted(maps.Keys(f)) {
		if f[k] != "" {
			out = append(out, "--"+k+"="+f[k])
		}
	}
	return out
}

// classFlags lets the class speak: a field that is unset changes nothing, and one that is set changes the flags that are
// named after it. The class has passed problemsOf.
func classFlags(f map[string]string, k model.AzureKubelet, version string) {
	set := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	low, high := imageGC(k)
	f["image-gc-low-threshold"], f["image-gc-high-threshold"] = strconv.Itoa(int(low)), strconv.Itoa(int(high))
	set("cpu-manager-policy", k.CPUManagerPolicy)
	set("topology-manager-policy", k.TopologyManagerPolicy)
	set("allowed-unsafe-sysctls", strings.Join(slices.Sorted(slices.Values(k.AllowedUnsafeSysctls)), ","))
	set("container-log-max-size", logSize(k.ContainerLogMaxSize))
	if k.CPUCFSQuota != nil {
		f["cpu-cfs-quota"] = strconv.FormatBool(*k.CPUCFSQuota)
	}
	if p := k.CPUCFSQuotaPeriod; p != nil {
		f["cpu-cfs-quota-period"] = p.String()
		// Before 1.36 the kubelet exits at any other period unless its gate is on; from 1.40 on the gate has no name.
		// Source: pkg/features of Kubernetes.
		if *p != defaultCFSPeriod && !atLeast(version, 1, 36) {
			f["feature-gates"] = "CustomCPUCFSQuotaPeriod=true"
		}
	}
	if k.ContainerLogMaxFiles != nil {
		f["container-log-max-files"] = strconv.Itoa(int(*k.ContainerLogMaxFiles))
	}
	if k.PodPidsLimit != nil {
		f["pod-max-pids"] = strconv.FormatInt(*k.PodPidsLimit, 10)
	}
}

func dnsIP(o cloud.Order, net Network) string {
	switch {
	case net.DNSServiceIP != "":
		return net.DNSServiceIP
	case o.Cluster.DNS != "":
		return o.Cluster.DNS
	}
	return defaultDNS
}

func isOverlay(n Network) bool { return n.Plugin == pluginAzure && n.Mode == modeOverlay }

func isIP(v string) bool {
	_, err := netip.ParseAddr(v)
	return err == nil
}

// taintFlag prints "key=value:Effect,…" sorted, one taint for each key and effect: the kubelet refuses a second.
func taintFlag(taints []model.Taint) string {
	list := slices.SortedFunc(slices.Values(taints), func(a, b model.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
	list = slices.CompactFunc(list, func(a, b model.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect })
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	return strings.Join(out, ",")
}

// nodeLabels are the labels with which the machine registers: the order's, those that tell AKS' own components what
// kind of node this is, less the ones a kubelet may not give itself.
func nodeLabels(o cloud.Order, s SKU, cfg Config) map[string]string {
	class := o.Class.Azure
	out := map[string]string{}
	for k, v := range o.Labels {
		if selfSettable(k) && k != LabelHyperVGeneration {
			out[k] = v
		}
	}
	out[labelRole] = "agent"
	out[model.LabelDoNotSyncTaints] = "true"
	out[labelOSSKURequested] = imageFamily(class)
	out[labelOSSKUEffective] = effectiveOS(o, s)
	if cfg.KubeletIdentityClientID != "" {
		out[labelKubeletIdentity] = cfg.KubeletIdentityClientID
	}
	// Labels say what a machine has, not what its class asks for. Neither local DNS nor artifact streaming is set up here;
	// AKS says so of local DNS, and has no word for a machine without streaming.
	out[labelLocalDNS] = "disabled"
	if fips(class) {
		out[LabelAKSFIPS] = "true"
	}
	if isOverlay(cfg.Network) {
		subnet, _ := parseSubnetID(subnetOf(class, cfg))
		out[labelNetworkSubnet] = subnet.Name
		if cfg.VnetGUID != "" {
			out[labelVnetGUID] = cfg.VnetGUID
		}
		out[labelCNIOverlay] = "true"
		out[labelPodNetworkType] = modeOverlay
		if atLeast(o.Cluster.Version, 1, 34) {
			out[labelStatelessCNI] = "true"
		} else {
			out[labelStatelessCNI] = "false"
		}
	}
	if cfg.Network.Dataplane == dataplaneCilium {
		out[labelEBPFDataplane] = dataplaneCilium
	}
	return out
}

// effectiveOS is the operating system that the machine boots: that of its image, which may be a version of Kubernetes
// behind the cluster until the class is looked at again.
func effectiveOS(o cloud.Order, s SKU) string {
	class := o.Class.Azure
	image, _ := chooseImage(o.Class.Images, s)
	for _, os := range []string{ubuntu2004, ubuntu2204, ubuntu2404, azureLinux2, azureLinux3} {
		for _, d := range definitionsOf(class, os) {
			if strings.HasPrefix(image, imageID(d, "")) {
				return os
			}
		}
	}
	return resolveFamily(class, class.FIPSMode, o.Cluster.Version)
}

// selfSettable reports whether a kubelet may set the label on its own node: names in kubernetes.io and k8s.io are
// reserved, except the kubelet.* and node.* namespaces; zone, region and the like come from the cloud, not the kubelet.
// What is dropped here is put on the node by the controller once the node registered.
func selfSettable(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return true
	}
	in := func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) }
	if !in("kubernetes.io") && !in("k8s.io") {
		return true
	}
	for _, allowed := range []string{"kubelet.kubernetes.io", "node.kubernetes.io"} {
		if in(allowed) {
			return true
		}
	}
	return false
}

// labelFlag prints "k=v,…" sorted.
func labelFlag(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}
