package skus

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
)

// series is one parsed line of series.txt.
type series struct {
	prefix, suffix string // around the number of vCPUs: "D", "s_v5"
	family         string
	ratio          float64    // GiB per vCPU
	rates          []*float64 // USD per vCPU and hour, by price column; nil = not sold
	sizes          []entry

	opts  map[string]string
	zones map[string][]string
	deny  []string
}

// entry is one size of a series, with what breaks the rule of the series.
type entry struct {
	vcpus  int
	gib    float64 // 0 = by the ratio
	gpus   int
	prices []string // by column: "" = by the rate, "-" = not sold
}

func parseSeries(line string) (series, error) {
	var s series
	cols := strings.Split(line, "|")
	if len(cols) != 6 {
		return s, fmt.Errorf("want 6 columns, have %d", len(cols))
	}
	for i := range cols {
		cols[i] = strings.TrimSpace(cols[i])
	}
	var ok bool
	if s.prefix, s.suffix, ok = strings.Cut(cols[0], "#"); !ok {
		return s, fmt.Errorf("name %q has no #", cols[0])
	}
	s.family = cols[1]
	var err error
	if s.ratio, err = strconv.ParseFloat(cols[2], 64); err != nil || s.ratio <= 0 {
		return s, fmt.Errorf("bad memory ratio %q", cols[2])
	}
	for _, f := range strings.Fields(cols[3]) {
		if f == "-" {
			s.rates = append(s.rates, nil)
			continue
		}
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return s, fmt.Errorf("bad price %q", f)
		}
		s.rates = append(s.rates, &v)
	}
	if len(s.rates) != len(priceColumns()) {
		return s, fmt.Errorf("want %d prices, have %q", len(priceColumns()), cols[3])
	}
	for _, f := range strings.Fields(cols[4]) {
		e, err := parseEntry(f)
		if err != nil {
			return s, fmt.Errorf("size %q: %w", f, err)
		}
		s.sizes = append(s.sizes, e)
	}
	return s, s.parseOptions(cols[5])
}

// parseEntry reads "64:432*4@3.629/3.629/4.376"; everything after the number of vCPUs may be missing.
func parseEntry(f string) (entry, error) {
	var e entry
	var errs [4]error
	f, prices, has := strings.Cut(f, "@")
	if has {
		if e.prices = strings.Split(prices, "/"); len(e.prices) != len(priceColumns()) {
			errs[0] = fmt.Errorf("want %d prices", len(priceColumns()))
		}
	}
	f, gpus, has := strings.Cut(f, "*")
	if has {
		e.gpus, errs[1] = strconv.Atoi(gpus)
	}
	f, gib, has := strings.Cut(f, ":")
	if has {
		e.gib, errs[2] = strconv.ParseFloat(gib, 64)
	}
	e.vcpus, errs[3] = strconv.Atoi(f)
	return e, errors.Join(errs[:]...)
}

func (s *series) parseOptions(text string) error {
	s.opts = map[string]string{}
	s.zones = map[string][]string{}
	known := []string{"gen", "ctl", "net", "spot", "cc", "temp", "cache", "nvme", "data", "ultra", "zones", "deny", "wcus"}
	for _, f := range strings.Fields(text) {
		k, v, _ := strings.Cut(f, "=")
		if !slices.Contains(known, strings.TrimRight(k, "0123456789")) {
			return fmt.Errorf("unknown option %q", k)
		}
		s.opts[k] = v
	}
	if v := s.opts["deny"]; v != "" {
		s.deny = strings.Split(v, ",")
	}
	if v := s.opts["zones"]; v != "" {
		for _, part := range strings.Split(v, ";") {
			region, list, ok := strings.Cut(part, ":")
			if !ok {
				return fmt.Errorf("bad zones %q", part)
			}
			s.zones[region] = strings.Split(list, ",")
		}
	}
	return nil
}

func (s *series) has(opt string) bool { _, ok := s.opts[opt]; return ok }

// features are the small letters of the name, which Azure's naming convention gives a meaning: a AMD, d local disk,
// p Arm, s premium storage (documentation "Azure virtual machine sizes naming conventions").
func (s *series) features() string {
	f, _, _ := strings.Cut(s.suffix, "_")
	return f
}

func (s *series) size(e entry) Size {
	f := s.features()
	z := Size{
		Name:             fmt.Sprintf("Standard_%s%d%s", s.prefix, e.vcpus, s.suffix),
		Series:           s.prefix + s.suffix,
		Family:           s.family,
		VCPUs:            e.vcpus,
		GPUs:             e.gpus,
		Arch:             "amd64",
		PremiumIO:        strings.Contains(f, "s"),
		EncryptionAtHost: strings.Contains(f, "s"),
		UltraSSD:         s.has("ultra"),
		Spot:             s.opts["spot"] != "no",
		Confidential:     s.opts["cc"],
	}
	gib := e.gib
	if gib == 0 {
		gib = s.ratio * float64(e.vcpus)
	}
	// Ratios such as 9.16667 stand for a whole number of MiB per size; published sizes are multiples of half a GiB.
	z.MemoryMiB = int64(math.Round(gib*2)) * 512
	if strings.Contains(f, "p") {
		z.Arch = "arm64"
	}
	z.Gen1 = s.opts["gen"] != "2"
	z.Gen2 = s.opts["gen"] != "1"
	z.TrustedLaunch = z.Gen2 && z.Arch == "amd64"
	z.Controllers = []string{"SCSI"}
	switch s.opts["ctl"] {
	case "nvme":
		z.Controllers = []string{"NVMe"}
	case "scsi,nvme":
		z.Controllers = []string{"SCSI", "NVMe"}
	}
	from := 2
	if v, ok := s.opts["net"]; ok {
		from, _ = strconv.Atoi(v)
	}
	z.AcceleratedNetworking = from > 0 && e.vcpus >= from
	s.disks(&z)
	return z
}

// disks fills the local disks. An ephemeral OS disk needs premium storage support and one of them (documentation
// "Ephemeral OS disks for Azure VMs").
func (s *series) disks(z *Size) {
	z.TempMiB = s.disk("temp", z.VCPUs)
	z.CacheMiB = s.disk("cache", z.VCPUs)
	bootable := s.disk("nvme", z.VCPUs)
	z.NVMeMiB = bootable + s.disk("data", z.VCPUs)
	if !z.PremiumIO {
		return
	}
	if bootable > 0 {
		z.Placements = append(z.Placements, "NvmeDisk")
	}
	if z.CacheMiB > 0 {
		z.Placements = append(z.Placements, "CacheDisk")
	}
	if z.TempMiB > 0 {
		z.Placements = append(z.Placements, "ResourceDisk")
	}
}

// disk reads one disk option in MiB for a number of vCPUs: "temp16=360" beats "temp=45"; "30!" is a total.
func (s *series) disk(name string, vcpus int) int64 {
	total, ok := s.opts[name+strconv.Itoa(vcpus)]
	per := s.opts[name]
	if !ok && strings.HasSuffix(per, "!") {
		total, ok = strings.TrimSuffix(per, "!"), true
	}
	if ok {
		v, _ := strconv.ParseFloat(total, 64)
		return int64(v * 1024)
	}
	v, _ := strconv.ParseFloat(per, 64)
	return int64(math.Round(v * float64(vcpus) * 1024))
}

// price is what one size costs in a region; 0 = not sold there.
func (s *series) price(e entry, region string) float64 {
	if region == "westcentralus" {
		if !s.has("wcus") {
			return 0
		}
		return roundPrice(1.1 * s.price(e, "eastus"))
	}
	col := slices.Index(priceColumns(), region)
	if e.prices != nil && e.prices[col] != "" {
		v, _ := strconv.ParseFloat(e.prices[col], 64) // "-" is 0: not sold
		return v
	}
	if s.rates[col] == nil {
		return 0
	}
	return roundPrice(*s.rates[col] * float64(e.vcpus))
}

// spotShare spreads the spot discount over the series, the same way on every machine and every day.
func (s *series) spotShare() float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.prefix + s.suffix)) // a hash never fails to write
	return spotShare + spotStep*float64(h.Sum32()%spotSteps)
}
