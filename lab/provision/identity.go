package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// cloudKey is one line of azure.json: its key, and the variable whose value stands there, in quotes or without.
type cloudKey struct {
	key, name string
	quoted    bool
}

// cloudKeys are the lines of azure.json that come from variables (configureAzureJson).
func cloudKeys() []cloudKey {
	var out []cloudKey
	add := func(quoted bool, pairs ...string) {
		for _, p := range pairs {
			key, name, _ := strings.Cut(p, ":")
			out = append(out, cloudKey{key, name, quoted})
		}
	}
	add(true, "cloud:TARGET_CLOUD", "tenantId:TENANT_ID", "subscriptionId:SUBSCRIPTION_ID", "aadClientId:SERVICE_PRINCIPAL_CLIENT_ID",
		"aadClientSecret:SERVICE_PRINCIPAL_FILE_CONTENT", "resourceGroup:RESOURCE_GROUP", "location:LOCATION", "vmType:VM_TYPE", "subnetName:SUBNET",
		"securityGroupName:NETWORK_SECURITY_GROUP", "vnetName:VIRTUAL_NETWORK", "vnetResourceGroup:VIRTUAL_NETWORK_RESOURCE_GROUP",
		"routeTableName:ROUTE_TABLE", "primaryAvailabilitySetName:PRIMARY_AVAILABILITY_SET", "primaryScaleSetName:PRIMARY_SCALE_SET",
		"cloudProviderBackoffMode:CLOUDPROVIDER_BACKOFF_MODE", "userAssignedIdentityID:USER_ASSIGNED_IDENTITY_ID", "loadBalancerSku:LOAD_BALANCER_SKU",
		"providerVaultName:KMS_PROVIDER_VAULT_NAME")
	add(false, "cloudProviderBackoff:CLOUDPROVIDER_BACKOFF", "cloudProviderBackoffRetries:CLOUDPROVIDER_BACKOFF_RETRIES",
		"cloudProviderBackoffExponent:CLOUDPROVIDER_BACKOFF_EXPONENT", "cloudProviderBackoffDuration:CLOUDPROVIDER_BACKOFF_DURATION",
		"cloudProviderBackoffJitter:CLOUDPROVIDER_BACKOFF_JITTER", "cloudProviderRateLimit:CLOUDPROVIDER_RATELIMIT",
		"cloudProviderRateLimitQPS:CLOUDPROVIDER_RATELIMIT_QPS", "cloudProviderRateLimitBucket:CLOUDPROVIDER_RATELIMIT_BUCKET",
		"cloudProviderRateLimitQPSWrite:CLOUDPROVIDER_RATELIMIT_QPS_WRITE", "cloudProviderRateLimitBucketWrite:CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE",
		"useManagedIdentityExtension:USE_MANAGED_IDENTITY_EXTENSION", "useInstanceMetadata:USE_INSTANCE_METADATA",
		"disableOutboundSNAT:LOAD_BALANCER_DISABLE_OUTBOUND_SNAT", "excludeMasterFromStandardLB:EXCLUDE_MASTER_FROM_STANDARD_LB",
		"maximumLoadBalancerRuleCount:MAXIMUM_LOADBALANCER_RULE_COUNT")
	return out
}

// identityVariables: azure.json, and the ways to an identity.
func identityVariables() []Variable {
	out := []Variable{
		{"TARGET_ENVIRONMENT", Text, "", "messages only, in the public cloud", inConfig},
		{"ENABLE_SECURE_TLS_BOOTSTRAPPING", Flag, "", "the bootstrap token", inMain},
	}
	for _, k := range cloudKeys() {
		v := Variable{Name: k.name, Format: Text, Unset: "empty in azure.json", Reader: inConfig}
		switch {
		case !k.quoted:
			v.Format, v.Needed, v.Unset = JSON, "to pull images from Azure's registries", "azure.json is no JSON"
		case k.name == "SERVICE_PRINCIPAL_FILE_CONTENT":
			v.Format = Base64
		case k.name == "USER_ASSIGNED_IDENTITY_ID":
			v.Needed, v.Unset = "to pull images from Azure's registries", "pulls have no identity"
		}
		out = append(out, v)
	}
	secure := Variable{Format: Text, Unset: "the default", Reader: inConfig}
	return append(out, like(secure, `SECURE_TLS_BOOTSTRAPPING_AAD_RESOURCE SECURE_TLS_BOOTSTRAPPING_USER_ASSIGNED_IDENTITY_ID
		SECURE_TLS_BOOTSTRAPPING_VALIDATE_KUBECONFIG_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_ACCESS_TOKEN_TIMEOUT
		SECURE_TLS_BOOTSTRAPPING_GET_INSTANCE_DATA_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_NONCE_TIMEOUT
		SECURE_TLS_BOOTSTRAPPING_GET_ATTESTED_DATA_TIMEOUT SECURE_TLS_BOOTSTRAPPING_GET_CREDENTIAL_TIMEOUT
		CUSTOM_SECURE_TLS_BOOTSTRAPPING_CLIENT_DOWNLOAD_URL`)...)
}

// azureJSON writes azure.json as text. Nobody checks it here: the credential provider finds out when it pulls.
func (b *boot) azureJSON(context.Context) *stop {
	lines := []string{`"providerKeyName": "k8s"`, `"providerKeyVersion": ""`}
	for _, k := range cloudKeys() {
		v := b.get(k.name)
		switch {
		case b.get("CLOUDPROVIDER_BACKOFF_MODE") == "v2" && (k.name == "CLOUDPROVIDER_BACKOFF_EXPONENT" || k.name == "CLOUDPROVIDER_BACKOFF_JITTER"):
			continue
		case k.name == "SERVICE_PRINCIPAL_FILE_CONTENT":
			v, _ = decode(v)
			v = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v)
		}
		if k.quoted {
			v = `"` + v + `"`
		}
		lines = append(lines, fmt.Sprintf("%q: %s", k.key, v))
	}
	slices.Sort(lines)
	text := "{\n  " + strings.Join(lines, ",\n  ") + "\n}\n"
	b.write("/etc/kubernetes/azure.json", 0o600, text)
	if !json.Valid([]byte(text)) {
		b.warn("azure.json is no JSON: images cannot be pulled from Azure's registries")
	} else if b.get("USER_ASSIGNED_IDENTITY_ID") == "" || !b.on("USE_MANAGED_IDENTITY_EXTENSION") {
		b.warn("azure.json names no managed identity: images cannot be pulled from Azure's registries")
	}
	if b.on("ENABLE_SECURE_TLS_BOOTSTRAPPING") {
		b.warn("ENABLE_SECURE_TLS_BOOTSTRAPPING is true: no such service runs here, so the bootstrap token is used")
	}
	return nil
}
