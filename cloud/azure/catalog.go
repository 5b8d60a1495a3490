package azure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/model"
)

// unknownPrice is what a size costs for which Azure publishes no price: so much that it is bought last.
const unknownPrice = model.Price(999e6)

// Network is the cluster's network setup, in AKS' own words.
type Network struct {
	Plugin    string // "azure" or "none"
	Mode      string // "overlay" or ""
	Dataplane string // "azure", "cilium" or ""
	Policy    string // "azure", "calico", "cilium", "none" or ""
	// DNSServiceIP is the cluster IP of the DNS service; an order's own takes precedence.
	DNSServiceIP string
}

// market is what a catalogue is made of: everything Azure last told us.
type market struct {
	skus   []SKU
	prices priceBook
	usages usageBook
}

// place is where and how a catalogue is made.
type place struct {
	location, clusterLabel string
	net                    Network
	overhead               float64
}

// catalogOf makes the instance types of a class, sorted by name, offerings by price, zone and capacity type.
// O(sizes x zones). It is a pure function of its arguments.
func catalogOf(m market, class *model.AzureClass, at place) []model.InstanceType {
	var out []model.InstanceType
	for _, s := range m.skus {
		if suits(s, class) {
			out = append(out, instanceType(s, m, class, at))
		}
	}
	return out
}

// suits applies the filters that depend on the class: accelerator, host encryption, trusted launch, local DNS,
// streaming, and that an image exists which the size can boot.
func suits(s SKU, class *model.AzureClass) bool {
	if g, ok := gpuOf(s.Size); s.GPUs > 0 && (!ok || !g.fits(imageFamily(class), class.GPUMode)) {
		return false
	}
	switch {
	case class.EncryptionAtHost && !s.EncryptionAtHost:
		return false
	case trustedLaunch(class) && !s.TrustedLaunch:
		return false
	case localDNSOn(class) && s.CPUs < 4: // its CoreDNS wants four cores and 244 MiB, which every usable size has
		return false
	case class.ArtifactStreaming && s.Arch == archARM64:
		return false
	}
	return slices.ContainsFunc(definitionsOf(class, resolveFamily(class, class.FIPSMode, "")), func(d definition) bool {
		return d.arch == s.Arch && (d.generation == 1 && s.Gen1 || d.generation == 2 && s.Gen2)
	})
}

func instanceType(s SKU, m market, class *model.AzureClass, at place) model.InstanceType {
	c := capacity(s, class, maxPodsOf(class, at.net), at.overhead)
	either := map[string][]string{LabelAKSMode: {"system", "user"}}
	if len(s.UltraZones) > 0 {
		either[LabelUltraSSD] = []string{"true", "false"}
	}
	return model.InstanceType{
		AttachLimits: attachLimits(s),
		Name:         s.Name,
		Family:       s.Family,
		Labels:       sizeLabels(s, class, at),
		Either:       either,
		Capacity:     c,
		Allocatable:  allocatable(s, c),
		Offerings:    offerings(s, m, at),
	}
}

// diskDriver is the CSI driver of Azure's managed disks.
const diskDriver = "disk.csi.azure.com"

// attachLimits is what the disk driver will report on a machine of the size: its data disks. The OS disk is none.
func attachLimits(s SKU) map[string]int64 {
	if s.DataDisks == nil {
		return nil
	}
	return map[string]int64{diskDriver: *s.DataDisks}
}

// sizeLabels are the labels that all offerings of a size share. A label that says nothing is absent.
func sizeLabels(s SKU, class *model.AzureClass, at place) map[string]string {
	memory := strconv.FormatInt(int64(s.MemoryGiB*1024), 10)
	cpu := strconv.FormatInt(s.CPUs, 10)
	l := map[string]string{
		model.LabelInstanceType: s.Name,
		model.LabelArch:         s.Arch,
		model.LabelOS:           "linux",
		model.LabelRegion:       at.location,
		LabelSKUName:            s.Name,
		LabelSKUFamily:          s.Size.Family,
		LabelSKUSeries:          s.Size.Series(),
		LabelSKUVersion:         s.Size.VersionLabel(),
		LabelSKUCPU:             cpu,
		LabelAKSCPU:             cpu,
		LabelSKUMemory:          memory,
		LabelAKSMemory:          memory,
		LabelAcceleratedNet:     strconv.FormatBool(s.AcceleratedNet),
		LabelPremiumStorage:     strconv.FormatBool(s.Premium),
		LabelAKSOSSKU:           osSKU(class),
		LabelGPUCount:           strconv.FormatInt(s.GPUs, 10),
	}
	if at.clusterLabel != "" && labelValue.takes(at.clusterLabel) { // a group may be called "_x"; no label may
		l[LabelAKSCluster] = at.clusterLabel
	}
	if fips(class) {
		l[LabelAKSFIPS] = "true"
	}
	if n := maxEphemeralGB(s.rooms()); n > 0 {
		l[LabelEphemeralOSDiskMaxGB] = strconv.FormatInt(n, 10)
	}
	if g, ok := gpuOf(s.Size); ok && s.GPUs > 0 {
		l[LabelGPUManufacturer] = g.manufacturer
		if s.Size.Accelerator != "" {
			l[LabelGPUName] = s.Size.Accelerator
		}
	}
	return l
}

// offerings are the size's zones, and the region outside of zones, each on demand and spot.
func offerings(s SKU, m market, at place) []model.Offering {
	zones := append([]string{regionalZone}, s.Zones...)
	out := make([]model.Offering, 0, 2*len(zones))
	for _, capacityType := range []string{model.OnDemand, model.Spot} {
		price := m.prices.of(s.Name, capacityType)
		if m.prices.empty() {
			price = estimate(s)
		}
		why := blocked(s, capacityType, m.usages)
		for _, z := range zones {
			o := model.Offering{
				Type: s.Name, Zone: zoneLabel(at.location, z), CapacityType: capacityType, Price: price,
				Available: why == "", Unavailable: why,
			}
			o.Labels = offeringLabels(o, slices.Contains(s.UltraZones, z))
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b model.Offering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return out
}

// offeringLabels are the labels of one offering. Ultra disks must be switched on when a machine is made and cost a
// reservation from then on: where they can be had, the type leaves the choice to the buyer (Either), and a machine has
// them only if its claim asks; elsewhere the offering says false.
func offeringLabels(o model.Offering, ultra bool) map[string]string {
	scope, priority := zonal, regularWord
	if o.Zone == regionalZone {
		scope = regional
	}
	if o.CapacityType == model.Spot {
		priority = spotWord
	}
	out := map[string]string{
		model.LabelZone:          o.Zone,
		model.LabelCapacityType:  o.CapacityType,
		LabelPlacementScope:      scope,
		LabelAKSScaleSetPriority: priority,
		LabelAKSPriority:         priority,
	}
	if !ultra {
		out[LabelUltraSSD] = "false"
	}
	return out
}

// blocked says why the subscription may not have one more machine of the size, "" when it may as far as we know.
// What is unknown does not block: Azure has the last word.
func blocked(s SKU, capacityType string, u usageBook) string {
	if capacityType == model.Spot {
		if !s.SpotCapable {
			return fmt.Sprintf("%s: Azure sells no spot machines of size %s here", model.WhyUnavailable, s.Name)
		}
		return u.short("lowPriorityCores", "the subscription's spot cores", s.CPUs)
	}
	if why := u.short(s.Family, "family "+s.Family, s.CPUs); why != "" {
		return why
	}
	return u.short("cores", "the subscription's regional cores", s.CPUs)
}

// zoneLabel is the value of the zone label: "eastus-1", or "0" outside zones.
func zoneLabel(location, zone string) string {
	if zone == regionalZone || zone == "" {
		return regionalZone
	}
	return location + "-" + zone
}

// zoneNumber undoes zoneLabel: "1", or "" outside zones.
func zoneNumber(location, label string) string {
	if label == regionalZone {
		return ""
	}
	return strings.TrimPrefix(label, location+"-")
}

// clusterLabelOf makes a label's value of the node resource group's name, as AKS does: brackets become dashes, 63
// characters are kept, and a last character that may not end a value becomes z.
func clusterLabelOf(nodeResourceGroup string) string {
	v := strings.NewReplacer("(", "-", ")", "-").Replace(nodeResourceGroup)
	v = v[:min(len(v), maxClusterLabel)]
	if n := len(v); n > 0 {
		if b := v[n-1]; !isUpper(b) && !isLower(b) && !isDigit(b) {
			v = v[:n-1] + "z"
		}
	}
	return v
}

// usageBook is the subscription's quota in the region by the name Azure gives it, in cores left.
type usageBook map[string]usage

type usage struct{ used, limit int64 }

// short says in words that fewer than need cores are left; "" when they are or when nothing is known.
func (u usageBook) short(name, words string, need int64) string {
	q, ok := u[strings.ToLower(name)]
	if !ok || need <= q.limit-q.used {
		return ""
	}
	return fmt.Sprintf("%s: quota of %s: %d of %d cores used, %d more needed", model.WhyUnavailable, words, q.used, q.limit, need)
}

func dollars(f float64) model.Price {
	if f <= 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return unknownPrice
	}
	return model.Dollars(f)
}

// readUsages keeps the quota lines by lower-case name.
func readUsages(list []*armcompute.Usage) usageBook {
	out := usageBook{}
	for _, u := range list {
		if u == nil || u.Name == nil || u.Limit == nil || u.CurrentValue == nil {
			continue
		}
		out[strings.ToLower(str(u.Name.Value))] = usage{used: int64(*u.CurrentValue), limit: *u.Limit}
	}
	return out
}
