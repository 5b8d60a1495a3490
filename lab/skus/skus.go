// Package skus answers: which virtual machine sizes does the lab's Azure sell, where, with what inside and for how much?
//
// The table is one compact text, series by series (series.txt), expanded on demand. The package knows no wire format
// (lab/arm does) and no amounts left (quota and capacity are lab/arm's knobs).
package skus

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
)

//go:embed series.txt
var seriesText string

// spotShare is what spot costs relative to on demand, before the per-series step of spotStep. Real spot prices move
// between 10 % and 60 % of the pay-as-you-go price (Azure documentation, "Use Azure Spot Virtual Machines"); the lab's
// stay where they are unless a knob moves them.
const (
	spotShare = 0.18
	spotStep  = 0.01
	spotSteps = 12
)

// Region is a place that sells machines.
type Region struct {
	Name        string   // eastus
	DisplayName string   // East US
	Geography   string   // US
	Zones       []string // "1".."3"; empty in a region without availability zones
}

// Size is one virtual machine size. It is the same in every region; Offer says what differs.
type Size struct {
	Name       string // Standard_D2s_v5
	Series     string // Ds_v5
	Family     string // quota family: standardDSv5Family
	VCPUs      int
	MemoryMiB  int64
	GPUs       int
	Arch       string // amd64 or arm64
	Gen1, Gen2 bool   // hypervisor generations it boots
	// Controllers lists the disk controllers, "SCSI" and "NVMe".
	Controllers           []string
	PremiumIO             bool
	AcceleratedNetworking bool
	EncryptionAtHost      bool
	TrustedLaunch         bool
	UltraSSD              bool
	Spot                  bool   // may be bought as spot at all
	Confidential          string // "", "SNP" or "TDX"
	// Local disks, zero = none. NVMeMiB is all NVMe disk; it can hold the OS only with placement NvmeDisk.
	TempMiB, CacheMiB, NVMeMiB int64
	// Placements are where an ephemeral OS disk may live: NvmeDisk, CacheDisk, ResourceDisk. Empty = nowhere.
	Placements []string
}

// DataDisks is how many data disks a machine of the size can have attached at once: two for each CPU and 64 at most, as
// Azure documents it for its general purpose series.
func (s Size) DataDisks() int { return min(64, 2*s.VCPUs) }

// Offer is a size as one region sells it.
type Offer struct {
	Size  Size
	Zones []string // zones that have it; empty in a region without zones
	// Denied says the subscription may not buy it in this region; DeniedZones, not in these zones.
	Denied      bool
	DeniedZones []string
	// USDPerHour is the Linux pay-as-you-go price; SpotUSDPerHour is 0 when there is no spot.
	USDPerHour, SpotUSDPerHour float64
}

// Table is the expanded table. It does not change; all methods may be called concurrently.
type Table struct {
	regions []Region
	offers  map[string][]Offer // by region, sorted by size name
	sizes   map[string]Size    // by lower-case name
}

// Load expands the table. It fails only when the text in this package is wrong.
func Load() (*Table, error) { return parse(seriesText) }

// Regions lists the regions, sorted by name.
func (t *Table) Regions() []Region { return slices.Clone(t.regions) }

// RegionNames lists their names, sorted.
func (t *Table) RegionNames() []string {
	var names []string
	for _, r := range t.regions {
		names = append(names, r.Name)
	}
	return names
}

// Region finds a region by name, ignoring case.
func (t *Table) Region(name string) (Region, bool) {
	i := slices.IndexFunc(t.regions, func(r Region) bool { return strings.EqualFold(r.Name, name) })
	if i < 0 {
		return Region{}, false
	}
	return t.regions[i], true
}

// Offers lists what a region sells, sorted by size name; nil for a region that is not in the table. The slice is
// shared: do not change it.
func (t *Table) Offers(region string) []Offer { return t.offers[strings.ToLower(region)] }

// Offer finds one size in one region, ignoring case. O(log sizes).
func (t *Table) Offer(region, size string) (Offer, bool) {
	s, ok := t.Size(size)
	if !ok {
		return Offer{}, false
	}
	list := t.Offers(region)
	i, ok := slices.BinarySearchFunc(list, s.Name, func(o Offer, n string) int { return strings.Compare(o.Size.Name, n) })
	if !ok {
		return Offer{}, false
	}
	return list[i], true
}

// Size finds a size by name, ignoring case, sold anywhere or not.
func (t *Table) Size(name string) (Size, bool) {
	s, ok := t.sizes[strings.ToLower(name)]
	return s, ok
}

// Len is the number of sizes.
func (t *Table) Len() int { return len(t.sizes) }

func regions() []Region {
	// Public list of Azure regions and their availability zone support; westcentralus has none.
	return []Region{
		{"eastus", "East US", "United States", []string{"1", "2", "3"}},
		{"westcentralus", "West Central US", "United States", nil},
		{"westeurope", "West Europe", "Europe", []string{"1", "2", "3"}},
		{"westus3", "West US 3", "United States", []string{"1", "2", "3"}},
	}
}

// priceColumns are the regions of the price columns in series.txt.
func priceColumns() []string { return []string{"eastus", "westus3", "westeurope"} }

// parse expands the whole text and names the first line that is wrong.
func parse(text string) (*Table, error) {
	t := &Table{regions: regions(), offers: map[string][]Offer{}, sizes: map[string]Size{}}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.addSeries(line); err != nil {
			return nil, fmt.Errorf("series.txt line %d: %w", n+1, err)
		}
	}
	for r := range t.offers {
		slices.SortFunc(t.offers[r], func(a, b Offer) int { return strings.Compare(a.Size.Name, b.Size.Name) })
	}
	return t, nil
}

// addSeries expands one line into sizes and the offers of every region that sells them.
func (t *Table) addSeries(line string) error {
	s, err := parseSeries(line)
	if err != nil {
		return err
	}
	for _, e := range s.sizes {
		size := s.size(e)
		key := strings.ToLower(size.Name)
		if _, dup := t.sizes[key]; dup {
			return fmt.Errorf("%s stands in the table twice", size.Name)
		}
		t.sizes[key] = size
		for _, r := range t.regions {
			price := s.price(e, r.Name)
			if price == 0 {
				continue
			}
			o := Offer{Size: size, USDPerHour: price}
			if len(r.Zones) > 0 {
				o.Zones = r.Zones
				if z, ok := s.zones[r.Name]; ok {
					o.Zones = z
				}
			}
			o.Denied = slices.Contains(s.deny, r.Name)
			for _, z := range o.Zones {
				if slices.Contains(s.deny, r.Name+"/"+z) {
					o.DeniedZones = append(o.DeniedZones, z)
				}
			}
			if size.Spot {
				o.SpotUSDPerHour = round4(price * s.spotShare())
			}
			t.offers[r.Name] = append(t.offers[r.Name], o)
		}
	}
	return nil
}

// roundPrice rounds as the published price list does: three decimals, four below ten cents.
func roundPrice(v float64) float64 {
	if v >= 0.1 {
		return math.Round(v*1e3) / 1e3
	}
	return round4(v)
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
