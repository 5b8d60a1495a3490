package azure

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// SKU is what Azure says of one virtual machine size in one region, in units we compute with.
type SKU struct {
	Name, Family string // Family is the quota family
	Size         Size
	CPUs         int64
	MemoryGiB    float64
	GPUs         int64
	Arch         string // amd64 or arm64
	Gen1, Gen2   bool   // Hyper-V generations it boots
	Zones        []string
	// UltraZones are the places that sell the size with ultra disks: zones, or regionalZone where a region has none.
	UltraZones []string
	// Forbidden says why the region may not sell it to us; "" = it may.
	Forbidden string

	// DataDisks is how many data disks can be attached at once; nil = Azure does not say.
	DataDisks *int64

	CacheBytes, ResourceMiB, NVMeMiB int64
	// Placements are the places where an ephemeral OS disk may live; empty = it may not.
	Placements []string

	Premium, AcceleratedNet, SpotCapable, EncryptionAtHost, TrustedLaunch bool
}

// The smallest machines that an AKS node image runs on.
const (
	minCPUs      = 2
	minMemoryGiB = 3.5
)

// restricted are sizes that AKS itself refuses as nodes, and two that are isolated without saying so.
// Source: AKS' list of restricted sizes.
func restricted(name string) bool {
	switch name {
	case "Basic_A0", "Basic_A1", "Basic_A2", "Basic_A3", "Basic_A4", "Standard_A0", "Standard_A1", "Standard_A1_v2",
		"Standard_B1s", "Standard_B1ms", "Standard_F1", "Standard_F1s", "Standard_E64i_v3", "Standard_E64is_v3":
		return true
	}
	return false
}

// readSKUs keeps the virtual machine sizes of the region that nodes can be made of, sorted by name, each once.
func readSKUs(list []*armcompute.ResourceSKU, location string) []SKU {
	var out []SKU
	for _, r := range list {
		if r == nil || r.Name == nil || !strings.EqualFold(str(r.ResourceType), "virtualMachines") {
			continue
		}
		if s, ok := readSKU(r, location); ok && s.usable() {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b SKU) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b SKU) bool { return a.Name == b.Name })
}

// usable applies the filters that hold for every class.
func (s SKU) usable() bool {
	if restricted(s.Name) || s.Forbidden != "" || s.CPUs < minCPUs || s.MemoryGiB < minMemoryGiB {
		return false
	}
	if s.Size.Constrained > 0 || s.Size.Confidential() {
		return false
	}
	if _, known := gpuOf(s.Size); s.GPUs > 0 && !known {
		return false
	}
	return s.Gen1 || s.Gen2
}

// capUltra is said of a zone among its details, and of the size itself in regions without zones.
const capUltra = "UltraSSDAvailable"

func readSKU(r *armcompute.ResourceSKU, location string) (SKU, bool) {
	size, ok := ParseSize(*r.Name)
	if !ok {
		return SKU{}, false
	}
	c := capabilities(r.Capabilities)
	s := SKU{
		Name: *r.Name, Family: str(r.Family), Size: size,
		CPUs: c.int("vCPUs"), MemoryGiB: c.float("MemoryGB"), GPUs: c.int("GPUs"),
		Arch:        archAMD64,
		CacheBytes:  c.int("CachedDiskBytes"),
		ResourceMiB: c.int("MaxResourceVolumeMB"),
		NVMeMiB:     c.int("NvmeDiskSizeInMiB"),
		Premium:     c.is("PremiumIO"), AcceleratedNet: c.is("AcceleratedNetworkingEnabled"),
		SpotCapable: c.is("LowPriorityCapable"), EncryptionAtHost: c.is("EncryptionAtHostSupported"),
	}
	if strings.EqualFold(c["CpuArchitectureType"], "Arm64") {
		s.Arch = archARM64
	}
	if _, said := c["MaxDataDiskCount"]; said {
		n := c.int("MaxDataDiskCount")
		s.DataDisks = &n
	}
	gens := strings.Split(c["HyperVGenerations"], ",")
	s.Gen1, s.Gen2 = slices.Contains(gens, "V1"), slices.Contains(gens, "V2")
	s.TrustedLaunch = s.Gen2 && !c.is("TrustedLaunchDisabled")
	if c.is("EphemeralOSDiskSupported") {
		s.Placements = placements(c["SupportedEphemeralOSDiskPlacements"])
	}
	for _, l := range r.LocationInfo {
		if l == nil || !strings.EqualFold(str(l.Location), location) {
			continue
		}
		s.Zones = append(s.Zones, strs(l.Zones)...)
		for _, z := range l.ZoneDetails {
			if z != nil && capabilities(z.Capabilities).is(capUltra) {
				s.UltraZones = append(s.UltraZones, strs(z.Name)...)
			}
		}
	}
	if len(s.Zones) == 0 && c.is(capUltra) {
		s.UltraZones = append(s.UltraZones, regionalZone)
	}
	s.restrict(r.Restrictions, location)
	s.UltraZones = slices.DeleteFunc(s.UltraZones, func(z string) bool { return z != regionalZone && !slices.Contains(s.Zones, z) })
	slices.Sort(s.Zones)
	s.Zones = slices.Compact(s.Zones)
	return s, true
}

// restrict applies what Azure says we may not have: of a region everything, of a zone that zone.
func (s *SKU) restrict(list []*armcompute.ResourceSKURestrictions, location string) {
	for _, r := range list {
		if r == nil || r.Type == nil {
			continue
		}
		why := "restricted"
		if r.ReasonCode != nil {
			why = string(*r.ReasonCode)
		}
		switch *r.Type {
		case armcompute.ResourceSKURestrictionsTypeLocation:
			where := strs(r.Values)
			if r.RestrictionInfo != nil {
				where = append(where, strs(r.RestrictionInfo.Locations)...)
			}
			if slices.ContainsFunc(where, func(l string) bool { return strings.EqualFold(l, location) }) {
				s.Forbidden = why
			}
		case armcompute.ResourceSKURestrictionsTypeZone:
			if r.RestrictionInfo != nil {
				gone := strs(r.RestrictionInfo.Zones)
				s.Zones = slices.DeleteFunc(s.Zones, func(z string) bool { return slices.Contains(gone, z) })
			}
		}
	}
}

// placements reads "ResourceDisk,CacheDisk". Sizes older than the capability have a cache disk or a resource disk.
func placements(list string) []string {
	if list == "" {
		return []string{"CacheDisk", "ResourceDisk"}
	}
	var out []string
	for _, p := range strings.Split(list, ",") {
		out = append(out, strings.TrimSpace(p))
	}
	return out
}

type capabilitySet map[string]string

func capabilities(list []*armcompute.ResourceSKUCapabilities) capabilitySet {
	out := capabilitySet{}
	for _, c := range list {
		if c != nil && c.Name != nil && c.Value != nil {
			out[*c.Name] = *c.Value
		}
	}
	return out
}

func (c capabilitySet) is(name string) bool { return strings.EqualFold(c[name], "True") }

func (c capabilitySet) int(name string) int64 {
	n, err := strconv.ParseInt(c[name], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (c capabilitySet) float(name string) float64 {
	f, err := strconv.ParseFloat(c[name], 64)
	if err != nil || f < 0 {
		return 0
	}
	return f
}

func str[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

func strs(list []*string) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}
