package provision

import (
	"slices"
	"strconv"
	"strings"
)

// image is what the scripts find on the machine's disk, as far as it decides anything.
type image struct {
	name    string
	ubuntu  bool
	azure2  bool // Azure Linux 2, whose packages are frozen: it always fetches Kubernetes from a URL
	arm64   bool
	release string // 22.04, 24.04, 2, 3
}

// imageOf reads an image reference, …/images/<definition>/versions/<version>. A machine without one boots Ubuntu 24.04.
// Definitions: 2204gen2containerd, 2404gen2arm64containerd, V3gen2, V2fips, … of AKS' public galleries.
func imageOf(reference, arch string) image {
	name := "2404gen2containerd"
	parts := strings.Split(reference, "/")
	for i, p := range parts {
		if strings.EqualFold(p, "images") && i+1 < len(parts) {
			name = parts[i+1]
		}
	}
	out := image{name: name, arm64: arch == "arm64", release: "3"}
	switch {
	case strings.HasPrefix(name, "V2"):
		out.azure2, out.release = true, "2"
	case strings.HasPrefix(name, "V3"):
	default:
		out.ubuntu, out.release = true, "24.04"
		if len(name) >= 4 {
			if _, err := strconv.Atoi(name[:4]); err == nil {
				out.release = name[:2] + "." + name[2:4]
			}
		}
	}
	return out
}

// driverImages are the tags of mcr.microsoft.com/aks/aks-gpu-<type> that exist. Sources: parts/common/components.json at
// the pin for cuda, cuda-lts, grid and grid-v20; cuda 470.82.01 is what senders ask for on the K80 sizes, and not proven.
func driverImages() map[string][]string {
	return map[string][]string{
		"cuda":     {"580.126.09-20260430040408", "470.82.01-20260629214430"},
		"cuda-lts": {"580.159.04-20260629214430"},
		"grid":     {"570.211.01-20260522192315", "570.237-20260817204535"},
		"grid-v20": {"595.58.03-20260609172331"},
	}
}

// accelerator is what the scripts' driver steps meet in the machine.
type accelerator struct {
	nvidia   bool
	grid     string // the only driver type that runs it: grid or grid-v20; "" takes a cuda type
	nvswitch bool   // its GPUs talk through switches that the fabric manager must train
	carried  bool   // the image has its driver already (GB200, GB300: arm64)
}

// acceleratorOf reads the name of a size. Source of the driver types and of the fabric manager's sizes: AgentBaker's
// pkg/agent/datamodel/gpu_components.go, and its issue 9430 for the sizes that this list forgot.
func acceleratorOf(size string) accelerator {
	s := strings.TrimPrefix(strings.ToLower(size), "standard_")
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
	}
	switch {
	case !strings.HasPrefix(s, "nc") && !strings.HasPrefix(s, "nd") && !strings.HasPrefix(s, "nv"),
		has("mi300x", "v710"), strings.HasPrefix(s, "nv") && strings.HasSuffix(s, "as_v4"): // AMD's, or none
		return accelerator{}
	case has("rtxpro6000bse"):
		return accelerator{nvidia: true, grid: "grid-v20"}
	case has("_a10_"):
		return accelerator{nvidia: true, grid: "grid"}
	case has("gb200", "gb300"):
		return accelerator{nvidia: true, carried: true}
	}
	return accelerator{nvidia: true, nvswitch: strings.HasPrefix(s, "nd") && (has("a100", "h100", "h200") || strings.HasSuffix(s, "_v4") || strings.HasSuffix(s, "_v5"))}
}
