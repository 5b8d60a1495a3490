package manual

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

const labelsHead = `# Labels, annotations, taints, finalizers

` + written + `
*Asked* means that people set it and the controller reads it. *Written* means that the controller
sets it. *Offered* labels follow from the machine: NodePools may require them and pods may select
by them; nobody sets them by hand.
`

// A key is a row of the page: what it is called, on which objects it is, and what it means there.
type key struct{ name, on, who, words string }

const (
	asked, wrote, offered = "asked", "written", "offered"
	ours                  = "nodes, NodeClaims"
	machine               = "nodes, NodeClaims; requirements of NodePools; pods"
)

// keys are the rows by sections, in the order of the page.
func keys() map[string][]key {
	return map[string][]key{
		"Labels": slices.Concat(nodeLabels(), azureLabels()), "Annotations": annotations(),
		"Taints": {
			{model.TaintUnregistered, "nodes", wrote,
				"a new node has it until the controller has registered it"},
			{model.TaintDisrupted, "nodes", wrote, "the node leaves, and takes no more pods"},
		},
		"Finalizers": {
			{model.Finalizer, ours, wrote,
				"the object stays until its machine and all that belongs to it are gone"},
			{model.ClassFinalizer, "AKSNodeClass", wrote,
				"the class stays while NodeClaims use it"},
		},
	}
}

func nodeLabels() []key {
	return []key{
		{model.LabelPool, ours, wrote, "the NodePool that it was bought for"},
		{model.LabelCapacityType, machine, offered, "on-demand or spot"},
		{model.LabelRegistered, "nodes", wrote, "true once the node joined and was completed"},
		{model.LabelInitialized, "nodes", wrote, "true once the node is ready for pods"},
		{model.LabelDoNotSyncTaints, "nodes", wrote, "the kubelet registers with all taints " +
			"itself, none are copied from the NodeClaim"},
		{model.LabelInstanceType, machine, offered, "the size of the machine"},
		{model.LabelZone, machine, offered, "the zone; 0 where the region has none"},
		{model.LabelRegion, machine, offered, "the region"},
		{model.LabelArch, machine, offered, "amd64 or arm64"},
		{model.LabelOS, machine, offered, "linux"},
		{model.LabelHostname, "nodes; pods", offered, "the node's name; a topology key of pods"},
		{model.LabelExcludeLB, "nodes", wrote, "the node leaves: load balancers send it no more"},
	}
}

func azureLabels() []key {
	return []key{
		{azure.LabelSKUName, machine, offered, "the size of the machine"},
		{azure.LabelSKUFamily, machine, offered, "its family, such as D"},
		{azure.LabelSKUSeries, machine, offered, "its series"},
		{azure.LabelSKUVersion, machine, offered, "its version"},
		{azure.LabelSKUCPU, machine, offered, "its cores"},
		{azure.LabelSKUMemory, machine, offered, "its memory in MiB"},
		{azure.LabelAcceleratedNet, machine, offered, "whether it has accelerated networking"},
		{azure.LabelPremiumStorage, machine, offered, "whether it takes premium disks"},
		{azure.LabelEphemeralOSDiskMaxGB, machine, offered,
			"the largest ephemeral system disk, in whole GB"},
		{azure.LabelUltraSSD, machine, offered, "whether ultra disks can be attached"},
		{azure.LabelGPUName, machine, offered, "its GPU"},
		{azure.LabelGPUManufacturer, machine, offered, "who made the GPU"},
		{azure.LabelGPUCount, machine, offered, "how many GPUs it has"},
		{azure.LabelPlacementScope, machine, offered, "zonal or regional"},
		{azure.LabelAKSCPU, machine, offered, "its cores, under AKS' name"},
		{azure.LabelAKSMemory, machine, offered, "its memory in MiB, under AKS' name"},
		{azure.LabelAKSScaleSetPriority, machine, offered, "regular or spot, under AKS' name"},
		{azure.LabelAKSPriority, machine, offered, "the same, under AKS' newer name"},
		{azure.LabelAKSMode, machine, offered, "system or user"},
		{azure.LabelAKSOSSKU, machine, offered, "the image family"},
		{azure.LabelAKSFIPS, machine, offered, "whether the image is one for FIPS 140"},
		{azure.LabelAKSCluster, "nodes", wrote, "the node resource group of the cluster"},
	}
}

func annotations() []key {
	const pool, claim = "NodePools", "NodeClaims"
	return []key{
		{model.AnnotationDoNotDisrupt, "pods, nodes, NodeClaims", asked,
			"true: do not move it; on pods also a duration since its start, such as 2h"},
		{"controller.kubernetes.io/pod-deletion-cost", "pods", asked,
			"what it costs to move the pod, beside others of its workload"},
		{model.AnnotationMinimumSaving, pool, asked,
			"the least share that a cheaper replacement has to save, such as 10%"},
		{model.AnnotationPause, pool, asked,
			"what is on hold: provisioning, disruption, drift, separated by commas, or all"},
		{model.AnnotationDisruptionMode, pool, asked, "observe: nodes are judged, and stay"},
		{model.AnnotationDriftMinAge, pool, asked,
			"how old a node must be to be replaced for drift, such as 24h"},
		{model.AnnotationDriftCanary, pool, asked,
			"how many drifted nodes are replaced first, such as 1 or 10%"},
		{model.AnnotationDriftSoak, pool, asked,
			"how long their replacements must have been healthy before the others follow"},
		{model.AnnotationPinImages, "AKSNodeClasses", asked,
			"true: the class keeps the node images that its status lists"},
		{model.AnnotationPoolHash, "NodePools, NodeClaims", wrote,
			"what the template was; drift compares it"},
		{model.AnnotationPoolHashVersion, "NodePools, NodeClaims", wrote,
			"how that was worked out; other versions are not compared"},
		{"karpenter.azure.com/aksnodeclass-hash", "AKSNodeClasses, NodeClaims", wrote,
			"what the class was; drift compares it"},
		{"karpenter.azure.com/aksnodeclass-hash-version", "AKSNodeClasses, NodeClaims", wrote,
			"how that was worked out; other versions are not compared"},
		{model.AnnotationMinValuesRelaxed, claim, wrote,
			"true where it shows fewer distinct values than minValues ask for"},
		{model.AnnotationTerminationTime, claim, wrote, "when a leaving node's grace ends"},
		{model.AnnotationMove, claim, wrote,
			"the move by which its node leaves, and what replaces it"},
		{model.AnnotationReplacesDrifted, claim, wrote,
			"the NodePool of the drifted node that it was bought for"},
		{model.AnnotationDriftFailed, claim, wrote,
			"how many replacements for drift in a row did not come, and when the last did not"},
		{planned.Annotation, claim, wrote, "the pods that it was bought for"},
		{offer.AnnotationFirst, claim, wrote,
			"the offering that is asked for first, of those of one price"},
	}
}

// labels writes the names that are part of what users see.
func labels(t *testing.T) string {
	var b strings.Builder
	b.WriteString(labelsHead)
	for _, section := range []string{"Labels", "Annotations", "Taints", "Finalizers"} {
		b.WriteString("\n## " + section + "\n\n| name | on | | meaning |\n|---|---|---|---|\n")
		for _, k := range keys()[section] {
			row(&b, code(k.name), k.on, k.who, k.words)
		}
	}
	return b.String()
}

// Every name of the contract is on the page, once, in the section that its constant says.
func TestNamesAreInTheReference(t *testing.T) {
	have := map[string]string{}
	for section, list := range keys() {
		for _, k := range list {
			if have[k.name+section] != "" {
				t.Errorf("%s stands twice", k.name)
			}
			have[k.name+section] = section
		}
	}
	n := 0
	for _, c := range constants(t, "labels.go") {
		section := ""
		for prefix, s := range map[string]string{"Label": "Labels", "Annotation": "Annotations",
			"Taint": "Taints", "Finalizer": "Finalizers", "ClassFinalizer": "Finalizers"} {
			if strings.HasPrefix(c.name, prefix) {
				section = s
			}
		}
		if section == "" {
			continue
		}
		n++
		if have[c.value+section] == "" {
			t.Errorf("%s (%s) is not under %s", c.name, c.value, section)
		}
	}
	if n < 25 {
		t.Errorf("only %d names in model/labels.go", n)
	}
}
