package arm

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// subnet is a place where interfaces get addresses.
type subnet struct {
	id     string
	prefix netip.Prefix
}

// part returns one segment of the id: 4 = resource group, 8 = network, 10 = name.
func (s subnet) part(i int) string { return strings.Split(s.id, "/")[i] }

// network is the id of the virtual network.
func (s subnet) network() string { return strings.Join(strings.Split(s.id, "/")[:9], "/") }

// subnets reads the configuration and names everything that is wrong with it.
func subnets(cfg Config) (map[string]subnet, []error) {
	var errs []error
	out := map[string]subnet{}
	all := map[string]string{cfg.SubnetID: cfg.SubnetPrefix}
	for id, prefix := range cfg.Subnets {
		all[id] = prefix
	}
	for _, id := range sortedKeys(all) {
		prefix, err := netip.ParsePrefix(all[id])
		if err != nil || !prefix.Addr().Is4() || prefix.Bits() > 29 {
			errs = append(errs, fmt.Errorf("subnet prefix %q of %s: want an IPv4 prefix of at most 29 bits", all[id], id))
		}
		if len(strings.Split(id, "/")) != 11 {
			errs = append(errs, fmt.Errorf("subnet id %q is not the id of a subnet", id))
		}
		out[strings.ToLower(id)] = subnet{id, prefix.Masked()}
	}
	return out, errs
}

func (c *Cloud) subnetOf(id string) (subnet, bool) {
	s, known := c.nets[strings.ToLower(id)]
	return s, known
}

// getVNet is Virtual Networks - Get: resourceGuid is what AKS puts into a node label.
func (c *Cloud) getVNet(q *call) (*reply, *apiError) {
	want := c.idOf(q.vars["rg"], "Microsoft.Network/virtualNetworks", q.vars["name"])
	var list, prefixes []any
	id := ""
	for _, key := range sortedKeys(c.nets) {
		if s := c.nets[key]; strings.EqualFold(s.network(), want) {
			id, list, prefixes = s.network(), append(list, c.subnetDoc(s)), append(prefixes, s.prefix.String())
		}
	}
	if id == "" {
		return nil, notFound("Microsoft.Network/virtualNetworks", q.vars["name"], q.vars["rg"])
	}
	g := guid("vnet", strings.ToLower(id))
	if own, _ := c.subnetOf(c.cfg.SubnetID); own.network() == id {
		g = c.cfg.VNetGUID
	}
	return ok(object{"id": id, "name": lastSegment(id), "type": "Microsoft.Network/virtualNetworks", "location": c.cfg.Location,
		"properties": object{"resourceGuid": g, "provisioningState": "Succeeded", "addressSpace": object{"addressPrefixes": prefixes}, "subnets": list}})
}

func (c *Cloud) subnetDoc(s subnet) object {
	used := []any{}
	for _, r := range c.sorted(func(r *resource) bool { return r.typ == typeNIC }) {
		for _, ip := range digList(r.doc, "properties", "ipConfigurations") {
			if strings.EqualFold(digString(ip, "properties", "subnet", "id"), s.id) {
				used = append(used, object{"id": digString(ip, "id")})
			}
		}
	}
	props := object{"addressPrefix": s.prefix.String(), "provisioningState": "Succeeded", "ipConfigurations": used}
	if strings.EqualFold(s.id, c.cfg.SubnetID) {
		c.cfg.Ways.onSubnet(c, props)
	}
	return object{"id": s.id, "name": s.part(10), "type": "Microsoft.Network/virtualNetworks/subnets", "properties": props}
}

// getSubnet is Subnets - Get.
func (c *Cloud) getSubnet(q *call) (*reply, *apiError) {
	s, known := c.subnetOf(c.idOf(q.vars["rg"], "Microsoft.Network/virtualNetworks", q.vars["vnet"]) + "/subnets/" + q.vars["name"])
	if !known {
		return nil, notFound("Microsoft.Network/virtualNetworks/"+q.vars["vnet"]+"/subnets", q.vars["name"], q.vars["rg"])
	}
	return ok(c.subnetDoc(s))
}

// roomFor refuses with SubnetIsFull. Azure keeps five addresses of every subnet (documentation "Azure Virtual Network
// FAQ").
func (c *Cloud) roomFor(s subnet, n int) *apiError {
	total := 1<<min(24, 32-s.prefix.Bits()) - 5
	if k := c.knobs.SubnetAddresses; k > 0 {
		total = min(total, k)
	}
	if len(c.used[strings.ToLower(s.id)])+n > total {
		return refuse(http.StatusBadRequest, "SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for %d IP addresses.", s.part(10), s.prefix, n)
	}
	return nil
}

// takeAddress finds the next free address, round and round the subnet. roomFor has promised that there is one.
func (c *Cloud) takeAddress(s subnet, owner string) netip.Addr {
	key := strings.ToLower(s.id)
	if c.used[key] == nil {
		c.used[key] = map[netip.Addr]string{}
	}
	first := s.prefix.Addr()
	for range 4 { // Azure keeps .0 to .3
		first = first.Next()
	}
	a, begun := c.nextIP[key]
	if !begun {
		a = first
	}
	for c.used[key][a] != "" || !s.prefix.Contains(a.Next()) {
		if a = a.Next(); !s.prefix.Contains(a) || !s.prefix.Contains(a.Next()) {
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
			delete(c.used[strings.ToLower(digString(ip, "properties", "subnet", "id"))], a)
		}
	}
}
