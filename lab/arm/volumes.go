package arm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// typeShare is a file share. It is no resource of the routes here: nothing but the file driver asks for one.
const typeShare = "Microsoft.Storage/storageAccounts/fileServices/shares"

// Volume is a data disk or a file share, as a storage driver of the cluster orders it.
type Volume struct {
	Name string
	Zone string // of a disk: 1, 2, 3, or "" for one outside of zones
	SKU  string // StandardSSD_LRS, Premium_ZRS, …
	GiB  int64  // at least 1
	Tags map[string]string
}

// Kinds of data disks, and of accounts that hold file shares (documentation "Azure managed disk types" and "Azure Files
// redundancy").
func diskSKUs() []string {
	return []string{"Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Premium_LRS", "Premium_ZRS", "PremiumV2_LRS", "UltraSSD_LRS"}
}
func shareSKUs() []string {
	return []string{"Standard_LRS", "Standard_ZRS", "Standard_GRS", "Standard_GZRS", "Standard_RAGRS", "Standard_RAGZRS", "Premium_LRS", "Premium_ZRS"}
}

// ErrUnfit says that an order can never be met: the same order again has the same answer.
var ErrUnfit = errors.New("invalid")

// MakeDisk creates a data disk in the node resource group, or finds the one that was made of the same order before: drivers
// repeat themselves (CSI specification, CreateVolume is idempotent). Disks of ZRS have no zone (documentation "Redundancy
// options for managed disks"). This is not ARM's PUT: the driver of a cluster has the cluster's own rights, which no test asks about.
func (c *Cloud) MakeDisk(v Volume) (id string, err error) {
	redundant := strings.HasSuffix(v.SKU, "_ZRS")
	switch {
	case !slices.Contains(diskSKUs(), v.SKU):
		return "", fmt.Errorf("%w: disk %s: there is no disk of kind %q; there are %s", ErrUnfit, v.Name, v.SKU, strings.Join(diskSKUs(), ", "))
	case v.Zone == "" && (v.SKU == "PremiumV2_LRS" || v.SKU == "UltraSSD_LRS"):
		// Documentation "Azure managed disk types": in regions with zones these are zonal disks only.
		return "", fmt.Errorf("%w: disk %s: a disk of kind %s must be in a zone", ErrUnfit, v.Name, v.SKU)
	case redundant:
		v.Zone = ""
	}
	doc := object{"location": c.cfg.Location, "sku": object{"name": v.SKU}, "properties": object{"diskSizeGB": int(v.GiB),
		"timeCreated": stamp(c.cfg.Now()), "creationData": object{"createOption": "Empty"}}}
	if v.Zone != "" {
		doc["zones"] = []any{v.Zone}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order(c.idOf(c.cfg.NodeResourceGroup, typeDisk, v.Name), typeDisk, v, doc)
}

// MakeShare creates a file share in the storage account of the node resource group, and names the account.
func (c *Cloud) MakeShare(v Volume) (account string, err error) {
	if !slices.Contains(shareSKUs(), v.SKU) {
		return "", fmt.Errorf("%w: share %s: there is no storage account of kind %q; there are %s", ErrUnfit, v.Name, v.SKU, strings.Join(shareSKUs(), ", "))
	}
	account = "f" + strings.ReplaceAll(guid("account", c.cfg.NodeResourceGroup, v.SKU), "-", "")[:22]
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.order(c.shareID(account, v.Name), typeShare, v, object{"sku": object{"name": v.SKU}, "properties": object{"shareQuota": int(v.GiB)}})
	return account, err
}

func (c *Cloud) shareID(account, name string) string {
	return c.idOf(c.cfg.NodeResourceGroup, "Microsoft.Storage/storageAccounts", account) + "/fileServices/default/shares/" + name
}

// order keeps a new volume, or finds the like one that is there. The caller holds mu.
func (c *Cloud) order(id, typ string, v Volume, doc object) (string, error) {
	if old := c.res[strings.ToLower(id)]; old != nil {
		if old.volume != nil && old.volume.Zone == v.Zone && old.volume.SKU == v.SKU && old.volume.GiB == v.GiB {
			return old.id, nil
		}
		return "", fmt.Errorf("%s is there, and is another: %s", v.Name, id)
	}
	if len(v.Tags) > 0 {
		tags := object{}
		for k, x := range v.Tags {
			tags[k] = x
		}
		doc["tags"] = tags
	}
	c.add(&resource{id: id, typ: typ, name: v.Name, group: c.cfg.NodeResourceGroup, doc: doc, state: "Succeeded", created: c.cfg.Now(), volume: &v})
	return id, nil
}

// mostGiB is the most that a managed disk of the usual kinds holds (documentation "Azure managed disk types"); the two
// newest kinds hold twice as much.
const mostGiB = 32_767

// GrowDisk makes a data disk larger, attached or not ("Expand virtual hard disks", expand without downtime). Never smaller:
// a disk that is that large already is as it should be.
func (c *Cloud) GrowDisk(id string, gib int64) error {
	return c.grow(id, "diskSizeGB", gib)
}

// GrowShare raises the quota of a file share.
func (c *Cloud) GrowShare(account, name string, gib int64) error {
	return c.grow(c.shareID(account, name), "shareQuota", gib)
}

func (c *Cloud) grow(id, field string, gib int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.res[strings.ToLower(id)]
	if r == nil || r.volume == nil {
		return fmt.Errorf("grow %s: there is no such volume", id)
	}
	most := int64(mostGiB)
	if r.volume.SKU == "PremiumV2_LRS" || r.volume.SKU == "UltraSSD_LRS" {
		most = 2*mostGiB + 2
	}
	if r.typ == typeDisk && gib > most {
		return fmt.Errorf("%w: disk %s: %d GiB is more than the %d that a disk of kind %s holds", ErrUnfit, r.name, gib, most, r.volume.SKU)
	}
	if gib <= r.volume.GiB {
		return nil
	}
	grown := *r.volume
	grown.GiB = gib
	r.volume = &grown
	ensure(r.doc, "properties")[field] = int(gib)
	return nil
}

// DropDisk deletes a data disk; one that is not there is fine, one that is attached is refused as by Disks - Delete.
func (c *Cloud) DropDisk(id string) error { return c.drop(id) }

// DropShare deletes a file share with what is on it; one that is not there is fine.
func (c *Cloud) DropShare(account, name string) error { return c.drop(c.shareID(account, name)) }

func (c *Cloud) drop(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.res[strings.ToLower(id)]
	if r == nil {
		return nil
	}
	if r.volume == nil {
		return fmt.Errorf("delete %s: it is no data disk", id)
	}
	if e := c.mayDelete(r); e != nil {
		return fmt.Errorf("delete %s: %s", r.name, e.Message)
	}
	c.remove(r)
	return nil
}

// AttachDisk attaches a data disk to the machine of that host name. An id that names nothing here is taken on trust, so that a
// volume which a person made up in a manifest can be mounted. Errors are what Virtual Machines - Attach Detach Data Disks
// refuses: another machine has the disk, it is in another zone, or the size takes no further disk.
func (c *Cloud) AttachDisk(id, host string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.res[strings.ToLower(id)]
	if d == nil || d.volume == nil {
		return nil
	}
	vm := c.hosted(host)
	switch {
	case vm == nil || vm.state != "Succeeded":
		return fmt.Errorf("attach disk %s: there is no running virtual machine %s", d.name, host)
	case d.owner == vm.id:
		return nil
	case d.owner != "":
		return fmt.Errorf("attach disk %s to %s: it is attached to %s", d.name, host, d.owner[strings.LastIndexByte(d.owner, '/')+1:])
	case d.volume.Zone != vm.vm.zone && !strings.HasSuffix(d.volume.SKU, "_ZRS"):
		return fmt.Errorf("attach disk %s to %s: the disk is in %s, the machine in %s", d.name, host, zoneName(d.volume.Zone), zoneName(vm.vm.zone))
	case strings.HasPrefix(d.volume.SKU, "Premium") && !vm.vm.offer.Size.PremiumIO:
		return fmt.Errorf("attach disk %s to %s: the size %s takes no disk of kind %s", d.name, host, vm.vm.offer.Size.Name, d.volume.SKU)
	case len(c.disksOf(vm)) >= vm.vm.offer.Size.DataDisks():
		return fmt.Errorf("attach disk %s to %s: the maximum number of data disks of the size %s is %d", d.name, host, vm.vm.offer.Size.Name, vm.vm.offer.Size.DataDisks())
	}
	d.owner = vm.id
	c.changed(d)
	return nil
}

// DetachDisk takes a data disk from the machine of that host name; one that it does not have is fine.
func (c *Cloud) DetachDisk(id, host string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, vm := c.res[strings.ToLower(id)], c.hosted(host)
	if d != nil && d.volume != nil && vm != nil && d.owner == vm.id {
		d.owner = ""
		c.changed(d)
	}
	return nil
}

// disksOf lists the data disks of a machine, by id. The caller holds mu.
func (c *Cloud) disksOf(vm *resource) []*resource {
	return c.sorted(func(r *resource) bool { return r.volume != nil && r.owner == vm.id })
}

// hosted finds the machine of a host name; nil = there is none. The caller holds mu.
func (c *Cloud) hosted(host string) *resource {
	list := c.sorted(func(r *resource) bool { return r.vm != nil && strings.EqualFold(r.vm.computer, host) })
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func zoneName(zone string) string {
	if zone == "" {
		return "no zone"
	}
	return "zone " + zone
}
