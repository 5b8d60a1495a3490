package arm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/lab"
)

// beginCreate lets a machine become what its plan says, in its own time. The caller holds mu.
func (c *Cloud) beginCreate(r *resource) {
	m := r.vm
	op := c.newOperation()
	m.op = op
	d := c.knobs.CreateTime.D()
	if m.pending != nil && c.knobs.FailTime > 0 {
		d = c.knobs.FailTime.D()
	}
	// Never inline, even when d is zero: accepted comes before finished.
	m.work = c.after(d, func() {
		m.work = nil
		if m.pending != nil {
			c.failVM(r, m.pending)
		} else {
			c.runVM(r)
		}
		c.changed(r)
	})
}

// failVM ends a creation badly. The machine stays, and so do its interfaces, until someone deletes them
// (documentation "Understand the states of Azure VMs": a failed VM remains in the model). The caller holds mu.
func (c *Cloud) failVM(r *resource, why *apiError) {
	m := r.vm
	m.failure, m.pending, r.state = why, nil, "Failed"
	c.finishOperation(m.op, why)
	if d := c.knobs.NICReservation.D(); d > 0 {
		for _, id := range m.nics {
			if nic := c.res[strings.ToLower(id)]; nic != nil {
				nic.reservedFor, nic.reservedUntil = r.id, c.cfg.Now().Add(d)
			}
		}
	}
}

// runVM gives a machine its disk and switches it on. The caller holds mu.
func (c *Cloud) runVM(r *resource) {
	m := r.vm
	c.attachDisk(r)
	r.state, m.failure = "Succeeded", nil
	c.finishOperation(m.op, nil)
	c.powerOn(r)
}

func (c *Cloud) powerOn(r *resource) {
	m := r.vm
	m.power = "running"
	if c.cfg.Host == nil {
		return
	}
	s := m.offer.Size
	c.cfg.Host.Boot(lab.Machine{
		Name: m.computer, ProviderID: "azure://" + strings.Replace(r.id, "/"+r.group+"/", "/"+strings.ToLower(r.group)+"/", 1),
		Size: s.Name, CPUs: s.VCPUs, MemoryMiB: s.MemoryMiB, GPUs: s.GPUs, Arch: s.Arch, OSDiskGB: m.diskGB, DataDisks: s.DataDisks(),
		Region: c.cfg.Location, Zone: m.zone, Spot: m.spot, CustomData: m.data, Image: m.image, Address: c.addressOf(r),
	})
}

func (c *Cloud) powerOff(r *resource, state string) {
	m := r.vm
	if m.power == "running" && c.cfg.Host != nil {
		c.cfg.Host.Halt(m.computer)
	}
	if m.power != "" {
		m.power = state
	}
}

// deleteVM is Virtual Machines - Delete, with or without forceDeletion. 204 when there is none; a second DELETE joins
// the first.
func (c *Cloud) deleteVM(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return &reply{status: http.StatusNoContent}, nil
	}
	op := c.beginDelete(r)
	return &reply{status: http.StatusAccepted, header: c.accepted(q, op, "Microsoft.Compute")}, nil
}

// beginDelete starts the end of a machine, preempting whatever else was going on. The caller holds mu.
func (c *Cloud) beginDelete(r *resource) *operation {
	m := r.vm
	if r.state == "Deleting" {
		return m.op
	}
	c.cancel(m.work)
	c.cancel(m.evicting)
	m.evicting = nil
	// Async operation error of compute when a newer operation takes over.
	c.finishOperation(m.op, refuse(http.StatusConflict, "OperationPreempted", "The operation has been preempted by a more recent operation."))
	r.state = "Deleting"
	op := c.newOperation()
	m.op = op
	c.powerOff(r, "stopped")
	c.changed(r)
	m.work = c.soon(c.knobs.DeleteTime.D(), func() {
		m.work = nil
		c.removeVM(r)
		c.finishOperation(op, nil)
	})
	return op
}

// removeVM takes a machine away, with everything whose deleteOption is Delete (documentation "Delete a VM and attached
// resources"); what is left is free again. The caller holds mu.
func (c *Cloud) removeVM(r *resource) {
	m := r.vm
	for _, id := range m.nics {
		nic := c.res[strings.ToLower(id)]
		if nic == nil {
			continue
		}
		nic.owner, nic.reservedUntil = "", time.Time{}
		if c.deleteOptionOf(r, id) == "Delete" {
			c.remove(nic)
		} else {
			c.changed(nic)
		}
	}
	if disk := c.res[strings.ToLower(m.diskID)]; disk != nil {
		disk.owner = ""
		if digString(r.doc, "properties", "storageProfile", "osDisk", "deleteOption") == "Delete" {
			c.remove(disk)
		} else {
			c.changed(disk)
		}
	}
	for _, disk := range c.disksOf(r) { // data disks that were attached later: their deleteOption is Detach
		disk.owner = ""
		c.changed(disk)
	}
	for _, id := range slices.Clone(m.exts) {
		if x := c.res[strings.ToLower(id)]; x != nil {
			c.remove(x)
		}
	}
	c.remove(r)
}

func (c *Cloud) deleteOptionOf(r *resource, nic string) string {
	for _, ref := range digList(r.doc, "properties", "networkProfile", "networkInterfaces") {
		if strings.EqualFold(digString(ref, "id"), nic) {
			return digString(ref, "properties", "deleteOption")
		}
	}
	return ""
}

// Evict takes a spot machine back as Azure does: a Preempt event, then after the notice the eviction policy
// (documentation "Azure Metadata Service: Scheduled Events": at least 30 seconds).
func (c *Cloud) Evict(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.vmNamed(name)
	switch {
	case r == nil:
		return fmt.Errorf("evict %s: there is no such virtual machine", name)
	case !r.vm.spot:
		return fmt.Errorf("evict %s: it is not a spot machine", name)
	case r.vm.power != "running" || r.state != "Succeeded":
		return fmt.Errorf("evict %s: it is not running", name)
	}
	c.evict(r)
	return nil
}

func (c *Cloud) evict(r *resource) {
	m := r.vm
	if m.evicting != nil {
		return // announced already
	}
	notice := c.knobs.EvictNotice.D()
	if notice == 0 {
		notice = 30 * time.Second
	}
	if c.cfg.Host != nil {
		c.cfg.Host.Warn(m.computer, "Preempt", c.cfg.Now().Add(notice))
	}
	m.evicting = c.after(notice, func() {
		m.evicting = nil
		if m.evict == "Deallocate" {
			c.powerOff(r, "deallocated")
			c.changed(r)
			return
		}
		c.beginDelete(r)
	})
}

// Deallocate switches a machine off from outside and gives its hardware back, as an operator or an outage might.
func (c *Cloud) Deallocate(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.vmNamed(name)
	if r == nil || r.state != "Succeeded" {
		return fmt.Errorf("deallocate %s: there is no such running virtual machine", name)
	}
	c.powerOff(r, "deallocated")
	c.changed(r)
	return nil
}

func (c *Cloud) vmNamed(name string) *resource {
	list := c.sorted(func(r *resource) bool { return r.typ == typeVM && strings.EqualFold(r.name, name) })
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// postDeallocate is Virtual Machines - Deallocate.
func (c *Cloud) postDeallocate(q *call) (*reply, *apiError) {
	return c.power(q, func(r *resource) { c.powerOff(r, "deallocated") })
}

// postStart is Virtual Machines - Start.
func (c *Cloud) postStart(q *call) (*reply, *apiError) {
	return c.power(q, func(r *resource) {
		if r.vm.power != "running" {
			c.powerOn(r)
		}
	})
}

func (c *Cloud) power(q *call, do func(*resource)) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	if r.state != "Succeeded" {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "The operation requires the VM '%s' to be provisioned; it is %s.", r.name, r.state)
	}
	op := c.newOperation()
	do(r)
	c.finishOperation(op, nil)
	c.changed(r)
	return &reply{status: http.StatusAccepted, header: c.accepted(q, op, "Microsoft.Compute")}, nil
}

// postSimulateEviction is Virtual Machines - Simulate Eviction: 204, and the eviction follows.
func (c *Cloud) postSimulateEviction(q *call) (*reply, *apiError) {
	r, e := c.lookup(q)
	if e != nil {
		return nil, e
	}
	if !r.vm.spot || r.vm.power != "running" {
		return nil, refuse(http.StatusConflict, "OperationNotAllowed", "Eviction can be simulated only for running Spot virtual machines.")
	}
	c.evict(r)
	return &reply{status: http.StatusNoContent}, nil
}
