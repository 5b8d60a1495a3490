package migrate

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// fromNodes says of agent pools what their nodes show, in the words of Azure's API.
func fromNodes(nodes []model.Node) []*settings {
	groups := map[string][]model.Node{}
	for _, n := range nodes {
		if p := PoolOf(n); p != "" {
			groups[p] = append(groups[p], n)
		}
	}
	var out []*settings
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, newSettings(shownBy(name, groups[name])))
	}
	return out
}

// shownBy describes an agent pool by its nodes: what all of them have.
func shownBy(name string, nodes []model.Node) map[string]any {
	labels := maps.Clone(nodes[0].Labels)
	taints := slices.Clone(nodes[0].Taints)
	sizes, zones := map[string]int{}, map[string]bool{}
	for _, n := range nodes {
		maps.DeleteFunc(labels, func(k, v string) bool { return n.Labels[k] != v })
		taints = slices.DeleteFunc(taints, func(t model.Taint) bool {
			return !slices.Contains(n.Taints, t) || passing(t.Key)
		})
		sizes[n.Labels[model.LabelInstanceType]]++
		if at := strings.LastIndex(n.Labels[model.LabelZone], "-"); at >= 0 {
			zones[n.Labels[model.LabelZone][at+1:]] = true
		}
	}
	var scale, inZones, tainted []any
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		scale = append(scale, map[string]any{"size": size, "count": float64(sizes[size])})
	}
	for _, z := range slices.Sorted(maps.Keys(zones)) {
		inZones = append(inZones, z)
	}
	for _, t := range taints {
		tainted = append(tainted, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	own := map[string]any{}
	for k, v := range labels {
		if domain, _, _ := strings.Cut(k, "/"); !reserved(k) && !strings.HasSuffix(domain,
			"kubernetes.io") && !strings.HasSuffix(domain, "azure.com") {
			own[k] = v
		}
	}
	first := nodes[0].Labels
	return map[string]any{
		"name": name, "mode": first["kubernetes.azure.com/mode"], "nodeLabels": own,
		"virtualMachinesProfile": map[string]any{"scale": map[string]any{"manual": scale}},
		"availabilityZones":      inZones, "nodeTaints": tainted,
		"osType": first[model.LabelOS], "osSKU": first["kubernetes.azure.com/os-sku"],
		"scaleSetPriority": first["kubernetes.azure.com/scalesetpriority"],
		"enableFIPS":       first["kubernetes.azure.com/fips_enabled"] == "true",
		"maxPods":          float64(nodes[0].Capacity.Pods),
	}
}

// passing taints come and go with the state of a node.
func passing(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || key == ciliumTaint ||
		key == "ToBeDeletedByClusterAutoscaler" || key == "DeletionCandidateOfClusterAutoscaler"
}
