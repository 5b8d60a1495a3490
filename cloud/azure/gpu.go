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
