package azure

// Labels of the karpenter.azure.com provider that users schedule by. Source: its published list of well-known labels.
const (
	LabelSKUName              = "karpenter.azure.com/sku-name"
	LabelSKUFamily            = "karpenter.azure.com/sku-family"
	LabelSKUSeries            = "karpenter.azure.com/sku-series"
	LabelSKUVersion           = "karpenter.azure.com/sku-version"
	LabelSKUCPU               = "karpenter.azure.com/sku-cpu"
	LabelSKUMemory            = "karpenter.azure.com/sku-memory" // MiB
	LabelAcceleratedNet       = "karpenter.azure.com/sku-networking-accelerated"
	LabelPremiumStorage       = "karpenter.azure.com/sku-storage-premium-capable"
	LabelEphemeralOSDiskMaxGB = "karpenter.azure.com/sku-storage-ephemeralos-maxsize" // whole GB, rounded down
	LabelUltraSSD             = "karpenter.azure.com/sku-storage-ultra-ssd"
	LabelGPUName              = "karpenter.azure.com/sku-gpu-name"
	LabelGPUManufacturer      = "karpenter.azure.com/sku-gpu-manufacturer"
	LabelGPUCount             = "karpenter.azure.com/sku-gpu-count"
	LabelPlacementScope       = "karpenter.azure.com/placement-scope"
	// LabelHyperVGeneration matches sizes to images. It is never a node's label.
	LabelHyperVGeneration = "karpenter.azure.com/sku-hyperv-generation"

	LabelAKSCPU              = "kubernetes.azure.com/sku-cpu"
	LabelAKSMemory           = "kubernetes.azure.com/sku-memory"
	LabelAKSScaleSetPriority = "kubernetes.azure.com/scalesetpriority"
	LabelAKSPriority         = "kubernetes.azure.com/priority"
	LabelAKSMode             = "kubernetes.azure.com/mode"
	LabelAKSOSSKU            = "kubernetes.azure.com/os-sku"
	LabelAKSFIPS             = "kubernetes.azure.com/fips_enabled"
	LabelAKSCluster          = "kubernetes.azure.com/cluster"
)

// Labels that nodes carry but that nobody schedules by.
const (
	labelRole               = "kubernetes.azure.com/role"
	labelKubeletIdentity    = "kubernetes.azure.com/kubelet-identity-client-id"
	labelOSSKURequested     = "kubernetes.azure.com/os-sku-requested"
	labelOSSKUEffective     = "kubernetes.azure.com/os-sku-effective"
	labelNetworkSubnet      = "kubernetes.azure.com/network-subnet"
	labelVnetGUID           = "kubernetes.azure.com/nodenetwork-vnetguid"
	labelCNIOverlay         = "kubernetes.azure.com/azure-cni-overlay"
	labelPodNetworkType     = "kubernetes.azure.com/podnetwork-type"
	labelStatelessCNI       = "kubernetes.azure.com/network-stateless-cni"
	labelEBPFDataplane      = "kubernetes.azure.com/ebpf-dataplane"
	labelLocalDNS           = "kubernetes.azure.com/localdns-state"
	resourceNvidia          = "nvidia.com/gpu"
	resourceAMD             = "amd.com/gpu"
	zonal, regional         = "zonal", "regional"
	regionalZone            = "0" // value of the zone label outside zones
	archAMD64, archARM64    = "amd64", "arm64"
	regularWord, spotWord   = "regular", "spot"
	gpuDriver, gpuNone      = "Driver", "None"
	manufacturerNvidia      = "nvidia"
	manufacturerAMD         = "amd"
	maxClusterLabel         = 63 // longest value of a Kubernetes label
	defaultImageFamily      = "Ubuntu"
	defaultOSDiskGB         = 128
	pluginNone, pluginAzure = "none", "azure"
	modeOverlay             = "overlay"
	dataplaneCilium         = "cilium"
)
