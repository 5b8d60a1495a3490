package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// reach looks whether machines in the subnet can talk to the API server. It cannot send from there:
// nodes that are ready there have shown it; names, rules, routes and ranges say what cannot be.
func reach(b *book, f Facts) {
	if !strings.HasPrefix(f.Settings.Endpoint, "https://") {
		return // settings told it
	}
	called(b, f)
	s := f.Azure.Subnet
	if r, denied := blocks(s.Rules, f.Azure.Managed.Private); denied {
		b.say(Stop, fmt.Sprintf("allow TCP 443 from the subnet to the API server before rule "+
			"%s", r.Name),
			"rule %s of the subnet's security group refuses what machines send to port 443", r.Name)
	}
	name := f.Settings.SubnetID[strings.LastIndex(f.Settings.SubnetID, "/")+1:]
	seen := slices.IndexFunc(f.Cluster.Nodes, func(n Node) bool {
		return n.Ready && n.Subnet != "" && strings.EqualFold(n.Subnet, name)
	})
	if seen >= 0 {
		b.well("node %s is ready in the same subnet, and so reaches the API server",
			f.Cluster.Nodes[seen].Name)
		return
	}
	if !f.Azure.Asked["subnet"] {
		return // nobody saw it, and the check of Azure says so
	}
	before := len(b.out)
	wayOut(b, f)
	comesFrom(b, f)
	elsewhere(b, f)
	if len(b.out) == before {
		b.well("nothing in the subnet keeps machines from %s; no node in it has shown it yet",
			f.Settings.Endpoint)
	}
}

// called looks whether the endpoint is a name that the API server has: machines believe no other.
func called(b *book, f Facts) {
	names := f.Azure.Managed.Names
	host := hostOf(f.Settings.Endpoint)
	address := strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":")
	if len(names) == 0 || address || slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(n, host)
	}) {
		return
	}
	right := names[0]
	if f.Azure.Managed.Private {
		right = names[len(names)-1]
	}
	b.say(Stop, "set settings.clusterEndpoint to https://"+right+":443",
		"machines are told to join %s, and the cluster's API server is called %s", host,
		strings.Join(names, " or "))
}

// hostOf is the name or address in an https URL, without its port.
func hostOf(endpoint string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(endpoint, "https://"), "/")
	if rest, six := strings.CutPrefix(host, "["); six {
		host, _, _ = strings.Cut(rest, "]")
		return host
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// everywhere is the range of the default route.
const everywhere = "0.0.0.0/0"

// wayOut looks where the subnet's traffic goes. Image and package servers are out there, too, so that a
// private API server is no excuse.
func wayOut(b *book, f Facts) {
	s, m := f.Azure.Subnet, f.Azure.Managed
	i := slices.IndexFunc(s.Routes, func(r Route) bool { return r.Prefix == everywhere })
	own := strings.EqualFold(m.Outbound, "userDefinedRouting")
	const documented = ", and what AKS documents as required outbound rules"
	const add = "az network route-table route create --route-table-name %s -g %s -n out " +
		"--address-prefix 0.0.0.0/0 --next-hop-type VirtualAppliance " +
		"--next-hop-ip-address <your firewall>"
	group, name := placed(s.RouteTable)
	switch {
	case s.RouteTable == "" && own && s.NATGateway == "":
		level := Note // older networks have a way out by default
		if s.Sealed {
			level = Stop
		}
		b.say(level, "give it the route table of the cluster's other subnets: az network vnet "+
			"subnet update --ids "+f.Settings.SubnetID+" --route-table <id>",
			"AKS leaves the way out to you (userDefinedRouting), and the subnet has no route table")
	case s.RouteTable == "":
	case s.Routes == nil:
		b.say(Note, "let TCP 443 through to "+f.Settings.Endpoint+documented,
			"traffic of the subnet follows route table %s; no node in it shows that %s is reached",
			s.RouteTable, f.Settings.Endpoint)
	case i < 0 && own && !s.Announced && s.NATGateway == "":
		b.say(Stop, fmt.Sprintf(add, name, group),
			"AKS leaves the way out to you (userDefinedRouting), and route table %s has no "+
				"route to %s", name, everywhere)
	case i < 0 && own && s.NATGateway == "":
		b.say(Note, "look that it does: az network vnet-gateway list-learned-routes",
			"route table %s has no route to %s; machines get out if your network "+
				"gateway announces one", name, everywhere)
	case i < 0:
	case strings.EqualFold(s.Routes[i].Hop, "None"):
		b.say(Stop, fmt.Sprintf("az network route-table route delete --route-table-name %s -g %s "+
			"-n %s", name, group, s.Routes[i].Name),
			"route %s of route table %s drops what machines send to %s", s.Routes[i].Name, name,
			everywhere)
	case strings.EqualFold(s.Routes[i].Hop, "VirtualAppliance"):
		b.say(Note, "let it pass TCP 443 to "+f.Settings.Endpoint+documented,
			"traffic of the subnet goes to %s (route %s), and what that lets through is not seen "+
				"from here", s.Routes[i].Address, s.Routes[i].Name)
	case strings.EqualFold(s.Routes[i].Hop, "VirtualNetworkGateway"):
		b.say(Note, "let your network pass TCP 443 to "+f.Settings.Endpoint+documented,
			"traffic of the subnet goes through your network gateway (route %s), and what that "+
				"lets through is not seen from here", s.Routes[i].Name)
	}
}

// comesFrom looks whether the API server lets the addresses in by which machines come. Those of AKS' own
// load balancer are let in by AKS (documentation "API server authorized IP ranges"); a private API server
// has no ranges.
func comesFrom(b *book, f Facts) {
	s, m := f.Azure.Subnet, f.Azure.Managed
	if len(m.Ranges) == 0 || m.Private {
		return
	}
	i := slices.IndexFunc(s.Routes, func(r Route) bool { return r.Prefix == everywhere })
	from, show := "", ""
	switch {
	case i >= 0 && strings.EqualFold(s.Routes[i].Hop, "VirtualAppliance"):
		from = "the addresses of what stands at " + s.Routes[i].Address
	case s.NATGateway != "":
		from = "the addresses of NAT gateway " + s.NATGateway
		show = "; az network nat gateway show --ids " + s.NATGateway + " names them"
	case strings.EqualFold(m.Outbound, "userDefinedRouting"):
		from = "your own: AKS leaves the way out to you (userDefinedRouting)"
	default:
		return
	}
	b.say(Note, "look that they are among the ranges"+show+
		`; az aks update -g "$RG" -n "$NAME" --api-server-authorized-ip-ranges takes the whole `+
		"list",
		"only %s and AKS' own load balancer may talk to the API server; machines come from %s",
		some(m.Ranges), from)
}

// elsewhere looks whether machines are in a network that finds a private API server: its name is answered
// in networks that its private zone is linked to, and its address is in one that must be peered.
func elsewhere(b *book, f Facts) {
	m := f.Azure.Managed
	in := networkOf(f.Settings.SubnetID)
	if !m.Private || len(m.Subnets) == 0 || slices.ContainsFunc(m.Subnets, func(id string) bool {
		return strings.EqualFold(networkOf(id), in)
	}) {
		return
	}
	b.say(Note, "peer the two networks (az network vnet peering create, in both directions), and "+
		"link the private DNS zone of the cluster: az network private-dns link vnet create "+
		"--virtual-network "+in,
		"the API server is private, and machines are in another network (%s) than AKS' pools (%s)",
		last(in), last(networkOf(m.Subnets[0])))
}

// networkOf is the id of a subnet's network.
func networkOf(subnet string) string {
	i := strings.LastIndex(strings.ToLower(subnet), "/subnets/")
	if i < 0 {
		return subnet
	}
	return subnet[:i]
}

func last(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// placed is the resource group and the name in an id.
func placed(id string) (group, name string) {
	parts := strings.Split(id, "/")
	if len(parts) < 9 {
		return "", last(id)
	}
	return parts[4], parts[8]
}

// blocks finds the rule that decides about TCP to port 443 anywhere, the one with the lowest priority
// number; without one, Azure's own rules let it out. A private API server is in a network.
func blocks(rules []Rule, private bool) (Rule, bool) {
	first := Rule{}
	for _, r := range rules {
		tcp := r.Protocol == "*" || strings.EqualFold(r.Protocol, "tcp")
		where := slices.ContainsFunc(r.Destinations, func(d string) bool {
			d = strings.ToLower(d)
			return slices.Contains([]string{"*", "0.0.0.0/0", "internet"}, d) ||
				strings.HasPrefix(d, "azurecloud") || private && d == "virtualnetwork"
		})
		if tcp && where && slices.ContainsFunc(r.Ports, holds443) &&
			(first.Name == "" || r.Priority < first.Priority) {
			first = r
		}
	}
	return first, first.Deny
}

func holds443(ports string) bool {
	if ports == "*" || ports == "443" {
		return true
	}
	var from, to int
	n, err := fmt.Sscanf(ports, "%d-%d", &from, &to)
	return err == nil && n == 2 && from <= 443 && 443 <= to
}
