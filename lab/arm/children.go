package arm

import (
	"net/http"
	"regexp"
	"strings"
)

// attachDisk creates the OS disk of a machine that got its hardware; ephemeral OS disks are no resources. The caller
// holds mu.
func (c *Cloud) attachDisk(r *resource) {
	os := ensure(r.doc, "properties", "storageProfile", "osDisk")
	if os["diffDiskSettings"] != nil || r.vm.diskID != "" {
		return
	}
	name := digString(os, "name")
	id := c.idOf(r.group, typeDisk, name)
	kind := digString(os, "managedDisk", "storageAccountType")
	if kind == "" {
		// Azure picks premium storage when the size can use it.
		kind = "Standard_LRS"
		if r.vm.offer.Size.PremiumIO {
			kind = "Premium_LRS"
		}
	}
	managed := ensure(os, "managedDisk")
	managed["id"], managed["storageAccountType"] = id, kind
	doc := object{"location": c.cfg.Location, "sku": object{"name": kind},
		"properties": object{"osType": "Linux", "diskSizeGB": int(r.vm.diskGB), "timeCreated": stamp(c.cfg.Now()), "uniqueId": guid("disk", id),
			"creationData": object{"createOption": "FromImage", "imageReference": deepCopy(dig(r.doc, "properties", "storageProfile", "imageReference"))}}}
	if tags := r.doc["tags"]; tags != nil {
		doc["tags"] = deepCopy(tags) // an OS disk inherits the machine's tags at creation
	}
	if r.vm.zone != "" {
		doc["zones"] = []any{r.vm.zone}
	}
	r.vm.diskID = id
	c.add(&resource{id: id, typ: typeDisk, name: name, group: r.group, doc: doc, state: "Succeeded", created: c.cfg.Now(), owner: r.id})
}

// extensionName is what an extension may be called (documentation "Naming rules and restrictions for Azure resources").
var extensionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,80}$`)

// putExtension is Virtual Machine Extensions - Create Or Update. protectedSettings never come back.
func (c *Cloud) putExtension(q *call) (*reply, *apiError) {
	vmID := c.idOf(q.vars["rg"], typeVM, q.vars["vm"])
	vm := c.res[strings.ToLower(vmID)]
	if vm == nil {
		return nil, refuse(http.StatusNotFound, "ParentResourceNotFound", "Failed to perform 'write' on resource(s) of type 'virtualMachines/extensions', because the parent resource '%s' could not be found.", vmID)
	}
	if vm.state == "Deleting" || vm.state == "Failed" {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "Cannot modify extensions in the VM when the VM is not running: '%s' is %s.", vm.name, vm.state)
	}
	if !extensionName.MatchString(q.vars["name"]) {
		return nil, invalid("vmExtensionName", "The entity name 'vmExtensionName' is invalid according to its validation rule: %s", extensionName)
	}
	for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
		if digString(q.body, "properties", field) == "" {
			return nil, invalid(field, "Required parameter '%s' is missing (null).", field)
		}
	}
	doc := copyObject(q.body)
	delete(ensure(doc, "properties"), "protectedSettings")
	status, state := http.StatusCreated, "Creating"
	id := vm.id + "/extensions/" + q.vars["name"]
	r := c.res[strings.ToLower(id)]
	if r != nil {
		status, state, r.doc = http.StatusOK, "Updating", doc
	} else {
		r = &resource{id: id, typ: typeExtension, name: q.vars["name"], group: vm.group, doc: doc, created: c.cfg.Now(), owner: vm.id}
	}
	r.state = state
	c.add(r)
	if status == http.StatusCreated {
		vm.vm.exts = append(vm.vm.exts, r.id)
	}
	op := c.newOperation()
	c.after(c.knobs.ChildTime.D(), func() {
		if c.res[r.key()] == r && r.state == state {
			r.state = "Succeeded"
			c.changed(r)
		}
		c.finishOperation(op, nil)
	})
	return &reply{status: status, header: c.accepted(q, op, "Microsoft.Compute"), body: r.show()}, nil
}

// listExtensions is Virtual Machine Extensions - List.
func (c *Cloud) listExtensions(q *call) (*reply, *apiError) {
	vmID := c.idOf(q.vars["rg"], typeVM, q.vars["vm"])
	vm := c.res[strings.ToLower(vmID)]
	if vm == nil {
		return nil, notFound(typeVM, q.vars["vm"], q.vars["rg"])
	}
	return ok(object{"value": c.extensionsOf(vm)})
}

// extensionsOf shows the extensions of a machine. The caller holds mu.
func (c *Cloud) extensionsOf(r *resource) []any {
	list := []any{}
	for _, id := range r.vm.exts {
		if x := c.res[strings.ToLower(id)]; x != nil {
			list = append(list, x.show())
		}
	}
	return list
}

// getCluster is Managed Clusters - Get, with what a node needs to know.
func (c *Cloud) getCluster(q *call) (*reply, *apiError) {
	if !strings.EqualFold(q.vars["rg"], c.cfg.ClusterResourceGroup) || !strings.EqualFold(q.vars["name"], c.cfg.ClusterName) {
		return nil, notFound("Microsoft.ContainerService/managedClusters", q.vars["name"], q.vars["rg"])
	}
	props := object{"provisioningState": "Succeeded", "powerState": object{"code": "Running"}, "kubernetesVersion": c.cfg.KubernetesVersion,
		"currentKubernetesVersion": c.cfg.KubernetesVersion, "nodeResourceGroup": c.cfg.NodeResourceGroup,
		"dnsPrefix": c.cfg.ClusterName, "fqdn": c.cfg.ClusterHost, "linuxProfile": c.linuxProfile(),
		"networkProfile":    object{"networkPlugin": "azure", "networkPluginMode": "overlay", "networkDataplane": "cilium", "networkPolicy": "cilium", "loadBalancerSku": "standard", "outboundType": "loadBalancer"},
		"identityProfile":   object{"kubeletidentity": c.kubeletIdentity()},
		"agentPoolProfiles": []any{}, "oidcIssuerProfile": object{"enabled": true}, "securityProfile": object{"workloadIdentity": object{"enabled": true}}}
	c.cfg.Ways.onCluster(c, props)
	return ok(object{"id": c.idOf(c.cfg.ClusterResourceGroup, "Microsoft.ContainerService/managedClusters", c.cfg.ClusterName),
		"name": c.cfg.ClusterName, "type": "Microsoft.ContainerService/ManagedClusters", "location": c.cfg.Location, "properties": props})
}
