package crds

import (
	"fmt"
	"strings"
)

// Labels of Azure's two domains that pods and pools may use. Every other label of these domains is refused where it is
// written, because the cloud would never set it and a pod would wait for ever.
// Source: the labels AKS documents for scheduling on nodes it provisions automatically.
func azureLabels() map[string][]string {
	return map[string][]string{
		"kubernetes.azure.com": {
			"cluster", "ebpf-dataplane", "ebpf-host-routing", "fips_enabled", "hostedvm", "mode", "network-policy",
			"os-sku", "priority", "scalesetpriority", "sku-cpu", "sku-memory",
		},
		"karpenter.azure.com": {
			"aksnodeclass", "placement-scope", "sku-cpu", "sku-family", "sku-gpu-count", "sku-gpu-manufacturer",
			"sku-gpu-name", "sku-memory", "sku-name", "sku-networking-accelerated", "sku-series",
			"sku-storage-ephemeralos-maxsize", "sku-storage-premium-capable", "sku-storage-ultra-ssd", "sku-version",
		},
	}
}

// bareLabels are names without a domain that AKS keeps for itself.
func bareLabels() []string {
	return []string{"accelerator", "agentpool", "storageprofile", "storagetier"}
}

// restrictLabels adds Azure's label rules wherever the published schema has its own: on requirement keys and on the
// labels of a pool's template. It returns how many places it found.
func restrictLabels(spec any) int {
	n := 0
	walk(spec, func(m map[string]any) {
		rules, _ := m["x-kubernetes-validations"].([]any)
		for _, r := range rules {
			rule, _ := r.(map[string]any)["rule"].(string)
			if !strings.Contains(rule, `endsWith("karpenter.sh")`) {
				continue
			}
			m["x-kubernetes-validations"] = append(rules, azureRules(strings.HasPrefix(rule, "self.all("))...)
			n++
			return
		}
	})
	return n
}

// azureRules returns the CEL rules for a key (each false) or for all keys of a map (each true).
func azureRules(each bool) []any {
	wrap := func(message, expr string) any {
		if each {
			expr = "self.all(x, " + strings.ReplaceAll(expr, "self", "x") + ")"
		}
		return map[string]any{"message": message, "rule": expr}
	}
	var out []any
	for _, domain := range []string{"kubernetes.azure.com", "karpenter.azure.com"} {
		var keys []string
		for _, name := range azureLabels()[domain] {
			keys = append(keys, fmt.Sprintf("%q", domain+"/"+name))
		}
		out = append(out, wrap(
			fmt.Sprintf("label domain %q is restricted", domain),
			fmt.Sprintf(`self in [%s] || !self.find("^([^/]+)").endsWith(%q)`, strings.Join(keys, ", "), domain)))
	}
	for _, name := range bareLabels() {
		out = append(out, wrap(fmt.Sprintf("label %q is restricted", name), fmt.Sprintf("self != %q", name)))
	}
	return out
}
