package arm

import (
	"fmt"
	"net/http"
	"strings"
)

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
	names := map[string]bool{}
	var pools []string
	lb := c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Network/loadBalancers", lbName)
	for _, p := range lbPools() {
		pools = append(pools, strings.ToLower(lb+"/backendAddressPools/"+p))
	}
	known := strings.Join(pools, "\n")
	need := map[string]int{}
	for _, ip := range ips {
		name := digString(ip, "name")
		if !resourceName.MatchString(name) {
			return badName(name)
		}
		if names[strings.ToLower(name)] {
			e := refuse(http.StatusBadRequest, "InvalidRequestFormat", "Cannot parse the request.")
			e.Details = []apiError{{Code: "DuplicateResourceName", Message: fmt.Sprintf("Resource %s has two child resources with the same name (%s).", nic, name)}}
			return e
		}
		names[strings.ToLower(name)] = true
		id := digString(ip, "properties", "subnet", "id")
		if _, there := c.subnetOf(id); !there {
			return missing(id)
		}
		need[strings.ToLower(id)]++
		for _, p := range digList(ip, "properties", "loadBalancerBackendAddressPools") {
			if id := digString(p, "id"); id == "" || !strings.Contains(known, strings.ToLower(id)) {
				return missing(id)
			}
		}
	}
	if id := digString(props, "networkSecurityGroup", "id"); id != "" && !strings.EqualFold(id, c.securityGroupID()) {
		return missing(id)
	}
	for _, id := range sortedKeys(need) {
		if e := c.roomFor(c.nets[id], need[id]); e != nil {
			return e
		}
	}
	return nil
}

// checkNetwork checks the network profile of a machine: either inline configurations or references to interfaces.
func (c *Cloud) checkNetwork(q *call, p *vmPlan) *apiError {
	prof := digObject(q.body, "properties", "networkProfile")
	for _, x := range digList(prof, "networkInterfaceConfigurations") {
		cfg, _ := x.(object)
		if name := digString(cfg, "name"); !resourceName.MatchString(name) {
			return badName(name)
		}
		if digString(prof, "networkApiVersion") == "" {
			return invalid("networkApiVersion", "Required parameter 'networkApiVersion' is missing (null): it goes with networkInterfaceConfigurations.")
		}
		id := c.idOf(q.vars["rg"], typeNIC, digString(cfg, "name"))
		if c.res[strings.ToLower(id)] != nil {
			return refuse(http.StatusConflict, "Conflict", "The network interface %s exists already.", id)
		}
		if digBool(cfg, "properties", "enableAcceleratedNetworking") && !p.offer.Size.AcceleratedNetworking {
			return notAccelerated(p)
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
		case nic.state != "Succeeded": // public reports of the refusal
			e := refuse(http.StatusTooManyRequests, "RetryableError", "A retryable error occurred.")
			e.Details = []apiError{{Code: "ReferencedResourceNotProvisioned", Message: fmt.Sprintf("Cannot proceed with operation because resource %s used by resource %s is not in Succeeded state. Resource is in %s state.", nic.id, c.pathID(q), nic.state)}}
			return e
		case digBool(nic.doc, "properties", "enableAcceleratedNetworking") && !p.offer.Size.AcceleratedNetworking:
			return notAccelerated(p)
		}
		p.refs = append(p.refs, nic)
	}
	if len(p.inline)+len(p.refs) == 0 {
		return invalid("networkProfile", "Virtual Machine '%s' must have at least one network interface.", q.vars["name"])
	}
	return nil
}

func notAccelerated(p *vmPlan) *apiError {
	return refuse(http.StatusBadRequest, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "VM size %s is not permitted to enable accelerated networking.", p.offer.Size.Name)
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
		at, _ := c.subnetOf(digString(in, "subnet", "id"))
		in["privateIPAddress"] = c.takeAddress(at, id).String()
		if in["primary"] == nil {
			in["primary"] = i == 0
		}
	}
	c.add(r)
	return r
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

// putNIC is Network Interfaces - Create Or Update. A free interface is made anew; of one that a machine holds an update replaces the tags
// only: the lab does not re-plug it.
func (c *Cloud) putNIC(q *call) (*reply, *apiError) {
	old := c.res[strings.ToLower(c.pathID(q))]
	switch {
	case old == nil:
	case old.state == "Deleting": // public reports of the refusal
		return nil, refuse(http.StatusTooManyRequests, "RetryableError", "A retryable error occurred: another operation on this or dependent resource is in progress. Resource %s is being deleted.", old.id)
	case old.owner != "":
		if tags, has := q.body["tags"]; has {
			old.doc["tags"] = deepCopy(tags)
		}
		c.changed(old)
		return ok(old.show())
	}
	if name := q.vars["name"]; !resourceName.MatchString(name) {
		return nil, badName(name)
	}
	if e := c.checkLinks(q, linksOfIPs("properties", digObject(q.body, "properties"))); e != nil {
		return nil, e
	}
	if e := c.checkIPs(c.pathID(q), digObject(q.body, "properties")); e != nil {
		return nil, e
	}
	status := http.StatusCreated
	r := &resource{}
	if old != nil {
		status = http.StatusOK
		*r = *old
		c.remove(old)
	}
	made := c.newNIC(q.vars["rg"], q.vars["name"], copyObject(q.body))
	if old != nil {
		made.created, made.changes, made.reservedFor, made.reservedUntil = r.created, r.changes+1, r.reservedFor, r.reservedUntil
	}
	op := c.newOperation()
	if d := c.knobs.ChildTime.D(); d > 0 {
		made.state = "Updating"
		c.after(d, func() {
			if c.res[made.key()] == made && made.state == "Updating" {
				made.state = "Succeeded"
				c.changed(made)
			}
			c.finishOperation(op, nil)
		})
	} else {
		c.finishOperation(op, nil)
	}
	return &reply{status: status, header: c.accepted(q, op, "Microsoft.Network"), body: made.show()}, nil
}
