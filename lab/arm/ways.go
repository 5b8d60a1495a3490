package arm

import "strings"

// Ways is how the cluster's machines get out, and how its API server is found.
type Ways struct {
	// Private says that the API server has an address in a network only, and a name for it
	// (documentation "Create a private AKS cluster").
	Private bool
	// Ranges are the only addresses that may talk to it ("API server authorized IP ranges").
	Ranges []string
	// Outbound is the outbound type; "" = loadBalancer ("Customize cluster egress").
	Outbound string
	// PoolSubnet is the subnet of AKS' own pool; "" = no pool is shown.
	PoolSubnet string
	// Routes are those of a route table on the cluster's subnet, nil = there is none; NAT puts a NAT
	// gateway there. Sealed takes the default way out from it.
	Routes      []Route
	NAT, Sealed bool
}

// Route says where traffic goes.
type Route struct{ Name, Prefix, Hop, Address string }

const routeTable = "egress"

func (c *Cloud) routeTableID() string {
	return c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Network/routeTables", routeTable)
}

// onSubnet adds what stands on the cluster's own subnet (Subnets - Get).
func (w Ways) onSubnet(c *Cloud, props object) {
	if w.Routes != nil {
		props["routeTable"] = object{"id": c.routeTableID()}
	}
	if w.NAT {
		props["natGateway"] = object{"id": c.idOf(c.cfg.NodeResourceGroup,
			"Microsoft.Network/natGateways", "egress")}
	}
	if w.Sealed {
		props["defaultOutboundAccess"] = false
	}
}

// onCluster adds what Managed Clusters - Get says of it.
func (w Ways) onCluster(c *Cloud, props object) {
	access := object{"enablePrivateCluster": w.Private}
	if len(w.Ranges) > 0 {
		access["authorizedIPRanges"] = w.Ranges
	}
	props["apiServerAccessProfile"] = access
	if w.Private {
		host, _, _ := strings.Cut(c.cfg.ClusterHost, ".")
		props["privateFQDN"] = host + "." + guid("zone", c.cfg.ClusterName) + ".privatelink." +
			c.cfg.Location + ".azmk8s.io"
	}
	if w.PoolSubnet != "" {
		props["agentPoolProfiles"] = []any{object{"name": "system", "mode": "System",
			"vnetSubnetID": w.PoolSubnet}}
	}
	if w.Outbound != "" {
		props["networkProfile"].(object)["outboundType"] = w.Outbound
	}
}

// getRouteTable is Route Tables - Get.
func (c *Cloud) getRouteTable(q *call) (*reply, *apiError) {
	here := strings.EqualFold(q.vars["rg"], c.cfg.NodeResourceGroup) &&
		strings.EqualFold(q.vars["name"], routeTable)
	if c.cfg.Ways.Routes == nil || !here {
		return nil, notFound("Microsoft.Network/routeTables", q.vars["name"], q.vars["rg"])
	}
	list := []any{}
	for _, r := range c.cfg.Ways.Routes {
		props := object{"addressPrefix": r.Prefix, "nextHopType": r.Hop}
		if r.Address != "" {
			props["nextHopIpAddress"] = r.Address
		}
		list = append(list, object{"id": c.routeTableID() + "/routes/" + r.Name, "name": r.Name,
			"properties": props})
	}
	return ok(object{"id": c.routeTableID(), "name": routeTable,
		"type": "Microsoft.Network/routeTables", "location": c.cfg.Location,
		"properties": object{"provisioningState": "Succeeded", "disableBgpRoutePropagation": true,
			"routes": list}})
}
