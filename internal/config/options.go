package config

import "time"

// RefusedPlansDir is where refused plans are written unless told otherwise. The chart has a volume there; without one, and
// without the right to make the directory, nothing is written.
const RefusedPlansDir = "/var/run/karpenter/refused-plans"

// option is one thing that can be said. Exactly one row per name; rows are in the order of help and of messages.
type option struct {
	group string
	// flag is the long flag; "" for options that only the environment can set.
	flag string
	// env lists environment names, of which any may be used; they must not contradict each other.
	env   []string
	def   string
	usage string
	// need says what to set a required option to; "" for an option that is not required.
	need string
	// emptyCounts keeps an empty environment value from meaning "not set".
	emptyCounts bool
	boolean     bool
	secret      bool
	// unused says why a value other than the default changes nothing; "" for options that are acted on.
	unused string
	// set parses a value into c. Its error completes "--flag (ENV) …" and what to do follows from usage.
	set func(c *Config, v string) error
}

// name returns what the option is called in listings.
func (o *option) name() string {
	if o.flag != "" {
		return o.flag
	}
	return o.env[0]
}

// where returns how a person sets the option.
func (o *option) where() string {
	names := ""
	for i, e := range o.env {
		if i > 0 {
			names += ", "
		}
		names += e
	}
	if o.flag == "" {
		return names
	}
	return "--" + o.flag + " (" + names + ")"
}

func options() []option {
	var all []option
	for _, group := range [][]option{clusterOptions(), azureOptions(), networkOptions(), behaviourOptions(), processOptions(), legacyOptions()} {
		all = append(all, group...)
	}
	return all
}

func clusterOptions() []option {
	const g = "Cluster"
	return []option{
		{group: g, flag: "cluster-name", env: []string{"CLUSTER_NAME"}, need: "the name of the AKS cluster",
			usage: "name of the cluster", set: text(func(c *Config) *string { return &c.Cluster.Name })},
		{group: g, flag: "cluster-endpoint", env: []string{"CLUSTER_ENDPOINT"}, need: "the URL of the cluster's API server",
			usage: "URL of the API server, as machines reach it", set: endpoint(func(c *Config) *string { return &c.Cluster.Endpoint }, "http", "https")},
		{group: g, flag: "bootstrap-token-extra-groups", env: []string{"BOOTSTRAP_TOKEN_EXTRA_GROUPS"},
			usage: "groups that a machine's bootstrap token gives beside system:bootstrappers, separated by commas", set: tokenGroups},
		{group: g, env: []string{"KUBECONFIG"},
			usage: "kubeconfig file to use instead of the pod's service account", set: text(func(c *Config) *string { return &c.Kube.Kubeconfig })},
		{group: g, flag: "kube-client-qps", env: []string{"KUBE_CLIENT_QPS"}, def: "200",
			usage: "requests per second to the API server", set: integer(func(c *Config) *int { return &c.Kube.QPS }, 1, 1_000_000)},
		{group: g, flag: "kube-client-burst", env: []string{"KUBE_CLIENT_BURST"}, def: "300",
			usage: "requests at once to the API server", set: integer(func(c *Config) *int { return &c.Kube.Burst }, 1, 1_000_000)},
	}
}

func azureOptions() []option {
	const g = "Azure"
	return []option{
		{group: g, env: []string{"AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID"}, need: "the id of the subscription that pays for the machines",
			usage: "subscription that pays for the machines", set: word(func(c *Config) *string { return &c.Azure.SubscriptionID })},
		{group: g, env: []string{"LOCATION"}, need: "the region of the cluster, such as eastus",
			usage: "region of the cluster", set: location},
		{group: g, flag: "node-resource-group", env: []string{"AZURE_NODE_RESOURCE_GROUP"}, need: "the resource group for machines, usually MC_…",
			usage: "resource group for machines", set: word(func(c *Config) *string { return &c.Azure.NodeResourceGroup })},
		{group: g, env: []string{"ARM_RESOURCE_GROUP"},
			usage: "resource group of the cluster itself", set: word(func(c *Config) *string { return &c.Azure.ResourceGroup })},
		{group: g, env: []string{"AZURE_TENANT_ID", "ARM_TENANT_ID"},
			usage: "tenant of the identity", set: word(func(c *Config) *string { return &c.Azure.TenantID })},
		{group: g, env: []string{"AZURE_CLIENT_ID"},
			usage: "client id of the identity", set: word(func(c *Config) *string { return &c.Azure.ClientID })},
		{group: g, env: []string{"AZURE_FEDERATED_TOKEN_FILE"},
			usage: "token file of workload identity", set: text(func(c *Config) *string { return &c.Azure.FederatedTokenFile })},
		{group: g, env: []string{"ARM_CLOUD"},
			usage: "AzurePublicCloud, AzureUSGovernmentCloud or AzureChinaCloud", set: namedCloud},
		{group: g, env: []string{"AZURE_ENVIRONMENT_FILEPATH"},
			usage: "JSON file that describes another cloud; not together with ARM_CLOUD", set: cloudFile},
		{group: g, env: []string{"AZURE_AUTHORITY_HOST"},
			usage: "URL of the token endpoint", set: endpoint(func(c *Config) *string { return &c.Azure.Cloud.authority }, "https")},
		{group: g, flag: "ssh-public-key", env: []string{"SSH_PUBLIC_KEY"}, need: "the key that may log in to machines, as in authorized_keys",
			usage: "key that may log in to machines", set: sshKey},
		{group: g, flag: "linux-admin-username", env: []string{"LINUX_ADMIN_USERNAME"}, def: "azureuser",
			usage: "name of the account that the key logs in to", set: adminName},
		{group: g, flag: "node-identities", env: []string{"NODE_IDENTITIES"},
			usage: "ARM ids of the identities machines get, separated by commas", set: identities},
		{group: g, flag: "kubelet-identity-client-id", env: []string{"KUBELET_IDENTITY_CLIENT_ID"},
			usage: "client id of the kubelet's identity", set: uuid(func(c *Config) *string { return &c.Azure.KubeletIdentityClientID })},
		{group: g, flag: "additional-tags", env: []string{"ADDITIONAL_TAGS"},
			usage: "tags for everything that is bought, as key=value,key=value", set: tags},
		{group: g, flag: "vm-memory-overhead-percent", env: []string{"VM_MEMORY_OVERHEAD_PERCENT"}, def: "0.075",
			usage: "part of a size's memory that its host keeps, 0 to 1", set: memoryOverhead},
		{group: g, flag: "network-interfaces", env: []string{"NETWORK_INTERFACES"}, def: "inline",
			usage: "inline, made with the machine; or separate, made before it",
			set:   oneOf(func(c *Config) *string { return &c.Azure.NetworkInterfaces }, "inline", "separate")},
		{group: g, flag: "machine-create", env: []string{"MACHINE_CREATE"}, def: "if-none-match",
			usage: "if-none-match, Azure refuses to change a machine that exists; or get-first, the controller looks before it asks",
			set:   oneOf(func(c *Config) *string { return &c.Azure.MachineCreate }, "if-none-match", "get-first")},
		{group: g, flag: "use-sig", env: []string{"USE_SIG"}, def: "false", boolean: true, unused: "images come from the community galleries",
			usage: "take images from a shared image gallery", set: boolean(func(c *Config) *bool { return &c.Azure.UseSIG })},
		{group: g, flag: "node-osdisk-diskencryptionset-id", env: []string{"NODE_OSDISK_DISKENCRYPTIONSET_ID"},
			usage: "ARM id of the disk encryption set for system disks", set: text(func(c *Config) *string { return &c.Azure.DiskEncryptionSetID })},
		{group: g, flag: "enable-azure-sdk-logging", env: []string{"ENABLE_AZURE_SDK_LOGGING"}, def: "true", boolean: true,
			usage: "log calls to Azure at level debug", set: boolean(func(c *Config) *bool { return &c.Azure.SDKLogging })},
	}
}

func networkOptions() []option {
	const g = "Network"
	return []option{
		{group: g, flag: "vnet-subnet-id", env: []string{"VNET_SUBNET_ID"}, need: "the ARM id of the subnet for machines",
			usage: "ARM id of the subnet for machines", set: subnet},
		{group: g, flag: "vnet-guid", env: []string{"VNET_GUID"},
			usage: "resource GUID of the virtual network", set: uuid(func(c *Config) *string { return &c.Azure.VnetGUID })},
		{group: g, flag: "network-plugin", env: []string{"NETWORK_PLUGIN"}, def: "azure",
			usage: "azure or none", set: oneOf(func(c *Config) *string { return &c.Azure.NetworkPlugin }, "azure", "none")},
		{group: g, flag: "network-plugin-mode", env: []string{"NETWORK_PLUGIN_MODE"}, def: "overlay", emptyCounts: true,
			usage: "overlay, or empty for addresses of the subnet", set: oneOf(func(c *Config) *string { return &c.Azure.NetworkPluginMode }, "overlay", "")},
		{group: g, flag: "network-dataplane", env: []string{"NETWORK_DATAPLANE"}, def: "cilium", emptyCounts: true,
			usage: "cilium, azure or empty", set: oneOf(func(c *Config) *string { return &c.Azure.NetworkDataplane }, "cilium", "azure", "")},
		{group: g, flag: "network-policy", env: []string{"NETWORK_POLICY"},
			usage: "network policy engine of the cluster", set: text(func(c *Config) *string { return &c.Azure.NetworkPolicy })},
		{group: g, flag: "dns-service-ip", env: []string{"DNS_SERVICE_IP"},
			usage: "address of the cluster's DNS; empty means that of service kube-dns", set: ip(func(c *Config) *string { return &c.Azure.DNSServiceIP })},
	}
}

func behaviourOptions() []option {
	const g = "Behaviour"
	return []option{
		{group: g, flag: "batch-idle-duration", env: []string{"BATCH_IDLE_DURATION"}, def: "1s",
			usage: "pause after which pending pods are no longer waited for", set: span(func(c *Config) *time.Duration { return &c.Batch.Idle })},
		{group: g, flag: "batch-max-duration", env: []string{"BATCH_MAX_DURATION"}, def: "10s",
			usage: "how long pending pods are gathered at most", set: span(func(c *Config) *time.Duration { return &c.Batch.Max })},
		{group: g, flag: "preference-policy", env: []string{"PREFERENCE_POLICY"}, def: "Respect",
			usage: "Respect or Ignore", set: oneOf(func(c *Config) *string { return &c.PreferencePolicy }, "Respect", "Ignore")},
		{group: g, flag: "min-values-policy", env: []string{"MIN_VALUES_POLICY"}, def: "Strict",
			usage: "Strict or BestEffort", set: oneOf(func(c *Config) *string { return &c.MinValuesPolicy }, "Strict", "BestEffort")},
		{group: g, flag: "ignore-dra-requests", env: []string{"IGNORE_DRA_REQUESTS"}, def: "true", boolean: true,
			unused: "pods that claim devices are not provisioned for",
			usage:  "leave pods alone that claim devices", set: boolean(func(c *Config) *bool { return &c.IgnoreDRARequests })},
		{group: g, flag: "pause", env: []string{"PAUSE"},
			usage: "what to put on hold of all pools: provisioning, disruption, drift, separated by commas, or all", set: pause},
		{group: g, flag: "disruption-mode", env: []string{"DISRUPTION_MODE"}, def: "act",
			usage: "act; or observe, nodes that would leave are told of and stay", set: disruptionMode},
		{group: g, flag: "feature-gates", env: []string{"FEATURE_GATES"},
			usage: "features to switch on or off, as Name=true,Name=false", set: gates},
	}
}

func processOptions() []option {
	const g = "Process"
	return []option{
		{group: g, flag: "bind-address", env: []string{"BIND_ADDRESS"},
			usage: "address that metrics and health probes listen on; empty means all", set: text(func(c *Config) *string { return &c.Ports.Address })},
		{group: g, flag: "metrics-port", env: []string{"METRICS_PORT"}, def: "8080",
			usage: "port of /metrics; 0 lets the system choose", set: integer(func(c *Config) *int { return &c.Ports.Metrics }, 0, 65535)},
		{group: g, flag: "metrics-secure", env: []string{"METRICS_SECURE"}, def: "false", boolean: true,
			usage: "serve /metrics over TLS, to tokens whose owner may get it", set: boolean(func(c *Config) *bool { return &c.Metrics.Secure })},
		{group: g, flag: "metrics-cert-path", env: []string{"METRICS_CERT_PATH"},
			usage: "directory with tls.crt and tls.key for --metrics-secure; empty means a certificate signed by the process itself",
			set:   text(func(c *Config) *string { return &c.Metrics.CertDir })},
		{group: g, flag: "metrics-profile", env: []string{"METRICS_PROFILE"}, def: "standard",
			usage: "lean, standard or full: how much is told of each node and pod", set: profile},
		{group: g, flag: "disable-cluster-state-observability", env: []string{"DISABLE_CLUSTER_STATE_OBSERVABILITY"}, def: "false", boolean: true,
			usage: "leave out metrics about the cluster's objects, whatever the profile", set: boolean(func(c *Config) *bool { return &c.Metrics.NoState })},
		{group: g, flag: "health-probe-port", env: []string{"HEALTH_PROBE_PORT"}, def: "8081",
			usage: "port of /healthz and /readyz; 0 lets the system choose", set: integer(func(c *Config) *int { return &c.Ports.Health }, 0, 65535)},
		{group: g, flag: "enable-profiling", env: []string{"ENABLE_PROFILING"}, def: "false", boolean: true,
			usage: "serve profiles beside the metrics", set: boolean(func(c *Config) *bool { return &c.Profiling })},
		{group: g, flag: "log-level", env: []string{"LOG_LEVEL"}, def: "info",
			usage: "debug, info, warn or error", set: oneOf(func(c *Config) *string { return &c.Log.Level }, "debug", "info", "warn", "error")},
		{group: g, flag: "log-output-paths", env: []string{"LOG_OUTPUT_PATHS"}, def: "stdout",
			usage: "where logs go, separated by commas", set: list(func(c *Config) *[]string { return &c.Log.Outputs })},
		{group: g, flag: "log-error-output-paths", env: []string{"LOG_ERROR_OUTPUT_PATHS"}, def: "stderr",
			usage: "where failures to log go, separated by commas", set: list(func(c *Config) *[]string { return &c.Log.ErrorOutputs })},
		{group: g, flag: "refused-plans-dir", env: []string{"REFUSED_PLANS_DIR"}, def: RefusedPlansDir, emptyCounts: true,
			usage: "directory for pictures of plans that the controller's own audit refused; empty for none", set: text(func(c *Config) *string { return &c.RefusedPlans })},
		{group: g, flag: "disable-leader-election", env: []string{"DISABLE_LEADER_ELECTION"}, def: "false", boolean: true,
			usage: "true to act without asking other replicas", set: boolean(func(c *Config) *bool { return &c.Kube.LeaderElection.Disabled })},
		{group: g, env: []string{"POD_NAME"},
			usage: "name of the pod, under which the lease is held; empty means a new name for each process", set: text(func(c *Config) *string { return &c.Kube.LeaderElection.Identity })},
		{group: g, flag: "leader-election-name", env: []string{"LEADER_ELECTION_NAME"}, def: "karpenter-leader-election",
			usage: "name of the lease", set: word(func(c *Config) *string { return &c.Kube.LeaderElection.Name })},
		{group: g, flag: "leader-election-namespace", env: []string{"LEADER_ELECTION_NAMESPACE"},
			usage: "namespace of the lease; empty means the controller's own", set: word(func(c *Config) *string { return &c.Kube.LeaderElection.Namespace })},
		{group: g, env: []string{"SYSTEM_NAMESPACE"}, def: "kube-system",
			usage: "namespace the controller runs in", set: word(func(c *Config) *string { return &c.SystemNamespace })},
		{group: g, flag: "memory-limit", env: []string{"MEMORY_LIMIT"}, def: "-1",
			usage: "memory of the container in bytes; -1 means no limit", set: memoryLimit},
		{group: g, flag: "cpu-requests", env: []string{"CPU_REQUESTS"}, def: "1000",
			usage: "CPU of the container in thousandths of a core", set: long(func(c *Config) *int64 { return &c.CPURequests }, 0)},
	}
}

// legacyOptions are accepted so that no installation fails to start, and do nothing.
func legacyOptions() []option {
	const g = "Accepted without effect"
	const machines = "machines are made one by one as virtual machines"
	return []option{
		{group: g, flag: "kubelet-bootstrap-token", env: []string{"KUBELET_BOOTSTRAP_TOKEN"}, secret: true,
			unused: "every machine gets a short-lived token of its own", usage: "token machines join with", set: anything},
		{group: g, flag: "provision-mode", env: []string{"PROVISION_MODE"}, def: "aksscriptless", unused: machines,
			usage: "aksscriptless, bootstrappingclient, aksmachineapi or aksmachineapiheaderbatch", set: provisionMode},
		{group: g, flag: "nodebootstrapping-server-url", env: []string{"NODEBOOTSTRAPPING_SERVER_URL"},
			unused: "the controller writes the bootstrap data itself", usage: "server that writes bootstrap data", set: anything},
		{group: g, flag: "sig-access-token-server-url", env: []string{"SIG_ACCESS_TOKEN_SERVER_URL"},
			unused: "images come from the community galleries", usage: "server that gives access to the shared image gallery", set: anything},
		{group: g, flag: "sig-subscription-id", env: []string{"SIG_SUBSCRIPTION_ID"},
			unused: "images come from the community galleries", usage: "subscription of the shared image gallery", set: anything},
		{group: g, flag: "manage-existing-aks-machines", env: []string{"MANAGE_EXISTING_AKS_MACHINES"}, def: "false", boolean: true,
			unused: machines, usage: "look after machines of an agent pool", set: anyBool},
		{group: g, flag: "aks-machines-pool-name", env: []string{"AKS_MACHINES_POOL_NAME"},
			unused: machines, usage: "agent pool for machines", set: anything},
		{group: g, flag: "provider-batch-idle-duration", env: []string{"PROVIDER_BATCH_IDLE_DURATION"}, def: "1s",
			unused: machines, usage: "pause that ends a batch of machines", set: anySpan},
		{group: g, flag: "provider-batch-max-duration", env: []string{"PROVIDER_BATCH_MAX_DURATION"}, def: "5s",
			unused: machines, usage: "longest wait for a batch of machines", set: anySpan},
		{group: g, flag: "provider-batch-max-size", env: []string{"PROVIDER_BATCH_MAX_SIZE"}, def: "50",
			unused: machines, usage: "machines in a batch, 1 to 50", set: batchSize},
		{group: g, flag: "karpenter-service", env: []string{"KARPENTER_SERVICE"},
			usage: "name of the controller's service", set: anything},
		{group: g, flag: "disable-controller-warmup", env: []string{"DISABLE_CONTROLLER_WARMUP"}, def: "true", boolean: true,
			unused: "replicas that wait do no work", usage: "let replicas wait cold", set: anyBool},
		{group: g, flag: "scheduler-config", env: []string{"SCHEDULER_CONFIG"},
			unused: "default topology spread is not read", usage: "default topology spread, as YAML", set: anything},
	}
}
