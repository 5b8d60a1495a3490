package assemble

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// The cluster that the lab pretends to be: one AKS cluster named lab, in a resource group of the same name. The GUIDs
// are made up; they are constants so that two runs of one story read alike.
const (
	ClusterName   = "lab"
	ResourceGroup = "lab"

	subscription = "5c0ffee0-0000-4000-8000-000000000001"
	tenant       = "7e4a4700-0000-4000-8000-000000000001"
	// clientID is the application that the controller is; kubeletClientID the identity that machines carry.
	clientID        = "c11e4700-0000-4000-8000-000000000001"
	kubeletClientID = "c11e4700-0000-4000-8000-000000000002"

	// PersonID is the application by which a person asks the simulated Azure, with the lab's token for its secret. They may read everything.
	PersonID = "c11e4700-0000-4000-8000-000000000003"

	// Namespace and ServiceAccount are where the chart is installed, as its documentation says.
	Namespace      = "kube-system"
	ServiceAccount = "karpenter-sa"
	// Release is the name of the controller's release, and of its Deployment.
	Release = "karpenter"
	// lease is the object that the leading controller holds.
	lease = "karpenter-leader-election"
	// azureAudience is whom the federated token is for (documentation "Workload identity federation").
	azureAudience = "api://AzureADTokenExchange"
)

// nodeGroup is the resource group that AKS makes for a cluster's machines.
func nodeGroup(location string) string {
	return fmt.Sprintf("MC_%s_%s_%s", ResourceGroup, ClusterName, location)
}

// clusterHost is the public name of the API server. No resolver but that of the lab's machines knows it.
func clusterHost(location string) string {
	sum := sha256.Sum256([]byte(subscription + location))
	return fmt.Sprintf("%s-dns-%s.hcp.%s.azmk8s.io", ClusterName, hex.EncodeToString(sum[:4]), location)
}

// nodeIdentity is the managed identity that every machine carries.
func nodeIdentity(location string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%s-agentpool",
		subscription, nodeGroup(location), ClusterName)
}
