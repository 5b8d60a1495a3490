package values

import (
	"fmt"
	"slices"
	"strings"
)

// resource is one of an answer's, which has so many.
type resource struct {
	Answer
	among int
}

// ordered are all resources of all answers, clusters first: they say which of several networks is meant.
func ordered(all []Answer) []resource {
	var out []resource
	for _, a := range all {
		list, ok := a.Data.([]any)
		if !ok {
			list, ok = dig(a.Data, "value").([]any)
		}
		if !ok {
			list = []any{a.Data}
		}
		for _, x := range list {
			out = append(out, resource{Answer{a.Name, x}, len(list)})
		}
	}
	cluster := func(r resource) int {
		if strings.EqualFold(text(r.Data, "type"), clusterType) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b resource) int { return cluster(a) - cluster(b) })
	return out
}

const clusterType = "microsoft.containerservice/managedclusters"

// Resources come as Azure's command line prints them, with their fields flattened, or as its API does, with fields under properties.

// of returns what stands at a path of a resource, in either form.
func of(r any, path ...string) any {
	if v := dig(r, path...); v != nil {
		return v
	}
	return dig(dig(r, "properties"), path...)
}

func textOf(r any, path ...string) string {
	s, _ := of(r, path...).(string)
	return s
}

func (b *book) resource(from string, r any, among int) {
	switch kind := strings.ToLower(text(r, "type")); kind {
	case clusterType:
		b.managedCluster(from, r)
	case "microsoft.network/virtualnetworks":
		b.virtualNetwork(from, r, among)
	case "microsoft.managedidentity/userassignedidentities":
		b.put("settings.azure.clientID", textOf(r, "clientId"), from)
		b.put("settings.azure.tenantID", textOf(r, "tenantId"), from)
	default:
		b.notes = append(b.notes, fmt.Sprintf("%s: a resource of type %q says nothing here; "+
			"a managed cluster, virtual networks and the controller's identity do", from, kind))
	}
}

func (b *book) managedCluster(from string, r any) {
	b.put("settings.clusterName", text(r, "name"), from)
	if host := textOf(r, "fqdn"); host != "" {
		b.put("settings.clusterEndpoint", "https://"+host+":443", from)
	} else if host := textOf(r, "privateFqdn"); host != "" {
		b.put("settings.clusterEndpoint", "https://"+host+":443", from)
	}
	if parts := strings.Split(text(r, "id"), "/"); len(parts) > 4 {
		b.put("settings.azure.subscriptionID", parts[2], from)
		b.put("settings.azure.resourceGroup", parts[4], from)
	}
	b.put("settings.azure.location", text(r, "location"), from)
	b.put("settings.azure.nodeResourceGroup", textOf(r, "nodeResourceGroup"), from)
	b.put("settings.azure.linuxAdminUsername", textOf(r, "linuxProfile", "adminUsername"), from)
	if keys, _ := of(r, "linuxProfile", "ssh", "publicKeys").([]any); len(keys) > 0 {
		b.put("settings.azure.sshPublicKey", strings.TrimSpace(text(keys[0], "keyData")), from)
	}
	kubelet := []string{"identityProfile", "kubeletidentity"}
	b.put("settings.azure.nodeIdentities", textOf(r, append(kubelet, "resourceId")...), from)
	b.put("settings.azure.kubeletIdentityClientID", textOf(r, append(kubelet, "clientId")...), from)
	b.networkProfile(from, r)
	pools, _ := of(r, "agentPoolProfiles").([]any)
	for _, p := range pools {
		b.once("settings.azure.vnetSubnetID", text(p, "vnetSubnetId"), from)
		b.once("settings.azure.vnetSubnetID", text(p, "vnetSubnetID"), from)
	}
	b.put("settings.azure.nodeOSDiskDiskEncryptionSetID", textOf(r, "diskEncryptionSetId"), from)
	b.put("settings.azure.nodeOSDiskDiskEncryptionSetID", textOf(r, "diskEncryptionSetID"), from)
	b.clusterNotes(from, r)
}

func (b *book) networkProfile(from string, r any) {
	plugin := textOf(r, "networkProfile", "networkPlugin")
	if plugin == "" {
		return
	}
	b.put("settings.azure.networkPlugin", plugin, from)
	b.choose("settings.azure.networkPluginMode",
		textOf(r, "networkProfile", "networkPluginMode"), from)
	b.choose("settings.azure.networkDataplane",
		textOf(r, "networkProfile", "networkDataplane"), from)
	if policy := textOf(r, "networkProfile", "networkPolicy"); policy != "none" {
		b.put("settings.azure.networkPolicy", policy, from)
	}
	b.put("settings.azure.dnsServiceIP", textOf(r, "networkProfile", "dnsServiceIp"), from)
	b.put("settings.azure.dnsServiceIP", textOf(r, "networkProfile", "dnsServiceIP"), from)
	if plugin == "kubenet" {
		b.notes = append(b.notes, from+": the cluster's network is kubenet, for which the "+
			"controller "+
			"sets up no machines: move it to Azure CNI Overlay first")
	}
}

// clusterNotes are about clusters on which the controller cannot work, or not yet.
func (b *book) clusterNotes(from string, r any) {
	off := func(path ...string) bool {
		on, known := of(r, path...).(bool)
		return known && !on
	}
	if off("oidcIssuerProfile", "enabled") || off("securityProfile", "workloadIdentity",
		"enabled") {
		b.notes = append(b.notes, b.ask(from+": the cluster has no OIDC issuer or no workload "+
			"identity: "+
			`az aks update -g "$RG" -n "$NAME" --enable-oidc-issuer --enable-workload-identity`))
	}
	if id := textOf(r, "servicePrincipalProfile", "clientId"); id != "" && id != "msi" {
		b.notes = append(b.notes, b.ask(from+": the cluster works with a service principal, "+
			"machines "+
			`would not: az aks update -g "$RG" -n "$NAME" --enable-managed-identity`))
	}
	if strings.EqualFold(textOf(r, "nodeProvisioningProfile", "mode"), "Auto") {
		b.notes = append(b.notes, from+": node auto-provisioning is on, which is a Karpenter "+
			"that AKS "+
			"runs itself: both would act on the same NodePools")
	}
	pools, _ := of(r, "agentPoolProfiles").([]any)
	for _, p := range pools {
		if on, _ := dig(p, "enableAutoScaling").(bool); on {
			b.notes = append(b.notes, fmt.Sprintf("%s: the cluster autoscaler is on for pool %s; "+
				"it and Karpenter would both answer to the same pods", from, text(p, "name")))
		}
	}
}

// virtualNetwork takes the subnet of the network that AKS made. Of several networks or subnets somebody has to choose.
func (b *book) virtualNetwork(from string, r any, among int) {
	subnets, _ := of(r, "subnets").([]any)
	chosen := b.best("settings.azure.vnetSubnetID")
	network := text(r, "id")
	switch {
	case chosen != "":
		if !strings.HasPrefix(strings.ToLower(chosen), strings.ToLower(network)+"/") {
			return
		}
	case among == 1 && len(subnets) == 1:
		b.put("settings.azure.vnetSubnetID", text(subnets[0], "id"), from)
	default:
		for _, s := range subnets {
			b.notes = append(b.notes, fmt.Sprintf("%s: machines could get addresses from %s: "+
				"choose "+
				"with --set settings.azure.vnetSubnetID=…", from, text(s, "id")))
		}
		return
	}
	b.put("settings.azure.vnetGUID", textOf(r, "resourceGuid"), from)
}
