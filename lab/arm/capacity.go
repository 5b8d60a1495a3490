package arm

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

// Names of usages that are not size families (Usage - List).
const (
	usageCores = "cores"
	usageSpot  = "lowPriorityCores"
	usageVMs   = "virtualMachines"
)

// DefaultQuota is the limit of a usage that no knob names: vCPUs of one family, of the region, of spot.
func DefaultQuota(name string) int {
	switch name {
	case usageCores:
		return 10_000
	case usageSpot:
		return 3_000
	}
	return 2_000
}

// limit is what the knobs say of a usage. The caller holds mu.
func (c *Cloud) limit(name string) int {
	for k, v := range c.knobs.Quota {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	if v, all := c.knobs.Quota["*"]; all && name != usageCores && name != usageSpot {
		return v
	}
	return DefaultQuota(name)
}

// usage counts vCPUs of the machines that exist, allocated or not (documentation "Check vCPU quotas": the quota counts
// cores both allocated and deallocated). Spot cores count against lowPriorityCores only ("Use Azure Spot Virtual
// Machines", quota). O(machines). The caller holds mu.
func (c *Cloud) usage(except *resource) map[string]int {
	use := map[string]int{}
	for _, r := range c.res {
		if r.vm == nil || r == except {
			continue
		}
		n := r.vm.offer.Size.VCPUs
		use[usageVMs]++
		if r.vm.spot {
			use[usageSpot] += n
			continue
		}
		use[usageCores] += n
		use[r.vm.offer.Size.Family] += n
	}
	return use
}

// quotaFor refuses a machine that would exceed a limit, with the text that users see (error messages "exceeding
// approved … Cores quota" in the documentation pages "Resolve errors for resource quotas"). The caller holds mu.
func (c *Cloud) quotaFor(o skus.Offer, spot bool, except *resource) *apiError {
	use := c.usage(except)
	need := o.Size.VCPUs
	over := func(usage, words, help string) *apiError {
		limit := c.limit(usage)
		if use[usage]+need <= limit {
			return nil
		}
		return refuse(http.StatusConflict, "OperationNotAllowed",
			"Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase at https://aka.ms/ProdportalCRP by specifying parameters listed in the ‘Details’ section for deployment to succeed. Please read more about quota limits at https://docs.microsoft.com/en-us/azure/azure-supportability/%s",
			words, c.cfg.Location, limit, use[usage], need, use[usage]+need, help)
	}
	if spot {
		return over(usageSpot, "LowPriorityCores", "low-priority-quota")
	}
	if e := over(usageCores, "Total Regional Cores", "regional-quota-requests"); e != nil {
		return e
	}
	return over(o.Size.Family, o.Size.Family+" Cores", "per-vm-quota-requests")
}

// allocate asks the knobs whether there is a machine. The first result breaks it after accept, the second at once.
// A failure of the knobs is used up. The caller holds mu.
func (c *Cloud) allocate(o skus.Offer, zone string, spot bool) (later, now *apiError) {
	for i := range c.knobs.Failures {
		f := &c.knobs.Failures[i]
		if f.Count == 0 || f.Size != "" && !strings.EqualFold(f.Size, o.Size.Name) {
			continue
		}
		f.Count--
		e := refuse(http.StatusConflict, f.Code, "%s", f.Message)
		if f.Message == "" {
			e = c.capacityError(f.Code, o.Size.Name, zone)
		}
		for _, code := range f.Details {
			e.Details = append(e.Details, *c.capacityError(code, o.Size.Name, zone))
		}
		if f.Status != 0 {
			e.Status = f.Status
			return nil, e
		}
		return e, nil
	}
	for _, rule := range c.knobs.Capacity {
		if !rule.matches(o.Size.Name, zone, spot) || c.running(rule) < rule.Limit {
			continue
		}
		code := rule.Code
		switch {
		case code == "" && zone != "":
			code = "ZonalAllocationFailed"
		case code == "":
			code = "AllocationFailed"
		}
		e := c.capacityError(code, o.Size.Name, zone)
		if rule.Sync || code == "SkuNotAvailable" {
			return nil, e
		}
		return e, nil
	}
	return nil, nil
}

// running counts the machines that a rule limits and that have hardware, or are about to get it.
func (c *Cloud) running(rule Capacity) int {
	n := 0
	for _, r := range c.res {
		m := r.vm
		if m != nil && m.failure == nil && m.pending == nil && m.power != "deallocated" && rule.matches(m.offer.Size.Name, m.zone, m.spot) {
			n++
		}
	}
	return n
}

func (rule Capacity) matches(size, zone string, spot bool) bool {
	kind := "on-demand"
	if spot {
		kind = "spot"
	}
	if rule.Size != "" && !strings.EqualFold(rule.Size, size) || rule.CapacityType != "" && rule.CapacityType != kind {
		return false
	}
	return rule.Zone == "" || rule.Zone == zone || rule.Zone == "regional" && zone == ""
}

// capacityError words a refusal as Azure does (documentation "Troubleshoot allocation failures").
func (c *Cloud) capacityError(code, size, zone string) *apiError {
	const guide = " Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"
	text := ""
	switch code {
	case "SkuNotAvailable":
		return c.skuNotAvailable(size, zone)
	case "ZonalAllocationFailed":
		text = "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone." + guide
	case "AllocationFailed":
		text = "Allocation failed. We do not have sufficient capacity for the requested VM size in this region." + guide
	case "OverconstrainedZonalAllocationRequest":
		text = "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again. Constraints applied are:\n  - Availability Zone\n  - Differencing (Ephemeral) Disks\n  - VM Size\n"
	case "OverconstrainedAllocationRequest":
		text = "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again. Constraints applied are:\n  - Differencing (Ephemeral) Disks\n  - VM Size\n"
	default:
		text = fmt.Sprintf("The operation on the virtual machine of size %s failed: %s.", size, code)
	}
	return refuse(http.StatusConflict, code, "%s", text)
}
