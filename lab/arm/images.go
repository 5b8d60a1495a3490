package arm

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// The community galleries in which AKS publishes its node images, and the image definitions in them (documentation
// "AKS node image releases" and the AKS release notes).
const (
	galleryUbuntu = "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2"
	galleryLinux  = "AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b"
)

func galleries() map[string][]string {
	return map[string][]string{
		galleryUbuntu: {"2004fipscontainerd", "2004gen2fipscontainerd", "2204containerd", "2204gen2TLcontainerd", "2204gen2arm64containerd", "2204gen2containerd",
			"2204gen2fipsTLcontainerd", "2404containerd", "2404gen2TLcontainerd", "2404gen2arm64containerd", "2404gen2containerd"},
		galleryLinux: {"V2", "V2fips", "V2gen2", "V2gen2TL", "V2gen2arm64", "V2gen2fips", "V3", "V3fips", "V3gen2", "V3gen2TL", "V3gen2arm64", "V3gen2arm64fips", "V3gen2fips"},
	}
}

// releases is what every image starts with; knobs add newer ones.
func releases() []ImageVersion {
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 9, 0, 0, 0, time.UTC) }
	return []ImageVersion{
		{Version: "202606.19.0", Published: day(2026, 6, 23)},
		{Version: "202607.20.0", Published: day(2026, 7, 24)},
		{Version: "202608.12.0", Published: day(2026, 8, 17)},
	}
}

// findImage gives gallery and definition in their own case.
func findImage(gallery, image string) (string, string, bool) {
	for g, images := range galleries() {
		if !strings.EqualFold(g, gallery) {
			continue
		}
		for _, i := range images {
			if strings.EqualFold(i, image) {
				return g, i, true
			}
		}
	}
	return "", "", false
}

// versionsOf lists the versions of an image, by version. The caller holds mu.
func (c *Cloud) versionsOf(gallery, image string) []ImageVersion {
	list := releases()
	for _, v := range c.knobs.Images {
		if strings.EqualFold(v.Gallery, gallery) && (v.Image == "*" || strings.EqualFold(v.Image, image)) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b ImageVersion) int { return strings.Compare(a.Version, b.Version) })
	return list
}

func galleryNotFound(q *call) *apiError {
	return refuse(http.StatusNotFound, "GalleryImageNotFound", "The gallery image /CommunityGalleries/%s/Images/%s is not available in %s region. Please contact image owner to replicate to this region, or change your requested region.",
		q.vars["gallery"], q.vars["image"], q.vars["location"])
}

// galleryImage is Community Gallery Images - Get.
func (c *Cloud) galleryImage(q *call) (*reply, *apiError) {
	g, i, known := findImage(q.vars["gallery"], q.vars["image"])
	if !known {
		return nil, galleryNotFound(q)
	}
	gen, arch := imageShape(i)
	return ok(object{"name": i, "location": q.vars["location"], "type": "Microsoft.Compute/locations/communityGalleries/images",
		"identifier": object{"uniqueId": "/CommunityGalleries/" + g + "/Images/" + i},
		"properties": object{"osType": "Linux", "osState": "Generalized", "hyperVGeneration": gen, "architecture": arch}})
}

// imageShape is what a definition boots on; its name says it.
func imageShape(image string) (generation, arch string) {
	generation, arch = "V1", "x64"
	if strings.Contains(image, "gen2") {
		generation = "V2"
	}
	if strings.Contains(image, "arm64") {
		arch = "Arm64"
	}
	return generation, arch
}

// galleryVersions is Community Gallery Image Versions - List.
func (c *Cloud) galleryVersions(q *call) (*reply, *apiError) {
	g, i, known := findImage(q.vars["gallery"], q.vars["image"])
	if !known {
		return nil, galleryNotFound(q)
	}
	list := []any{}
	for _, v := range c.versionsOf(g, i) {
		list = append(list, object{"name": v.Version, "location": q.vars["location"], "type": "Microsoft.Compute/locations/communityGalleries/images/versions",
			"identifier": object{"uniqueId": "/CommunityGalleries/" + g + "/Images/" + i + "/Versions/" + v.Version},
			"properties": object{"publishedDate": stamp(v.Published), "endOfLifeDate": stamp(v.Published.AddDate(1, 0, 0)), "excludeFromLatest": false}})
	}
	return ok(object{"value": list})
}

// nodeImageVersions is Node Image Versions - List of Microsoft.ContainerService: the latest of each image.
func (c *Cloud) nodeImageVersions(*call) (*reply, *apiError) {
	list := []any{}
	all := galleries()
	for _, g := range sortedKeys(all) {
		os, _, _ := strings.Cut(g, "-")
		for _, i := range all[g] {
			v := c.versionsOf(g, i)
			latest := v[len(v)-1].Version
			list = append(list, object{"fullName": os + "-" + i + "-" + latest, "os": os, "sku": i, "version": latest})
		}
	}
	return ok(object{"values": list, "value": list})
}

// checkImage: the image must exist and must boot on the size (documentation "Support for Generation 2 VMs on Azure").
func (c *Cloud) checkImage(q *call, p *vmPlan) *apiError {
	ref := digObject(q.body, "properties", "storageProfile", "imageReference")
	id := digString(ref, "communityGalleryImageId")
	if id == "" {
		id = digString(ref, "id")
	}
	p.image = id
	// /CommunityGalleries/<g>/images/<i>/versions/<v>, or …/galleries/<g>/images/<i>/versions/<v> of a shared gallery.
	parts := strings.Split(strings.Trim(id, "/"), "/")
	n := len(parts)
	if n < 6 || !strings.EqualFold(parts[n-4], "images") || !strings.EqualFold(parts[n-2], "versions") {
		return invalid("imageReference", "Required parameter 'imageReference' is missing or is not the id of a gallery image version: '%s'.", id)
	}
	gallery, image := parts[n-5], parts[n-3]
	if shared := map[string]string{"aksubuntu": galleryUbuntu, "aksazurelinux": galleryLinux}[strings.ToLower(gallery)]; shared != "" {
		gallery = shared
	}
	_, image, known := findImage(gallery, image)
	known = known && slices.ContainsFunc(c.versionsOf(gallery, image), func(v ImageVersion) bool { return strings.EqualFold(v.Version, parts[n-1]) })
	if !known {
		return refuse(http.StatusNotFound, "GalleryImageNotFound", "The gallery image %s is not available in %s region. Please contact image owner to replicate to this region, or change your requested region.", id, c.cfg.Location)
	}
	gen, arch := imageShape(image)
	s := p.offer.Size
	if gen == "V1" && !s.Gen1 || gen == "V2" && !s.Gen2 {
		return refuse(http.StatusBadRequest, "BadRequest", "The selected VM size '%s' cannot boot Hypervisor Generation '%s'. If this was a Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size. If this was an Update operation please select a Hypervisor Generation '%s' VM Size.", s.Name, gen[1:], gen[1:])
	}
	if (arch == "Arm64") != (s.Arch == "arm64") {
		return refuse(http.StatusBadRequest, "BadRequest", "Cannot create a VM of size '%s' because this VM size only supports a CPU Architecture of '%s', but an image or disk with CPU Architecture '%s' was given. Please check that the CPU Architecture of the image or disk is compatible with that of the VM size.",
			s.Name, map[bool]string{true: "Arm64", false: "x64"}[s.Arch == "arm64"], arch)
	}
	return c.checkSecurity(q, p, image)
}
