package arm

import (
	"net/http"
	"strings"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

// machine is what a virtual machine has beyond its document.
//
//	PUT ──▶ Creating ──▶ Succeeded ⇄ Updating        power: (none) ▶ running ⇄ deallocated
//	            │            │
//	            ▼            ▼
//	          Failed ──▶ Deleting ──▶ gone
type machine struct {
	offer    skus.Offer
	zone     string // "" = regional
	spot     bool
	evict    string // evictionPolicy: Delete or Deallocate
	computer string // host name; the name under which the host knows it
	data     []byte // custom data, decoded; ARM never shows it again
	image    string
	diskGB   int32
	create   object // the body that created it, to recognise a repeated PUT
	power    string // running, deallocated; "" while it never ran
	failure  *apiError
	pending  *apiError // what the creation in flight will end with
	op       *operation
	work     *timer   // the one change in flight
	evicting *timer   // an announced eviction
	nics     []string // ids, primary first
	exts     []string // ids of its extensions, in the order of their creation
	diskID   string   // "" for ephemeral OS disks
}

// putVM is Virtual Machines - Create Or Update.
func (c *Cloud) putVM(q *call) (*reply, *apiError) {
	old := c.res[strings.ToLower(c.pathID(q))]
	if e := c.checkConditions(q, old); e != nil {
		return nil, e
	}
	if old != nil {
		return c.updateVM(q, old)
	}
	p, e := c.plan(q)
	if e != nil {
		return nil, e
	}
	r := c.build(q, p)
	m := r.vm
	m.pending = p.fail
	c.beginCreate(r)
	return &reply{status: http.StatusCreated, header: c.accepted(q, m.op, "Microsoft.Compute"), body: r.showAs("Creating")}, nil
}

// showAs is the document with the state that the answer to a PUT shows: work never ends before its answer is sent.
func (r *resource) showAs(state string) object {
	out := r.show()
	ensure(out, "properties")["provisioningState"] = state
	return out
}

// build turns a plan into stored resources: the machine and its inline interfaces. The caller holds mu.
func (c *Cloud) build(q *call, p *vmPlan) *resource {
	now := c.cfg.Now()
	id := c.pathID(q)
	doc := copyObject(q.body)
	r := &resource{id: id, typ: typeVM, name: q.vars["name"], group: strings.Split(id, "/")[4], doc: doc, state: "Creating", created: now,
		vm: &machine{offer: p.offer, zone: p.zone, spot: p.spot, evict: p.evict, computer: p.computer, data: p.data,
			image: p.image, diskGB: p.diskGB, create: q.body}}
	for _, k := range []string{"id", "name", "type"} {
		delete(doc, k)
	}
	props := ensure(doc, "properties")
	props["vmId"], props["timeCreated"] = guid("vm", id, now.String()), stamp(now)
	if os := digObject(props, "osProfile"); os != nil {
		// Write-only: Virtual Machines - Get never shows customData or adminPassword.
		delete(os, "customData")
		delete(os, "adminPassword")
		os["allowExtensionOperations"], os["requireGuestProvisionSignal"], os["secrets"] = true, true, []any{}
	}
	if p.spot && p.evict != "" {
		props["evictionPolicy"] = p.evict
	}
	disk := ensure(props, "storageProfile", "osDisk")
	disk["osType"], disk["diskSizeGB"] = "Linux", int(p.diskGB)
	if digString(disk, "name") == "" {
		disk["name"] = r.name + "_OsDisk_1_" + strings.ReplaceAll(guid("disk", id), "-", "")
	}
	if disk["deleteOption"] == nil {
		disk["deleteOption"] = "Detach"
		if p.ephemeral {
			disk["deleteOption"] = "Delete" // an ephemeral disk is part of the machine
		}
	}
	fillIdentity(doc)
	c.res[r.key()] = r
	c.attachNetwork(r, p)
	c.changed(r)
	return r
}

// fillIdentity adds what ARM knows of an identity and the caller does not (Virtual Machines - Create Or Update).
func fillIdentity(doc object) {
	ids := digObject(doc, "identity", "userAssignedIdentities")
	for _, id := range sortedKeys(ids) {
		ids[id] = object{"principalId": guid("principal", strings.ToLower(id)), "clientId": guid("client", strings.ToLower(id))}
	}
}

// immutable lists what a PUT may not change on a machine that exists (PropertyChangeNotAllowed).
func immutable() [][]string {
	return [][]string{
		{"zones"}, {"properties", "priority"}, {"properties", "osProfile", "computerName"}, {"properties", "osProfile", "adminUsername"},
		{"properties", "osProfile", "customData"}, {"properties", "storageProfile", "imageReference"},
		{"properties", "storageProfile", "osDisk", "name"}, {"properties", "storageProfile", "osDisk", "diffDiskSettings"},
		{"properties", "networkProfile", "networkInterfaceConfigurations"},
	}
}

// updateVM is a PUT on a machine that exists.
func (c *Cloud) updateVM(q *call, r *resource) (*reply, *apiError) {
	m := r.vm
	if r.state == "Deleting" {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "Operation 'createOrUpdateVM' is not allowed on VM '%s' since the VM is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete).", r.name)
	}
	for _, path := range immutable() {
		want, has := dig(q.body, path...), dig(m.create, path...)
		if want != nil && !same(want, has) {
			target := strings.TrimPrefix(strings.Join(path, "."), "properties.")
			e := refuse(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", target)
			e.Target = target
			return nil, e
		}
	}
	if size := digString(q.body, "properties", "hardwareProfile", "vmSize"); !strings.EqualFold(size, m.offer.Size.Name) {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "The lab does not resize virtual machines: '%s' stays %s.", r.name, m.offer.Size.Name)
	}
	if e := c.checkIdentity(q); e != nil {
		return nil, e
	}
	if tags, has := q.body["tags"]; has {
		r.doc["tags"] = deepCopy(tags)
	}
	if id := digObject(q.body, "identity"); id != nil {
		r.doc["identity"] = copyObject(id)
		fillIdentity(r.doc)
	}
	if o := digString(q.body, "properties", "storageProfile", "osDisk", "deleteOption"); o != "" {
		// Documentation "Delete a VM and attached resources", change the delete behavior of an existing VM.
		ensure(r.doc, "properties", "storageProfile", "osDisk")["deleteOption"] = o
	}
	c.changed(r)
	if r.state != "Failed" {
		return ok(r.show())
	}
	// A PUT on a failed machine tries again.
	if e := c.quotaFor(m.offer, m.spot, r); e != nil {
		return nil, e
	}
	fail, e := c.allocate(m.offer, m.zone, m.spot)
	if e != nil {
		return nil, e
	}
	m.failure, m.pending, r.state = nil, fail, "Updating"
	c.beginCreate(r)
	rep := &reply{status: http.StatusOK, header: c.accepted(q, m.op, "Microsoft.Compute"), body: r.showAs("Updating")}
	return rep, nil
}

// patchVM is Virtual Machines - Update: tags are replaced, identities merged.
func (c *Cloud) patchVM(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	if r.state == "Deleting" {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "Operation 'updateVM' is not allowed on VM '%s' since the VM is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete).", r.name)
	}
	if tags, has := q.body["tags"]; has {
		r.doc["tags"] = deepCopy(tags)
	}
	if e := c.checkIdentity(q); e != nil {
		return nil, e
	}
	if id := digObject(q.body, "identity"); id != nil {
		have := ensure(r.doc, "identity")
		if t := digString(id, "type"); t != "" {
			have["type"] = t
		}
		mine := ensure(have, "userAssignedIdentities")
		for k, v := range digObject(id, "userAssignedIdentities") {
			if v == nil {
				delete(mine, k)
			} else {
				mine[k] = v
			}
		}
		fillIdentity(r.doc)
	}
	c.changed(r)
	return ok(r.show())
}

// getVM is Virtual Machines - Get, with $expand=instanceView.
func (c *Cloud) getVM(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	return ok(c.showVM(q, r))
}

// listVMs is Virtual Machines - List and - List All.
func (c *Cloud) listVMs(q *call) (*reply, *apiError) {
	return c.page(q, func(r *resource) object { return c.showVM(q, r) })
}

func (c *Cloud) showVM(q *call, r *resource) object {
	out := r.show()
	if strings.EqualFold(q.query.Get("$expand"), "instanceView") || q.query.Get("statusOnly") == "true" {
		ensure(out, "properties")["instanceView"] = c.instanceView(r)
	}
	if ext := c.extensionsOf(r); len(ext) > 0 {
		out["resources"] = ext
	}
	return out
}

func (c *Cloud) getInstanceView(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	return ok(c.instanceView(r))
}

// instanceView is Virtual Machines - Instance View: one status for provisioning, one for power. A failed allocation
// shows as ProvisioningState/failed/<code> (documentation "States and billing of Azure Virtual Machines").
func (c *Cloud) instanceView(r *resource) object {
	m := r.vm
	word := strings.ToLower(r.state)
	status := object{"code": "ProvisioningState/" + word, "level": "Info", "displayStatus": r.state, "time": stamp(r.created)}
	switch {
	case m.failure != nil:
		status = object{"code": "ProvisioningState/failed/" + m.failure.Code, "level": "Error", "displayStatus": "Provisioning failed",
			"message": m.failure.Message, "time": stamp(r.created)}
	case r.state == "Succeeded":
		status["displayStatus"] = "Provisioning succeeded"
	}
	statuses := []any{status}
	if m.power != "" {
		statuses = append(statuses, object{"code": "PowerState/" + m.power, "level": "Info", "displayStatus": "VM " + m.power})
	}
	out := object{"statuses": statuses, "hyperVGeneration": "V2"}
	if m.power == "running" {
		out["computerName"], out["osName"] = m.computer, "linux"
	}
	return out
}
