package arm

import (
	"strings"
)

// Load balancer of the cluster and its pools, as AKS names them (documentation "Use a public standard load balancer in
// AKS"): "kubernetes" with the pools kubernetes and aksOutboundBackendPool.
const lbName = "kubernetes"

func lbPools() []string { return []string{"aksOutboundBackendPool", "kubernetes"} }

func (c *Cloud) loadBalancer() object {
	id := c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Network/loadBalancers", lbName)
	var pools []any
	for _, p := range lbPools() {
		pools = append(pools, object{"id": id + "/backendAddressPools/" + p, "name": p, "type": "Microsoft.Network/loadBalancers/backendAddressPools",
			"properties": object{"provisioningState": "Succeeded", "backendIPConfigurations": c.poolMembers(id + "/backendAddressPools/" + p)}})
	}
	return object{"id": id, "name": lbName, "type": "Microsoft.Network/loadBalancers", "location": c.cfg.Location,
		"sku":        object{"name": "Standard", "tier": "Regional"},
		"properties": object{"provisioningState": "Succeeded", "backendAddressPools": pools, "frontendIPConfigurations": []any{}}}
}

// poolMembers lists the interfaces in a pool: Load Balancers - Get shows them.
func (c *Cloud) poolMembers(pool string) []any {
	out := []any{}
	for _, r := range c.sorted(func(r *resource) bool { return r.typ == typeNIC }) {
		for _, ip := range digList(r.doc, "properties", "ipConfigurations") {
			for _, p := range digList(ip, "properties", "loadBalancerBackendAddressPools") {
				if strings.EqualFold(digString(p, "id"), pool) {
					out = append(out, object{"id": digString(ip, "id")})
				}
			}
		}
	}
	return out
}

// listLoadBalancers is Load Balancers - List: those of AKS live in the node resource group.
func (c *Cloud) listLoadBalancers(q *call) (*reply, *apiError) {
	list := []any{}
	if strings.EqualFold(q.vars["rg"], c.cfg.NodeResourceGroup) {
		list = append(list, c.loadBalancer())
	}
	return ok(object{"value": list})
}

func (c *Cloud) getLoadBalancer(q *call) (*reply, *apiError) {
	if !strings.EqualFold(q.vars["rg"], c.cfg.NodeResourceGroup) || !strings.EqualFold(q.vars["name"], lbName) {
		return nil, notFound("Microsoft.Network/loadBalancers", q.vars["name"], q.vars["rg"])
	}
	return ok(c.loadBalancer())
}

// listSecurityGroups is Network Security Groups - List: AKS makes one, aks-agentpool-<8 digits>-nsg.
func (c *Cloud) listSecurityGroups(q *call) (*reply, *apiError) {
	list := []any{}
	if strings.EqualFold(q.vars["rg"], c.cfg.NodeResourceGroup) {
		name := "aks-agentpool-" + clusterNumber(c.cfg) + "-nsg"
		list = append(list, object{"id": c.securityGroupID(), "name": name, "type": "Microsoft.Network/networkSecurityGroups", "location": c.cfg.Location,
			"properties": object{"provisioningState": "Succeeded", "securityRules": []any{}}})
	}
	return ok(object{"value": list})
}

func (c *Cloud) securityGroupID() string {
	return c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Network/networkSecurityGroups", "aks-agentpool-"+clusterNumber(c.cfg)+"-nsg")
}
