package arm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/deploy"
)

// Assignment gives the caller a role at a scope and everything below it (documentation "What is Azure role-based access
// control").
type Assignment struct {
	Scope   string   // id of a subscription, a resource group or a resource
	Actions []string // Microsoft.Compute/virtualMachines/read; a * stands for any text
}

// shippedRights are the roles that the project ships, assigned as they say. A right that is missing there is missing here.
func (c *Cloud) shippedRights() ([]Assignment, error) {
	read := func(name string) ([]string, error) {
		b, err := deploy.Roles.ReadFile("azure/" + name)
		if err != nil {
			return nil, err
		}
		var role struct{ Actions, NotActions []string }
		if err := json.Unmarshal(b, &role); err != nil {
			return nil, fmt.Errorf("role %s: %w", name, err)
		}
		if len(role.NotActions) > 0 {
			return nil, fmt.Errorf("role %s: the lab reads no NotActions", name)
		}
		return role.Actions, nil
	}
	sub := "/subscriptions/" + c.cfg.Subscription
	var out []Assignment
	for _, r := range []struct {
		file   string
		scopes []string
	}{
		{"subscription.json", []string{sub}},
		{"node-group.json", []string{sub + "/resourceGroups/" + c.cfg.NodeResourceGroup}},
		{"shared.json", append(c.networks(), c.cfg.DiskEncryptionSets...)},
	} {
		actions, err := read(r.file)
		if err != nil {
			return nil, err
		}
		for _, s := range r.scopes {
			out = append(out, Assignment{Scope: s, Actions: actions})
		}
	}
	return out, nil
}

// networks are the ids of all virtual networks, in order.
func (c *Cloud) networks() []string {
	ids := map[string]bool{}
	for _, s := range c.nets {
		ids[s.network()] = true
	}
	return sortedKeys(ids)
}

// may reports whether any assignment allows an action at a scope.
func (c *Cloud) may(action, scope string) bool {
	if c.denied(action) {
		return false
	}
	for _, a := range c.rights {
		if !within(scope, a.Scope) {
			continue
		}
		for _, pattern := range a.Actions {
			if wildcard(strings.ToLower(pattern), strings.ToLower(action)) {
				return true
			}
		}
	}
	return false
}

// within reports whether an id is a scope or lies below it.
func within(id, scope string) bool {
	id, scope = strings.ToLower(id), strings.ToLower(strings.TrimSuffix(scope, "/"))
	return id == scope || strings.HasPrefix(id, scope+"/")
}

// wildcard matches a pattern in which * stands for any text. Azure's own roles have one or two.
func wildcard(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) || !strings.HasSuffix(s, parts[len(parts)-1]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return len(s) >= len(parts[len(parts)-1])
}

// actionOf names what a role must allow for an operation: provider, type, and the verb that the method stands for
// (documentation "Azure resource provider operations"). Resource Graph needs none of its own: it shows what the caller may
// read.
func actionOf(rt route) string {
	if rt.public || rt.bucket == "graph" {
		return ""
	}
	var types []string
	for i := len(rt.segs) - 1; i >= 0; i-- {
		if rt.segs[i] == "providers" {
			types = append([]string{rt.segs[i+1]}, types...)
			types = append(types[:1], types[2:]...)
			break
		}
		if !strings.HasPrefix(rt.segs[i], "{") {
			types = append([]string{rt.segs[i]}, types...)
		}
	}
	if !strings.HasPrefix(types[0], "Microsoft.") {
		types = append([]string{"Microsoft.Resources"}, types...)
	}
	verb := map[string]string{http.MethodGet: "read", http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete", http.MethodPost: "action"}
	return strings.Join(append(types, verb[rt.method]), "/")
}

// principal is the object id of the one application that calls.
func (c *Cloud) principal() string { return guid("principal", c.cfg.ClientID) }

// checkRights refuses as documented on "Troubleshoot Azure RBAC": AuthorizationFailed.
func (c *Cloud) checkRights(q *call, rt *route) *apiError {
	if c.asksAsPerson(q.Request) && strings.HasSuffix(rt.action, "/read") {
		return nil
	}
	if rt.action == "" || !c.asksAsPerson(q.Request) && c.may(rt.action, q.URL.Path) {
		return nil
	}
	e := refuse(http.StatusForbidden, "AuthorizationFailed",
		"The client '%[1]s' with object id '%[1]s' does not have authorization to perform action '%[2]s' over scope '%[3]s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
		c.principal(), rt.action, q.URL.Path)
	e.denied = rt.action
	return e
}

// link is a reference in a body to another resource, and what the caller must be allowed to do there.
type link struct{ path, id, action string }

// checkLinks is what Azure Resource Manager does with references before the provider sees the request: each must be an id
// (LinkedInvalidPropertyId), and the caller must have rights there (LinkedAuthorizationFailed; both on the page "Troubleshoot
// common Azure deployment errors").
func (c *Cloud) checkLinks(q *call, links []link) *apiError {
	own := c.pathID(q)
	for _, l := range links {
		parts := strings.Split(l.id, "/")
		if len(parts) < 9 || len(parts)%2 == 0 || parts[0] != "" || !strings.EqualFold(parts[1], "subscriptions") || !strings.EqualFold(parts[5], "providers") {
			return refuse(http.StatusBadRequest, "LinkedInvalidPropertyId",
				"Property id '%.200s' at path '%s' is invalid. Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.", l.id, l.path)
		}
		if !c.may(l.action, l.id) {
			e := refuse(http.StatusForbidden, "LinkedAuthorizationFailed",
				"The client '%[1]s' with object id '%[1]s' has permission to perform action '%[2]s/write' on scope '%[3]s'; however, it does not have permission to perform action(s) '%[4]s' on the linked scope(s) '%[5]s' (respectively) or the linked scope(s) are invalid.",
				c.principal(), q.format, own, l.action, l.id)
			e.denied = l.action
			return e
		}
	}
	return nil
}

// linksOfIPs are the references of an interface.
func linksOfIPs(at string, props object) []link {
	var out []link
	add := func(path, id, action string) {
		if id != "" {
			out = append(out, link{path, id, action})
		}
	}
	for i, ip := range digList(props, "ipConfigurations") {
		p := fmt.Sprintf("%s.ipConfigurations[%d].properties.", at, i)
		add(p+"subnet.id", digString(ip, "properties", "subnet", "id"), "Microsoft.Network/virtualNetworks/subnets/join/action")
		for j, pool := range digList(ip, "properties", "loadBalancerBackendAddressPools") {
			add(fmt.Sprintf("%sloadBalancerBackendAddressPools[%d].id", p, j), digString(pool, "id"), "Microsoft.Network/loadBalancers/backendAddressPools/join/action")
		}
	}
	add(at+".networkSecurityGroup.id", digString(props, "networkSecurityGroup", "id"), "Microsoft.Network/networkSecurityGroups/join/action")
	return out
}

// linksOfVM are the references of a machine, and the disk and interfaces that compute makes with it in the caller's name.
// Azure documents the roles for that ("Virtual Machine Contributor" has them), not the single checks.
func (c *Cloud) linksOfVM(q *call) []link {
	var out []link
	add := func(path, id, action string) {
		if id != "" {
			out = append(out, link{path, id, action})
		}
	}
	rg := q.vars["rg"]
	for _, id := range sortedKeys(digObject(q.body, "identity", "userAssignedIdentities")) {
		add("identity.userAssignedIdentities", id, "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action")
	}
	props := digObject(q.body, "properties")
	disk := digObject(props, "storageProfile", "osDisk")
	if disk["diffDiskSettings"] == nil {
		add("properties.storageProfile.osDisk", c.idOf(rg, typeDisk, q.vars["name"]), typeDisk+"/write")
	}
	add("properties.storageProfile.osDisk.managedDisk.diskEncryptionSet.id", digString(disk, "managedDisk", "diskEncryptionSet", "id"), "Microsoft.Compute/diskEncryptionSets/read")
	add("properties.capacityReservation.capacityReservationGroup.id", digString(props, "capacityReservation", "capacityReservationGroup", "id"), "Microsoft.Compute/capacityReservationGroups/deploy/action")
	add("properties.availabilitySet.id", digString(props, "availabilitySet", "id"), "Microsoft.Compute/availabilitySets/vmSizes/read")
	for i, nic := range digList(props, "networkProfile", "networkInterfaces") {
		add(fmt.Sprintf("properties.networkProfile.networkInterfaces[%d].id", i), digString(nic, "id"), typeNIC+"/join/action")
	}
	for i, cfg := range digList(props, "networkProfile", "networkInterfaceConfigurations") {
		at := fmt.Sprintf("properties.networkProfile.networkInterfaceConfigurations[%d]", i)
		id := c.idOf(rg, typeNIC, strings.ReplaceAll(digString(cfg, "name"), "/", "_"))
		add(at, id, typeNIC+"/write")
		add(at, id, typeNIC+"/join/action")
		out = append(out, linksOfIPs(at+".properties", digObject(cfg, "properties"))...)
	}
	return out
}

// Rights lists what the caller may do, for a test that takes a right away.
func (c *Cloud) Rights() []Assignment { return slices.Clone(c.rights) }
