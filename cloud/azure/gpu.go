package azure

import "strings"

// gpu says what is known about the accelerators of a size.
type gpu struct {
	manufacturer string
	images       []string // image families that carry a driver for it, in lower case
	driver       bool     // the image installs the driver itself
}

// gpuOf looks a size up among the accelerators that AKS supports; ok is false for all others (their sizes are not
// sold by us when they report GPUs). Source: the list of GPU sizes that AKS publishes, grouped by accelerator.
func gpuOf(s Size) (g gpu, ok bool) {
	ubuntuOnly, withAzureLinux3 := []string{"ubuntu"}, []string{"ubuntu", "azurelinux3"}
	everywhere := []string{"ubuntu", "azurelinux", "azurelinux3"}
	nvidia := func(images []string) (gpu, bool) { return gpu{manufacturerNvidia, images, true}, true }
	amd := gpu{manufacturer: manufacturerAMD, images: ubuntuOnly}
	if s.Family != "N" {
		return gpu{}, false
	}
	switch {
	case s.Accelerator == "A10", s.Accelerator == "A100", s.Accelerator == "H100", s.Accelerator == "H200":
		return nvidia(withAzureLinux3)
	case s.Accelerator == "T4":
		return nvidia(everywhere)
	case strings.HasSuffix(s.Accelerator, "RTXPRO6000BSE"), strings.HasSuffix(s.Accelerator, "GB200"),
		s.Accelerator == "GB300":
		return nvidia(ubuntuOnly)
	case s.Accelerator == "V710", s.Accelerator == "MI300X":
		return amd, true
	case s.Accelerator != "":
		return gpu{}, false
	}
	switch s.Subfamily + "/" + s.Version {
	case "C/3": // V100
		return nvidia(everywhere)
	case "D/2": // V100: ND40rs_v2
		return nvidia(everywhere)
	case "D/4", "D/5": // A100 and H100, named without their accelerator
		return nvidia(withAzureLinux3)
	case "C/", "C/2", "D/", "V/", "V/2", "V/3": // K80, P100, P40, M60
		return nvidia(ubuntuOnly)
	}
	return gpu{}, false
}

// fits reports whether a machine of this accelerator may boot the class' image family under its GPU mode: in mode
// Driver the image must install the driver, in mode None somebody else does.
func (g gpu) fits(family, mode string) bool {
	if mode != gpuNone && !g.driver {
		return false
	}
	want := []string{"ubuntu"}
	if family == "AzureLinux" {
		want = []string{"azurelinux", "azurelinux3"}
	}
	for _, w := range want {
		for _, have := range g.images {
			if w == have {
				return true
			}
		}
	}
	return false
}

// driverInfo names the NVIDIA driver that the image installs: the container image aks-gpu-KIND:VERSION-SUFFIX. The zero
// value is no driver.
type driverInfo struct {
	kind, version, suffix string
	// fabric says that the cards are joined by NVSwitch: nothing can use them before the fabric manager runs.
	fabric bool
}

// Suffixes of the driver images' tags. A tag without its suffix does not exist, and the machine never joins.
// Source: the GPU component versions that AgentBaker publishes (August 2026).
const (
	suffixCUDA    = "20260629214430"
	suffixGRID    = "20260522192315"
	suffixGRIDv20 = "20260609172331"
)

// gpuDriverFor is the driver for a size; none when the image installs none. A10 is always "converged": it takes the GRID
// driver in compute sizes (NC) as in graphics sizes (NV). Source: AgentBaker's table of sizes and driver types.
func gpuDriverFor(s SKU, mode string) driverInfo {
	g, ok := gpuOf(s.Size)
	if !ok || s.GPUs == 0 || mode == gpuNone || !g.driver {
		return driverInfo{}
	}
	d := driverInfo{kind: "cuda-lts", version: "580.159.04", suffix: suffixCUDA, fabric: nvSwitch(s.Size)}
	switch {
	case strings.HasSuffix(s.Size.Accelerator, "RTXPRO6000BSE"):
		d.kind, d.version, d.suffix = "grid-v20", "595.58.03", suffixGRIDv20
	case s.Size.Accelerator == "A10":
		d.kind, d.version, d.suffix = "grid", "570.211.01", suffixGRID
	case s.Size.Subfamily == "C" && s.Size.Version == "" && s.Size.Accelerator == "": // K80
		d.kind, d.version, d.suffix = "cuda", "470.82.01", suffixCUDA
	}
	return d
}

// nvSwitch: the ND sizes of A100, H100 and H200 hold a whole board whose cards meet over NVSwitch. V100 boards (ND v2)
// wire them card to card, GB200 and GB300 are switched outside the machine, and NC sizes hold cards that do not meet.
func nvSwitch(s Size) bool {
	if s.Family != "N" || s.Subfamily != "D" {
		return false
	}
	switch s.Accelerator {
	case "A100", "H100", "H200":
		return true
	case "":
		return s.Version == "4" || s.Version == "5" // ND96asr_v4, ND96isr_v5: named without their accelerator
	}
	return false
}
