package azure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Community galleries from which AKS publishes its node images.
const (
	galleryUbuntu     = "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2"
	galleryAzureLinux = "AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b"
)

// Operating systems that an image family resolves to, by the words nodes carry in os-sku-effective.
const (
	ubuntu2004  = "Ubuntu"
	ubuntu2204  = "Ubuntu2204"
	ubuntu2404  = "Ubuntu2404"
	azureLinux2 = "AzureLinux"
	azureLinux3 = "AzureLinux3"
)

// definition is one image definition in a gallery and the machines that can boot it.
type definition struct {
	gallery, name string
	arch          string
	generation    int // Hyper-V generation
}

func (d definition) requirements() []model.Requirement {
	return []model.Requirement{
		{Key: model.LabelArch, Op: model.In, Values: []string{d.arch}},
		{Key: LabelHyperVGeneration, Op: model.In, Values: []string{strconv.Itoa(d.generation)}},
	}
}

func imageFamily(class *model.AzureClass) string {
	if class.ImageFamily == "" {
		return defaultImageFamily
	}
	return class.ImageFamily
}

func osSKU(class *model.AzureClass) string {
	if imageFamily(class) == "AzureLinux" {
		return "AzureLinux"
	}
	return "Ubuntu"
}

func trustedLaunch(class *model.AzureClass) bool { return class.VTPM || class.SecureBoot }
func fips(class *model.AzureClass) bool          { return class.FIPSMode == "FIPS" }

// localDNSOn: mode Preferred leaves the choice to us, and we leave it off until the image supports it by default.
func localDNSOn(class *model.AzureClass) bool { return class.LocalDNSMode == "Required" }

// resolveFamily says which operating system a class' image family means for a Kubernetes version ("1.34.2"; "" is
// taken for the newest). Source: AKS' published defaults: Ubuntu 24.04 from 1.34, Azure Linux 3 from 1.32.
func resolveFamily(class *model.AzureClass, fipsMode, version string) string {
	switch imageFamily(class) {
	case "Ubuntu2204":
		return ubuntu2204
	case "Ubuntu2404":
		return ubuntu2404
	case "AzureLinux":
		if atLeast(version, 1, 32) {
			return azureLinux3
		}
		return azureLinux2
	}
	switch {
	case fipsMode == "FIPS" && !trustedLaunch(class):
		return ubuntu2004
	case fipsMode == "FIPS", trustedLaunch(class), !atLeast(version, 1, 34):
		return ubuntu2204
	}
	return ubuntu2404
}

// definitionsOf lists the image definitions of an operating system for the class, in the order in which they are
// preferred: generation 2 amd64, generation 1 amd64, generation 2 arm64.
func definitionsOf(class *model.AzureClass, os string) []definition {
	gallery := galleryUbuntu
	if os == azureLinux2 || os == azureLinux3 {
		gallery = galleryAzureLinux
	}
	var names [3]string
	switch {
	case trustedLaunch(class) && fips(class):
		if os == ubuntu2204 {
			names[0] = "2204gen2fipsTLcontainerd"
		}
	case trustedLaunch(class):
		names[0] = map[string]string{
			ubuntu2204: "2204gen2TLcontainerd", ubuntu2404: "2404gen2TLcontainerd", azureLinux2: "V2gen2TL", azureLinux3: "V3gen2TL",
		}[os]
	case fips(class):
		names = map[string][3]string{
			ubuntu2004:  {"2004gen2fipscontainerd", "2004fipscontainerd"},
			azureLinux2: {"V2gen2fips", "V2fips"},
			azureLinux3: {"V3gen2fips", "V3fips", "V3gen2arm64fips"},
		}[os]
	default:
		names = map[string][3]string{
			ubuntu2204:  {"2204gen2containerd", "2204containerd", "2204gen2arm64containerd"},
			ubuntu2404:  {"2404gen2containerd", "2404containerd", "2404gen2arm64containerd"},
			azureLinux2: {"V2gen2", "V2", "V2gen2arm64"},
			azureLinux3: {"V3gen2", "V3", "V3gen2arm64"},
		}[os]
	}
	var out []definition
	for i, name := range names {
		if name == "" {
			continue
		}
		d := definition{gallery: gallery, name: name, arch: archAMD64, generation: 2}
		switch i {
		case 1:
			d.generation = 1
		case 2:
			d.arch = archARM64
		}
		out = append(out, d)
	}
	return out
}

// imageID is the reference by which a machine names a community image.
func imageID(d definition, version string) string {
	return fmt.Sprintf("/CommunityGalleries/%s/images/%s/versions/%s", d.gallery, d.name, version)
}

// chooseImage picks the first image of the class that the size can boot.
func chooseImage(images []model.Image, s SKU) (string, bool) {
	for _, image := range images {
		if !slices.ContainsFunc(image.Requirements, func(r model.Requirement) bool { return !s.meets(r) }) {
			return image.ID, true
		}
	}
	return "", false
}

// meets answers the two requirements that images carry; one that it does not know is not met.
func (s SKU) meets(r model.Requirement) bool {
	if r.Op != model.In {
		return false
	}
	switch r.Key {
	case model.LabelArch:
		return slices.Contains(r.Values, s.Arch)
	case LabelHyperVGeneration:
		return s.Gen1 && slices.Contains(r.Values, "1") || s.Gen2 && slices.Contains(r.Values, "2")
	}
	return false
}

// atLeast compares "1.34.2" or "v1.34" with a minor version; an empty or unreadable version counts as newest.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(span(parts[1], isDigit))
	if errA != nil || errB != nil {
		return true
	}
	return a > major || a == major && b >= minor
}

func isCommunityImage(id string) bool {
	const head = "/CommunityGalleries/"
	return len(id) > len(head) && strings.EqualFold(id[:len(head)], head)
}
