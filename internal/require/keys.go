package require

import (
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// azureDomain is the domain of which every label, but the class' own, describes a machine.
const azureDomain = "karpenter.azure.com/"

// azureClassLabel is the one label of that domain that a pool hands out: the name of the class.
const azureClassLabel = azureDomain + "aksnodeclass"

// Key returns the name under which a label key is compared: labels that have an older or a second name are one.
// Names: the Kubernetes well-known labels' documentation and the published labels of Karpenter on AKS.
func Key(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone", "topology.disk.csi.azure.com/zone":
		return model.LabelZone
	case "failure-domain.beta.kubernetes.io/region":
		return model.LabelRegion
	case "beta.kubernetes.io/arch":
		return model.LabelArch
	case "beta.kubernetes.io/os":
		return model.LabelOS
	case "beta.kubernetes.io/instance-type":
		return model.LabelInstanceType
	}
	return key
}

// diskZone writes the empty zone of regional disks as the zone "0" of regional machines.
func diskZone(key, value string) string {
	if key == "topology.disk.csi.azure.com/zone" && value == "" {
		return "0"
	}
	return value
}

func normal(r model.Requirement) (string, Values) {
	key := Key(r.Key)
	if key != r.Key && len(r.Values) > 0 {
		vs := make([]string, len(r.Values))
		for i, v := range r.Values {
			vs[i] = diskZone(r.Key, v)
		}
		r.Values = vs
	}
	return key, Of(r)
}

// Normalise returns labels under the names that sets use. Where a label stands under both names, the newer one wins.
// The map is returned as it is when nothing changes.
func Normalise(labels map[string]string) map[string]string {
	changed := false
	for k := range labels {
		changed = changed || Key(k) != k
	}
	if !changed {
		return labels
	}
	out := make(map[string]string, len(labels))
	for _, old := range []bool{true, false} {
		for k, v := range labels {
			if (Key(k) != k) != old {
				continue
			}
			// Several old names of one label: the smallest value, so that the order of the map does not matter.
			if have, ok := out[Key(k)]; !old || !ok || diskZone(k, v) < have {
				out[Key(k)] = diskZone(k, v)
			}
		}
	}
	return out
}

// Cloud reports whether only a machine, as the cloud offers it, can bring the label: a pool may narrow it but not hand
// it out. Every other key is a pool's own, on which a pod may choose a value that the pool allows.
func Cloud(key string) bool {
	switch key {
	case model.LabelZone, model.LabelRegion, model.LabelInstanceType, model.LabelArch, model.LabelOS, model.LabelCapacityType,
		"node.kubernetes.io/windows-build",
		"kubernetes.azure.com/sku-cpu", "kubernetes.azure.com/sku-memory", "kubernetes.azure.com/mode",
		"kubernetes.azure.com/scalesetpriority", "kubernetes.azure.com/priority",
		"kubernetes.azure.com/os-sku", "kubernetes.azure.com/fips_enabled":
		return true
	}
	return strings.HasPrefix(key, azureDomain) && key != azureClassLabel
}
