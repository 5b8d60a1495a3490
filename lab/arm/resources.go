package arm

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Resource types that this Azure keeps.
const (
	typeVM        = "Microsoft.Compute/virtualMachines"
	typeExtension = "Microsoft.Compute/virtualMachines/extensions"
	typeDisk      = "Microsoft.Compute/disks"
	typeNIC       = "Microsoft.Network/networkInterfaces"
)

// Resource is one thing this Azure holds, for a person or a test that asks what is there.
type Resource struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Name     string            `json:"name"`
	State    string            `json:"state"` // provisioningState
	Tags     map[string]string `json:"tags,omitempty"`
	Size     string            `json:"size,omitempty"`     // of a machine; of a data disk or share its kind and size
	Zone     string            `json:"zone,omitempty"`     // of a machine or disk
	Priority string            `json:"priority,omitempty"` // of a machine: Regular or Spot
	Power    string            `json:"power,omitempty"`    // of a machine: running, deallocated, …
	Failure  string            `json:"failure,omitempty"`  // code of a failed machine
	Owner    string            `json:"owner,omitempty"`    // id of the machine that a child is attached to
	Created  time.Time         `json:"created"`
	// PricePerHour of a machine that is billed, USD, compute only as in the price list; 0 of everything else. Spot machines cost
	// what spot costs now. A machine that is deallocated, or never ran, costs nothing (documentation "States and billing status").
	PricePerHour float64 `json:"pricePerHour,omitempty"`
}

// resource is one resource as ARM keeps it. doc is what GET shows, without what the fields below say, and never holds
// a secret.
type resource struct {
	id, typ, name, group string // in the case of whoever named them first
	doc                  object
	state                string // provisioningState
	created              time.Time
	changes              int    // how often it changed, for its etag
	owner                string // id of the machine it is attached to; "" = free
	// An interface stays reserved for the machine whose creation failed, until then.
	reservedFor   string
	reservedUntil time.Time
	vm            *machine // of machines only
	volume        *Volume  // of data disks and file shares only: what was ordered
}

// etag changes with every change.
func (r *resource) etag() string { return strconv.Quote(strconv.Itoa(r.changes)) }

func (r *resource) key() string { return strings.ToLower(r.id) }

// idOf builds the id of a resource in a group; the case of the group is that of the configuration when it is known.
func (c *Cloud) idOf(group, typ, name string) string {
	for _, g := range []string{c.cfg.NodeResourceGroup, c.cfg.ClusterResourceGroup} {
		if strings.EqualFold(g, group) {
			group = g
		}
	}
	return "/subscriptions/" + c.cfg.Subscription + "/resourceGroups/" + group + "/providers/" + typ + "/" + name
}

// pathID is the id that the request's path names: the path itself, without api-version.
func (c *Cloud) pathID(q *call) string {
	if vm := q.vars["vm"]; vm != "" {
		return c.idOf(q.vars["rg"], typeVM, vm) + "/extensions/" + q.vars["name"]
	}
	return c.idOf(q.vars["rg"], q.format, q.vars["name"])
}

// lookup finds what the path names. The caller holds mu.
func (c *Cloud) lookup(q *call) (*resource, *apiError) {
	if r := c.res[strings.ToLower(c.pathID(q))]; r != nil {
		return r, nil
	}
	return nil, notFound(q.format, q.vars["name"], q.vars["rg"])
}

// notFound is documented on the page "Resolve errors for resource not found".
func notFound(typ, name, group string) *apiError {
	return refuse(http.StatusNotFound, "ResourceNotFound",
		"The Resource '%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", typ, name, group)
}

func (c *Cloud) noSuchResource(q *call) (*reply, *apiError) {
	return nil, notFound("Microsoft.Compute/"+q.format, q.vars["name"], q.vars["rg"])
}

// show is a resource as GET prints it.
func (r *resource) show() object {
	out := copyObject(r.doc)
	out["id"], out["name"], out["type"] = r.id, r.name, r.typ
	ensure(out, "properties")["provisioningState"] = r.state
	if r.typ == typeVM || r.typ == typeNIC {
		out["etag"] = r.etag()
	}
	if r.typ == typeNIC && r.owner != "" {
		ensure(out, "properties")["virtualMachine"] = object{"id": r.owner}
	}
	if r.typ == typeDisk {
		// Disks - Get: diskState and managedBy say who has it.
		ensure(out, "properties")["diskState"] = "Unattached"
		if r.owner != "" {
			out["managedBy"] = r.owner
			ensure(out, "properties")["diskState"] = "Attached"
		}
	}
	return out
}

// add stores a resource and lets Resource Graph know. The caller holds mu.
func (c *Cloud) add(r *resource) {
	c.res[r.key()] = r
	c.changed(r)
}

// remove drops a resource, its addresses and its extensions. The caller holds mu.
func (c *Cloud) remove(r *resource) {
	switch owner := c.res[strings.ToLower(r.owner)]; {
	case r.typ == typeNIC:
		c.release(r)
	case r.typ == typeExtension && owner != nil:
		owner.vm.exts = slices.DeleteFunc(owner.vm.exts, func(id string) bool { return strings.EqualFold(id, r.id) })
	}
	delete(c.res, r.key())
	c.changed(r)
}

// changed brings Resource Graph up to date, after the lag that the knobs ask for. Resource Graph is eventually
// consistent (documentation "Understand the Azure Resource Graph data freshness"). The caller holds mu.
func (c *Cloud) changed(r *resource) {
	key := r.key()
	r.changes++
	index := func() {
		now := c.res[key]
		if now == nil {
			delete(c.graph, key)
			return
		}
		shot := *now
		shot.doc = copyObject(now.doc)
		if now.vm != nil {
			vm := *now.vm
			shot.vm = &vm
		}
		c.graph[key] = &shot
	}
	if lag := c.knobs.GraphLag.D(); lag > 0 {
		c.after(lag, index)
		return
	}
	index()
}

// sorted lists what passes keep, by id. The caller holds mu.
func (c *Cloud) sorted(keep func(*resource) bool) []*resource {
	var out []*resource
	for _, r := range c.res {
		if keep(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *resource) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// listPage is how many resources one page of a list holds unless a knob says otherwise. Azure promises no size; this one
// is small, so that a client which reads only the first page is found out, and one that lists often pays for it.
const listPage = 50

// listResources lists one type in a group or in the subscription.
func (c *Cloud) listResources(q *call) (*reply, *apiError) {
	return c.page(q, (*resource).show)
}

// page lists the type of the route in pages that nextLink joins (documentation "Azure REST API Reference", async
// operations, throttling, and paging). A page begins after an id, so nothing is skipped while others come and go.
func (c *Cloud) page(q *call, show func(*resource) object) (*reply, *apiError) {
	group, after := q.vars["rg"], q.query.Get("$skiptoken")
	size := c.knobs.PageSize
	if size == 0 {
		size = listPage
	}
	all := c.sorted(func(r *resource) bool {
		return r.typ == q.format && (group == "" || strings.EqualFold(group, r.group)) && r.key() > after
	})
	out, list := object{}, []any{}
	if len(all) > size {
		all = all[:size]
		next := q.URL.Query()
		next.Set("$skiptoken", all[size-1].key())
		out["nextLink"] = q.base + q.URL.Path + "?" + next.Encode()
	}
	for _, r := range all {
		list = append(list, show(r))
	}
	out["value"] = list
	return ok(out)
}

func (c *Cloud) getResource(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	return ok(r.show())
}

// patchTags replaces the tags (Network Interfaces - Update Tags; Virtual Machine Extensions - Update).
func (c *Cloud) patchTags(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	if tags, has := q.body["tags"]; has {
		r.doc["tags"] = deepCopy(tags)
	}
	c.changed(r)
	return ok(r.show())
}

// deletePlain deletes an interface, a disk or an extension. What a machine uses stays: NicInUse for interfaces
// (documentation "Troubleshoot: network interface in use"), OperationNotAllowed for attached disks (Disks - Delete).
func (c *Cloud) deletePlain(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return &reply{status: http.StatusNoContent}, nil
	}
	if e := c.mayDelete(r); e != nil {
		return nil, e
	}
	r.state = "Deleting"
	c.changed(r)
	op := c.newOperation()
	c.soon(c.knobs.ChildTime.D(), func() {
		if c.res[r.key()] == r {
			c.remove(r)
		}
		c.finishOperation(op, nil)
	})
	namespace, _, _ := strings.Cut(r.typ, "/")
	return &reply{status: http.StatusAccepted, header: c.accepted(q, op, namespace)}, nil
}

func (c *Cloud) mayDelete(r *resource) *apiError {
	if r.typ == typeNIC && c.cfg.Now().Before(r.reservedUntil) {
		return refuse(http.StatusBadRequest, "NicReservedForAnotherVm",
			"Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after 180 seconds. Reserved VM: %s", r.reservedFor)
	}
	if r.owner == "" || r.typ == typeExtension {
		return nil
	}
	if r.typ == typeNIC {
		return refuse(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource.", r.id, r.owner)
	}
	return refuse(http.StatusConflict, "OperationNotAllowed", "Disk %s is attached to VM %s.", r.name, r.owner)
}

// soon runs f now when d is zero, later otherwise. The caller holds mu.
func (c *Cloud) soon(d time.Duration, f func()) *timer {
	if d <= 0 {
		f()
		return nil
	}
	return c.after(d, f)
}

// Resources lists every machine, interface, disk, file share and extension, by id.
func (c *Cloud) Resources() []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []Resource{}
	for _, r := range c.sorted(func(*resource) bool { return true }) {
		x := Resource{ID: r.id, Type: r.typ, Name: r.name, State: r.state, Tags: tagsOf(r.doc), Created: r.created, Owner: r.owner}
		if z := stringsOf(digList(r.doc, "zones")); len(z) > 0 {
			x.Zone = z[0]
		}
		if m := r.vm; m != nil {
			x.Size, x.Power, x.Priority = m.offer.Size.Name, m.power, "Regular"
			if m.spot {
				x.Priority = "Spot"
			}
			if m.failure != nil {
				x.Failure = m.failure.Code
			}
			if m.power == "running" || m.power == "stopped" {
				x.PricePerHour = c.price(m.offer, m.spot)
			}
		}
		if r.volume != nil {
			x.Size = fmt.Sprintf("%s %dGi", r.volume.SKU, r.volume.GiB)
		}
		out = append(out, x)
	}
	return out
}
