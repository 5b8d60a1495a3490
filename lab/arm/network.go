package arm

import (
	"fmt"
	"net/http"
	"net/netip"
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

// getVNet is Virtual Networks - Get: resourceGuid is what AKS puts into a node label.
func (c *Cloud) getVNet(q *call) (*reply, *apiError) {
	if !strings.EqualFold(q.vars["rg"], c.subnetPart(4)) || !strings.EqualFold(q.vars["name"], c.subnetPart(8)) {
		return nil, notFound("Microsoft.Network/virtualNetworks", q.vars["name"], q.vars["rg"])
	}
	id := c.cfg.SubnetID[:strings.Index(strings.ToLower(c.cfg.SubnetID), "/subnets/")]
	return ok(object{"id": id, "name": c.subnetPart(8), "type": "Microsoft.Network/virtualNetworks", "location": c.cfg.Location,
		"properties": object{"resourceGuid": c.cfg.VNetGUID, "provisioningState": "Succeeded",
			"addressSpace": object{"addressPrefixes": []any{c.subnet.String()}}, "subnets": []any{c.subnetDoc()}}})
}

func (c *Cloud) subnetDoc() object {
	used := []any{}
	for _, r := range c.sorted(func(r *resource) bool { return r.typ == typeNIC }) {
		for _, ip := range digList(r.doc, "properties", "ipConfigurations") {
			if strings.EqualFold(digString(ip, "properties", "subnet", "id"), c.cfg.SubnetID) {
				used = append(used, object{"id": digString(ip, "id")})
			}
		}
	}
	return object{"id": c.cfg.SubnetID, "name": c.subnetPart(10), "type": "Microsoft.Network/virtualNetworks/subnets",
		"properties": object{"addressPrefix": c.subnet.String(), "provisioningState": "Succeeded", "ipConfigurations": used}}
}

// getSubnet is Subnets - Get.
func (c *Cloud) getSubnet(q *call) (*reply, *apiError) {
	if !c.isSubnet(fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/%s/subnets/%s", q.vars["sub"], q.vars["rg"], q.vars["vnet"], q.vars["name"])) {
		return nil, notFound("Microsoft.Network/virtualNetworks/"+q.vars["vnet"]+"/subnets", q.vars["name"], q.vars["rg"])
	}
	return ok(c.subnetDoc())
}

func (c *Cloud) isSubnet(id string) bool { return strings.EqualFold(id, c.cfg.SubnetID) }

// checkIPs checks the ip configurations of an interface: their subnet, pools and group must exist, else
// InvalidResourceReference (documentation "Troubleshoot Azure Microsoft.Network failed provisioning state").
func (c *Cloud) checkIPs(nic string, props object) *apiError {
	ips := digList(props, "ipConfigurations")
	if len(ips) == 0 {
		return refuse(http.StatusBadRequest, "NetworkInterfaceMustHaveAtLeastOneIpConfiguration", "Network interface %s must have one or more IP configurations.", nic)
	}
	missing := func(id string) *apiError {
		return refuse(http.StatusBadRequest, "InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", id, nic)
	}
	var pools []string
	lb := c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Network/loadBalancers", lbName)
	for _, p := range lbPools() {
		pools = append(pools, strings.ToLower(lb+"/backendAddressPools/"+p))
	}
	known := strings.Join(pools, "\n")
	for _, ip := range ips {
		if id := digString(ip, "properties", "subnet", "id"); !c.isSubnet(id) {
			return missing(id)
		}
		for _, p := range digList(ip, "properties", "loadBalancerBackendAddressPools") {
			if id := digString(p, "id"); id == "" || !strings.Contains(known, strings.ToLower(id)) {
				return missing(id)
			}
		}
	}
	if id := digString(props, "networkSecurityGroup", "id"); id != "" && !strings.EqualFold(id, c.securityGroupID()) {
		return missing(id)
	}
	return c.roomFor(len(ips))
}

// roomFor refuses with SubnetIsFull. Azure keeps five addresses of every subnet (documentation "Azure Virtual Network
// FAQ").
func (c *Cloud) roomFor(n int) *apiError {
	total := 1<<min(24, 32-c.subnet.Bits()) - 5
	if k := c.knobs.SubnetAddresses; k > 0 {
		total = min(total, k)
	}
	if len(c.used[strings.ToLower(c.cfg.SubnetID)])+n > total {
		return refuse(http.StatusBadRequest, "SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for %d IP addresses.", c.subnetPart(10), c.subnet, n)
	}
	return nil
}

// checkNetwork checks the network profile of a machine: either inline configurations or references to interfaces.
func (c *Cloud) checkNetwork(q *call, p *vmPlan) *apiError {
	prof := digObject(q.body, "properties", "networkProfile")
	for _, x := range digList(prof, "networkInterfaceConfigurations") {
		cfg, _ := x.(object)
		if digString(cfg, "name") == "" {
			return invalid("networkInterfaceConfigurations.name", "Required parameter 'name' is missing (null).")
		}
		if digString(prof, "networkApiVersion") == "" {
			return invalid("networkApiVersion", "Required parameter 'networkApiVersion' is missing (null): it goes with networkInterfaceConfigurations.")
		}
		id := c.idOf(q.vars["rg"], typeNIC, digString(cfg, "name"))
		if c.res[strings.ToLower(id)] != nil {
			return refuse(http.StatusConflict, "Conflict", "The network interface %s exists already.", id)
		}
		if digBool(cfg, "properties", "enableAcceleratedNetworking") && !p.offer.Size.AcceleratedNetworking {
			return refuse(http.StatusBadRequest, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "VM size %s is not permitted to enable accelerated networking.", p.offer.Size.Name)
		}
		if e := c.checkIPs(id, digObject(cfg, "properties")); e != nil {
			return e
		}
		if e := checkTags(cfg); e != nil {
			return e
		}
		p.inline = append(p.inline, cfg)
	}
	for _, x := range digList(prof, "networkInterfaces") {
		id := digString(x, "id")
		nic := c.res[strings.ToLower(id)]
		switch {
		case nic == nil || nic.typ != typeNIC:
			return refuse(http.StatusNotFound, "NotFound", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", id, c.pathID(q))
		case nic.owner != "":
			return refuse(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s.", nic.id, nic.owner)
		case c.cfg.Now().Before(nic.reservedUntil) && !strings.EqualFold(nic.reservedFor, c.pathID(q)):
			return c.mayDelete(nic)
		}
		p.refs = append(p.refs, nic)
	}
	if len(p.inline)+len(p.refs) == 0 {
		return invalid("networkProfile", "Virtual Machine '%s' must have at least one network interface.", q.vars["name"])
	}
	return nil
}

// attachNetwork creates the inline interfaces and ties all interfaces to the machine. Azure does not promise how it
// names inline interfaces; this one uses the name of the configuration. GET shows references only. The caller holds mu.
func (c *Cloud) attachNetwork(r *resource, p *vmPlan) {
	prof := ensure(r.doc, "properties", "networkProfile")
	refs := digList(prof, "networkInterfaces")
	delete(prof, "networkInterfaceConfigurations")
	delete(prof, "networkApiVersion")
	for _, cfg := range p.inline {
		nic := c.newNIC(r.group, digString(cfg, "name"), object{"location": c.cfg.Location, "tags": deepCopy(cfg["tags"]), "properties": copyObject(digObject(cfg, "properties"))})
		option := digString(cfg, "properties", "deleteOption")
		if option == "" {
			option = "Detach"
		}
		props := ensure(nic.doc, "properties")
		delete(props, "deleteOption")
		delete(props, "primary")
		refs = append(refs, object{"id": nic.id, "properties": object{"primary": digBool(cfg, "properties", "primary") || len(p.inline) == 1, "deleteOption": option}})
		p.refs = append(p.refs, nic)
	}
	prof["networkInterfaces"] = refs
	for _, nic := range p.refs {
		nic.owner = r.id
		r.vm.nics = append(r.vm.nics, nic.id)
		c.changed(nic)
	}
}

// newNIC stores an interface and gives its configurations addresses. The caller has checked it and holds mu.
func (c *Cloud) newNIC(group, name string, doc object) *resource {
	id := c.idOf(group, typeNIC, name)
	r := &resource{id: id, typ: typeNIC, name: name, group: strings.Split(id, "/")[4], doc: doc, state: "Succeeded", created: c.cfg.Now()}
	if doc["tags"] == nil {
		delete(doc, "tags")
	}
	props := ensure(doc, "properties")
	props["resourceGuid"], props["macAddress"] = guid("nic", id), ""
	for i, x := range digList(props, "ipConfigurations") {
		ip, _ := x.(object)
		ip["id"] = fmt.Sprintf("%s/ipConfigurations/%s", id, digString(ip, "name"))
		in := ensure(ip, "properties")
		in["provisioningState"], in["privateIPAllocationMethod"] = "Succeeded", "Dynamic"
		in["privateIPAddress"] = c.takeAddress(id).String()
		if in["primary"] == nil {
			in["primary"] = i == 0
		}
	}
	c.add(r)
	return r
}

// takeAddress finds the next free address, round and round the subnet. roomFor has promised that there is one.
func (c *Cloud) takeAddress(owner string) netip.Addr {
	key := strings.ToLower(c.cfg.SubnetID)
	if c.used[key] == nil {
		c.used[key] = map[netip.Addr]string{}
	}
	first := c.subnet.Addr()
	for range 4 { // Azure keeps .0 to .3
		first = first.Next()
	}
	a, begun := c.nextIP[key]
	if !begun {
		a = first
	}
	for c.used[key][a] != "" || !c.subnet.Contains(a.Next()) {
		if a = a.Next(); !c.subnet.Contains(a) || !c.subnet.Contains(a.Next()) {
			a = first // the last address is kept, too
		}
	}
	c.used[key][a], c.nextIP[key] = owner, a.Next()
	return a
}

// release frees the addresses of an interface. The caller holds mu.
func (c *Cloud) release(nic *resource) {
	for _, ip := range digList(nic.doc, "properties", "ipConfigurations") {
		if a, err := netip.ParseAddr(digString(ip, "properties", "privateIPAddress")); err == nil {
			delete(c.used[strings.ToLower(c.cfg.SubnetID)], a)
		}
	}
}

// addressOf is the private address of a machine's first interface.
func (c *Cloud) addressOf(r *resource) string {
	for _, id := range r.vm.nics {
		if nic := c.res[strings.ToLower(id)]; nic != nil {
			for _, ip := range digList(nic.doc, "properties", "ipConfigurations") {
				return digString(ip, "properties", "privateIPAddress")
			}
		}
	}
	return ""
}

// putNIC is Network Interfaces - Create Or Update. An update replaces tags only: the lab does not re-plug interfaces.
func (c *Cloud) putNIC(q *call) (*reply, *apiError) {
	if e := checkTags(q.body); e != nil {
		return nil, e
	}
	if old := c.res[strings.ToLower(c.pathID(q))]; old != nil {
		if tags, has := q.body["tags"]; has {
			old.doc["tags"] = deepCopy(tags)
		}
		c.changed(old)
		return ok(old.show())
	}
	if e := c.checkIPs(c.pathID(q), digObject(q.body, "properties")); e != nil {
		return nil, e
	}
	r := c.newNIC(q.vars["rg"], q.vars["name"], copyObject(q.body))
	op := c.newOperation()
	if d := c.knobs.ChildTime.D(); d > 0 {
		r.state = "Updating"
		c.after(d, func() {
			r.state = "Succeeded"
			c.finishOperation(op, nil)
			c.changed(r)
		})
	} else {
		c.finishOperation(op, nil)
	}
	return &reply{status: http.StatusCreated, header: c.accepted(q, op, "Microsoft.Network"), body: r.show()}, nil
}
