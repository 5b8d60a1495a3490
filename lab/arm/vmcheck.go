package arm

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

// vmPlan is a PUT body that passed every check, in our words.
type vmPlan struct {
	offer     skus.Offer
	zone      string
	spot      bool
	evict     string
	computer  string
	data      []byte
	image     string
	diskGB    int32
	ephemeral bool
	inline    []object    // network interface configurations
	refs      []*resource // existing interfaces
	fail      *apiError   // what the creation will end with, after accept
}

// vmName is what a machine may be called (documentation "Naming rules and restrictions for Azure resources").
var vmName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_])?$`)

// hostName is what a Linux computer name may be (same page).
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`)

func invalid(target, format string, args ...any) *apiError {
	e := refuse(http.StatusBadRequest, "InvalidParameter", format, args...)
	e.Target = target
	return e
}

// plan checks a PUT in the order in which Azure refuses: form, size, image, network, quota, capacity. The caller
// holds mu. Nothing is stored.
func (c *Cloud) plan(q *call) (*vmPlan, *apiError) {
	p := &vmPlan{}
	for _, check := range []func(*call, *vmPlan) *apiError{
		c.checkForm, c.checkSize, c.checkSpot, c.checkRefs, c.checkOS, c.checkImage, c.checkDisk, c.checkNetwork, c.checkRoom,
	} {
		if e := check(q, p); e != nil {
			return nil, e
		}
	}
	return p, nil
}

func (c *Cloud) checkForm(q *call, _ *vmPlan) *apiError {
	switch {
	case digObject(q.body, "properties") == nil:
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid: 'properties' is missing.")
	case !vmName.MatchString(q.vars["name"]):
		return invalid("vmName", "The entity name 'vmName' is invalid according to its validation rule: %s", vmName)
	}
	return c.checkLinks(q, c.linksOfVM(q))
}

// checkSize: unknown sizes are InvalidParameter; sizes that the region, zone or subscription lacks are SkuNotAvailable
// (documentation "Resolve errors for SKU not available").
func (c *Cloud) checkSize(q *call, p *vmPlan) *apiError {
	name := digString(q.body, "properties", "hardwareProfile", "vmSize")
	if name == "" {
		return invalid("vmSize", "Required parameter 'vmSize' is missing (null).")
	}
	if _, known := c.table.Size(name); !known {
		return invalid("vmSize", "The value %s provided for the VM size is not valid. The valid sizes in the current region are listed by the resource SKUs API.", name)
	}
	zones := digList(q.body, "zones")
	if len(zones) > 1 {
		return refuse(http.StatusBadRequest, "InvalidZones", "A virtual machine can have one availability zone; %d were given.", len(zones))
	}
	if len(zones) == 1 {
		p.zone, _ = zones[0].(string) // the schema has seen to it
		region, _ := c.table.Region(c.cfg.Location)
		if len(region.Zones) == 0 {
			return refuse(http.StatusBadRequest, "LocationNotSupportAvailabilityZones", "The resource '%s' cannot be placed in an availability zone: location '%s' does not support availability zones.", q.vars["name"], c.cfg.Location)
		}
		if !slices.Contains(region.Zones, p.zone) {
			return refuse(http.StatusBadRequest, "InvalidAvailabilityZone", "The zone(s) '%v' for resource '%s' is not supported. The supported zones for location '%s' are '%s'", zones[0], c.pathID(q), c.cfg.Location, strings.Join(region.Zones, ","))
		}
	}
	o, sold := c.table.Offer(c.cfg.Location, name)
	p.offer = o
	if !sold || o.Denied || p.zone != "" && (!slices.Contains(o.Zones, p.zone) || slices.Contains(o.DeniedZones, p.zone)) {
		return c.skuNotAvailable(name, p.zone)
	}
	return nil
}

func (c *Cloud) skuNotAvailable(size, zone string) *apiError {
	where := "location '" + c.cfg.Location + "'"
	if zone != "" {
		where = "zones '" + zone + "' of " + where
	}
	return refuse(http.StatusConflict, "SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: %s' is currently not available in %s. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.", size, where)
}

// checkSpot follows "Use Azure Spot Virtual Machines": priority, eviction policy, maximum price, sizes without spot.
func (c *Cloud) checkSpot(q *call, p *vmPlan) *apiError {
	props := digObject(q.body, "properties")
	switch prio := digString(props, "priority"); strings.ToLower(prio) {
	case "", "regular":
		if digString(props, "evictionPolicy") != "" {
			return invalid("evictionPolicy", "Eviction policy can be set only for Azure Spot Virtual Machines.")
		}
		if v := dig(props, "billingProfile", "maxPrice"); v != nil {
			return invalid("billingProfile.maxPrice", "Max price can be set only for Azure Spot Virtual Machines.")
		}
		return nil
	case "spot", "low":
	default:
		return invalid("priority", "The value '%s' of parameter 'priority' is not valid. Allowed values: Regular, Low, Spot.", prio)
	}
	p.spot = true
	switch p.evict = digString(props, "evictionPolicy"); p.evict {
	case "":
		p.evict = "Deallocate" // the documented default
	case "Delete", "Deallocate":
	default:
		return invalid("evictionPolicy", "The value '%s' of parameter 'evictionPolicy' is not valid. Allowed values: Deallocate, Delete.", p.evict)
	}
	if !p.offer.Size.Spot {
		return refuse(http.StatusBadRequest, "OperationNotAllowed", "The VM size '%s' does not support Azure Spot Virtual Machines.", p.offer.Size.Name)
	}
	if max := dig(props, "billingProfile", "maxPrice"); max != nil {
		n, isNum := max.(interface{ Float64() (float64, error) })
		if !isNum {
			return invalid("billingProfile.maxPrice", "The value of parameter 'maxPrice' is not a number.")
		}
		v, err := n.Float64()
		if err != nil || v != -1 && v <= 0 {
			return invalid("billingProfile.maxPrice", "The value of parameter 'maxPrice' must be -1 or greater than zero.")
		}
		if price := c.price(p.offer, true); v != -1 && v < price {
			return refuse(http.StatusConflict, "OperationNotAllowed", "Unable to perform operation on the VM since the provided max price '%v USD' is lower than the current spot price '%v USD' for Azure Spot VM size '%s'.", v, price, p.offer.Size.Name)
		}
	}
	return nil
}

// reservedUsers are names that an administrator may not have (Virtual Machines - Create Or Update, OSProfile).
func reservedUsers() []string {
	return []string{"administrator", "admin", "user", "user1", "test", "user2", "test1", "user3", "admin1", "1", "123", "a", "actuser", "adm", "admin2",
		"aspnet", "backup", "console", "david", "guest", "john", "owner", "root", "server", "sql", "support", "support_388945a0", "sys", "test2", "test3", "user4", "user5"}
}

// userName is what useradd takes, in the 64 characters that Azure allows (same page).
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// checkOS follows Virtual Machines - Create Or Update, OSProfile: names, keys, custom data of at most 65535 bytes.
func (c *Cloud) checkOS(q *call, p *vmPlan) *apiError {
	os := digObject(q.body, "properties", "osProfile")
	if os == nil {
		return invalid("osProfile", "Required parameter 'osProfile' is missing (null).")
	}
	p.computer = digString(os, "computerName")
	if p.computer == "" {
		p.computer = q.vars["name"]
	}
	if !hostName.MatchString(p.computer) {
		return invalid("computerName", "Linux host name '%s' cannot exceed 64 characters in length or contain the following characters: ` ~ ! @ # $ %% ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?.", p.computer)
	}
	user := digString(os, "adminUsername")
	if user == "" {
		return invalid("adminUsername", "Required parameter 'adminUsername' is missing (null).")
	}
	if slices.Contains(reservedUsers(), strings.ToLower(user)) || !userName.MatchString(user) {
		return invalid("adminUsername", "The Admin Username specified is not allowed.")
	}
	keys := digList(os, "linuxConfiguration", "ssh", "publicKeys")
	if digBool(os, "linuxConfiguration", "disablePasswordAuthentication") && len(keys) == 0 {
		return invalid("linuxConfiguration.ssh.publicKeys.keyData", "Authentication using SSH is required: provide at least one SSH public key.")
	}
	if len(keys) == 0 && digString(os, "adminPassword") == "" {
		return invalid("adminPassword", "Required parameter 'adminPassword' is missing (null).")
	}
	for _, k := range keys {
		if path := digString(k, "path"); path != "/home/"+user+"/.ssh/authorized_keys" {
			return invalid("linuxConfiguration.ssh.publicKeys.path", "Destination path for SSH public keys is currently limited to its default value /home/%s/.ssh/authorized_keys due to a known issue in Linux provisioning agent.", user)
		}
		if !goodKey(digString(k, "keyData")) {
			return invalid("linuxConfiguration.ssh.publicKeys.keyData", "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.")
		}
	}
	raw := digString(os, "customData")
	data, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	if len(data) > 65535 || len(raw) > 87380 {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
	}
	p.data = data
	return nil
}

// checkDisk follows "Ephemeral OS disks for Azure VMs": the size must have the placement, and room there.
func (c *Cloud) checkDisk(q *call, p *vmPlan) *apiError {
	disk := digObject(q.body, "properties", "storageProfile", "osDisk")
	if s := digString(disk, "createOption"); s != "" && s != "FromImage" {
		return invalid("osDisk.createOption", "The lab creates OS disks FromImage only, not '%s'.", s)
	}
	gb := digInt(disk, "diskSizeGB")
	if dig(disk, "diskSizeGB") == nil {
		gb = 30 // what the image brings
	}
	if gb < 30 || gb > 4095 {
		return invalid("osDisk.diskSizeGB", "The value %d of parameter 'osDisk.diskSizeGB' is out of range: an OS disk has at least the size of its image (30 GB) and at most 4095 GB.", gb)
	}
	p.diskGB = int32(gb)
	if s := digString(disk, "deleteOption"); s != "" && s != "Delete" && s != "Detach" {
		return invalid("osDisk.deleteOption", "The value '%s' of parameter 'deleteOption' is not valid.", s)
	}
	if e := c.checkStorage(disk, p); e != nil {
		return e
	}
	diff := digObject(disk, "diffDiskSettings")
	if diff == nil {
		return nil
	}
	p.ephemeral = true
	if digString(diff, "option") != "Local" {
		return invalid("osDisk.diffDiskSettings.option", "The value of parameter 'diffDiskSettings.option' must be Local.")
	}
	if caching := digString(disk, "caching"); caching != "ReadOnly" {
		return invalid("osDisk.caching", "OS disk of Ephemeral VM supports ReadOnly caching only, not '%s'.", caching)
	}
	s := p.offer.Size
	where := digString(diff, "placement")
	if where == "" && len(s.Placements) > 0 {
		where = s.Placements[0]
	}
	if !slices.Contains(s.Placements, where) {
		return invalid("osDisk.diffDiskSettings", "The VM size '%s' does not support OS disk placement on '%s'. Supported placements: [%s].", s.Name, where, strings.Join(s.Placements, ", "))
	}
	if s := digString(disk, "deleteOption"); s == "Detach" {
		return invalid("osDisk.deleteOption", "OS disk of Ephemeral VM cannot have the deleteOption 'Detach': it goes with the machine.")
	}
	room := map[string]int64{"NvmeDisk": s.NVMeMiB, "CacheDisk": s.CacheMiB, "ResourceDisk": s.TempMiB}[where]
	if gib := room >> 10; int64(p.diskGB) > gib {
		return invalid("osDisk.diskSizeGB", "OS disk of Ephemeral VM with size greater than %d GB is not allowed for VM size %s when the DiffDiskPlacement is %s.", gib, s.Name, where)
	}
	return nil
}

// checkRoom asks quota and capacity, last of all.
func (c *Cloud) checkRoom(_ *call, p *vmPlan) *apiError {
	if e := c.quotaFor(p.offer, p.spot, nil); e != nil {
		return e
	}
	fail, e := c.allocate(p.offer, p.zone, p.spot)
	p.fail = fail
	return e
}
