package provision

import (
	"context"
	"regexp"
	"slices"
)

// networkVariables: the CNI and what the machine's network needs.
func networkVariables() []Variable {
	out := []Variable{
		{"NETWORK_PLUGIN", Text, "where no DaemonSet brings the network", "the image sets up no network for pods", inInstall},
		{"VNET_CNI_PLUGINS_URL", Address, "with NETWORK_PLUGIN azure", "the plugin is not installed, and the node is never ready", inInstall},
		{"NETWORK_POLICY", Line, "", "bridge mode", inConfig},
		{"NETWORK_MODE", Text, "", "bridge mode", inConfig},
		{"ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE", Flag, "", "off; for kubenet only", inMain},
		{"KUBENET_TEMPLATE", Base64, "", "an empty file, which does no harm", inMain},
		{"IPV6_DUAL_STACK_ENABLED", Flag, "", "no DHCPv6", inMain},
		{"STANDARD_SECONDARY_NIC_COUNT", Number, "", "the first network card only", inMain},
		{"ENABLE_IMDS_RESTRICTION", Text, "on images of late 2024", "pods may reach the metadata service", inConfig},
		{"INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE", Text, "on images of late 2024", "the other table", inConfig},
		{"ENABLE_HOSTS_CONFIG_AGENT", Flag, "", "the API server's name is looked up", inMain},
	}
	realm := Variable{Format: Text, Unset: "nothing", Reader: inMain}
	out = append(out, Variable{"HAS_CUSTOM_SEARCH_DOMAIN", Flag, "", "no search domain", inMain})
	return append(out, like(realm, "CUSTOM_SEARCH_DOMAIN_FILEPATH CUSTOM_SEARCH_DOMAIN_NAME CUSTOM_SEARCH_REALM_USER CUSTOM_SEARCH_REALM_PASSWORD")...)
}

var cniTarball = regexp.MustCompile(`/azure-vnet-cni-linux-(amd64|arm64)-v([0-9]+\.[0-9]+\.[0-9]+)\.tgz$`)

// installCNI installs Azure's CNI when it is asked for, and only then (installNetworkPlugin, configureCNIIPTables).
func (b *boot) installCNI(context.Context) *stop {
	url := b.get("VNET_CNI_PLUGINS_URL")
	switch b.get("NETWORK_PLUGIN") {
	case "azure":
		m := cniTarball.FindStringSubmatch(url)
		switch arch := map[bool]string{true: "arm64", false: "amd64"}[b.image.arm64]; {
		case url == "":
			b.out.NotReady = "NETWORK_PLUGIN is azure, VNET_CNI_PLUGINS_URL is empty: there is no 10-azure.conflist, so no network for pods"
			return nil
		case m == nil || m[1] != arch || !slices.Contains([]string{"acs-mirror.azureedge.net", "packages.aks.azure.com"}, hostOf(url)):
			return exit(exitCNI, "VNET_CNI_PLUGINS_URL: %q is no Azure CNI for %s", url, arch)
		}
		mode := "bridge"
		if policy := b.get("NETWORK_POLICY"); policy == "calico" || policy != "" && b.get("NETWORK_MODE") == "transparent" {
			mode = "transparent"
		}
		b.write("/etc/cni/net.d/10-azure.conflist", 0o600, "Azure CNI "+m[2]+", mode "+mode+"\n")
	case "none", "kubenet", "":
	default:
		b.warn("NETWORK_PLUGIN: %q means the same as none", b.get("NETWORK_PLUGIN"))
	}
	if b.on("IPV6_DUAL_STACK_ENABLED") {
		b.started("dhcpv6")
	}
	return nil
}
