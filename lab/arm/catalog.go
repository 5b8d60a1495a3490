package arm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

// locations is Subscriptions - List Locations: zones are numbers of this subscription, mapped to physical zones.
func (c *Cloud) locations(*call) (*reply, *apiError) {
	list := []any{}
	for _, r := range c.table.Regions() {
		x := object{"id": "/subscriptions/" + c.cfg.Subscription + "/locations/" + r.Name, "name": r.Name, "type": "Region",
			"displayName": r.DisplayName, "regionalDisplayName": "(" + r.Geography + ") " + r.DisplayName,
			"metadata": object{"regionType": "Physical", "regionCategory": "Recommended", "geography": r.Geography}}
		var zones []any
		for i, z := range r.Zones {
			physical := (i+1)%len(r.Zones) + 1 // rotated, so that nobody takes one for the other
			zones = append(zones, object{"logicalZone": z, "physicalZone": r.Name + "-az" + strconv.Itoa(physical)})
		}
		if zones != nil {
			x["availabilityZoneMappings"] = zones
		}
		list = append(list, x)
	}
	return ok(object{"value": list})
}

// skuFilter is the one filter that Resource Skus - List supports.
var skuFilter = regexp.MustCompile(`^\s*location\s+eq\s+'([^']*)'\s*$`)

// listSKUs is Resource Skus - List. The answer does not change, so each region's is built once.
func (c *Cloud) listSKUs(q *call) (*reply, *apiError) {
	filter := q.query.Get("$filter")
	if body := c.skuJSON[filter]; body != nil {
		return &reply{status: http.StatusOK, body: body}, nil
	}
	regions := c.table.Regions()
	if filter != "" {
		m := skuFilter.FindStringSubmatch(filter)
		if m == nil {
			return nil, refuse(http.StatusBadRequest, "InvalidFilter", "The filter '%s' is not supported: only \"location eq '<region>'\" is.", filter)
		}
		regions = nil
		if r, known := c.table.Region(m[1]); known {
			regions = append(regions, r)
		}
	}
	list := []any{}
	for _, r := range regions {
		for _, o := range c.table.Offers(r.Name) {
			list = append(list, skuJSON(r, o))
		}
		// Other resource types stand in the same list; a client has to tell them apart.
		for _, name := range []string{"Premium_LRS", "StandardSSD_LRS", "UltraSSD_LRS"} {
			list = append(list, object{"resourceType": "disks", "name": name, "tier": "Premium", "size": "P10", "locations": []any{r.Name},
				"locationInfo": []any{object{"location": r.Name, "zones": anyList(r.Zones), "zoneDetails": []any{}}}, "capabilities": []any{}, "restrictions": []any{}})
		}
	}
	body, err := json.Marshal(object{"value": list})
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "InternalServerError", "%v", err)
	}
	// At most one entry per region and spelling is worth keeping.
	if len(c.skuJSON) < 16 {
		c.skuJSON[filter] = body
	}
	return &reply{status: http.StatusOK, body: body}, nil
}

// skuJSON prints one size in one region with the capability names of Resource Skus - List.
func skuJSON(r skus.Region, o skus.Offer) object {
	s := o.Size
	info := object{"location": r.Name, "zones": anyList(o.Zones), "zoneDetails": []any{}}
	if s.UltraSSD && len(o.Zones) > 0 {
		info["zoneDetails"] = []any{object{"name": anyList(o.Zones), "capabilities": []any{object{"name": "UltraSSDAvailable", "value": "True"}}}}
	}
	restrictions := []any{}
	refused := func(kind string, values []any, where object) {
		restrictions = append(restrictions, object{"type": kind, "values": values, "restrictionInfo": where, "reasonCode": "NotAvailableForSubscription"})
	}
	if o.Denied {
		refused("Location", []any{r.Name}, object{"locations": []any{r.Name}})
		if len(o.Zones) > 0 {
			refused("Zone", []any{r.Name}, object{"locations": []any{r.Name}, "zones": anyList(o.Zones)})
		}
	} else if len(o.DeniedZones) > 0 {
		refused("Zone", []any{r.Name}, object{"locations": []any{r.Name}, "zones": anyList(o.DeniedZones)})
	}
	return object{"resourceType": "virtualMachines", "name": s.Name, "tier": "Standard", "size": strings.TrimPrefix(s.Name, "Standard_"),
		"family": s.Family, "locations": []any{r.Name}, "locationInfo": []any{info}, "capabilities": capabilities(s), "restrictions": restrictions}
}

func capabilities(s skus.Size) []any {
	var list []any
	put := func(name, value string) { list = append(list, object{"name": name, "value": value}) }
	yes := func(name string, v bool) {
		if v {
			put(name, "True")
		} else {
			put(name, "False")
		}
	}
	num := func(name string, v int64) { put(name, strconv.FormatInt(v, 10)) }
	num("MaxResourceVolumeMB", s.TempMiB)
	num("OSVhdSizeMB", 1047552)
	num("vCPUs", int64(s.VCPUs))
	gens := []string{}
	if s.Gen1 {
		gens = append(gens, "V1")
	}
	if s.Gen2 {
		gens = append(gens, "V2")
	}
	put("HyperVGenerations", strings.Join(gens, ","))
	put("DiskControllerTypes", strings.Join(s.Controllers, ","))
	put("MemoryGB", strconv.FormatFloat(float64(s.MemoryMiB)/1024, 'f', -1, 64))
	num("MaxDataDiskCount", int64(s.DataDisks()))
	if s.Arch == "arm64" {
		put("CpuArchitectureType", "Arm64")
	} else {
		put("CpuArchitectureType", "x64")
	}
	yes("LowPriorityCapable", s.Spot)
	yes("PremiumIO", s.PremiumIO)
	put("VMDeploymentTypes", "IaaS")
	num("vCPUsAvailable", int64(s.VCPUs))
	num("vCPUsPerCore", 2)
	if s.GPUs > 0 {
		num("GPUs", int64(s.GPUs))
	}
	if s.CacheMiB > 0 {
		num("CachedDiskBytes", s.CacheMiB<<20)
	}
	if s.NVMeMiB > 0 {
		num("NvmeDiskSizeInMiB", s.NVMeMiB)
	}
	yes("EphemeralOSDiskSupported", len(s.Placements) > 0)
	if len(s.Placements) > 0 {
		put("SupportedEphemeralOSDiskPlacements", strings.Join(s.Placements, ","))
	}
	yes("EncryptionAtHostSupported", s.EncryptionAtHost)
	yes("AcceleratedNetworkingEnabled", s.AcceleratedNetworking)
	yes("RdmaEnabled", false)
	num("MaxNetworkInterfaces", int64(max(2, min(8, s.VCPUs))))
	if s.Gen2 && !s.TrustedLaunch {
		put("TrustedLaunchDisabled", "True")
	}
	if s.Confidential != "" {
		put("ConfidentialComputingType", s.Confidential)
	}
	return list
}

// usages is Usage - List: what exists, in vCPUs, against the limits.
func (c *Cloud) usages(q *call) (*reply, *apiError) {
	list := []any{}
	use := map[string]int{}
	if strings.EqualFold(q.vars["location"], c.cfg.Location) {
		use = c.usage(nil)
	}
	put := func(name, words string, limit int) {
		list = append(list, object{"unit": "Count", "currentValue": use[name], "limit": limit, "name": object{"value": name, "localizedValue": words}})
	}
	put(usageCores, "Total Regional vCPUs", c.limit(usageCores))
	put(usageVMs, "Virtual Machines", 25_000)
	put(usageSpot, "Total Regional Spot vCPUs", c.limit(usageSpot))
	families := map[string]bool{}
	for _, o := range c.table.Offers(q.vars["location"]) {
		families[o.Size.Family] = true
	}
	for _, f := range sortedKeys(families) {
		put(f, f+" vCPUs", c.limit(f))
	}
	return ok(object{"value": list})
}
