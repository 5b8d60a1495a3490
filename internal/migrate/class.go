package migrate

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of an AKSNodeClass (api/azure/v1beta1).
const (
	leastDisk, mostDisk = 30, 2048
	leastPods, mostPods = 10, 250
)

// imageFamily is the AKSNodeClass's word for an OS SKU; "" when it has none.
func imageFamily(s *settings) string {
	switch strings.ToLower(s.text("osSKU")) {
	case "", "ubuntu":
		return "Ubuntu"
	case "ubuntu2204":
		return "Ubuntu2204"
	case "ubuntu2404":
		return "Ubuntu2404"
	case "azurelinux", "azurelinux3", "cblmariner", "mariner":
		return "AzureLinux"
	}
	return ""
}

// class says how the machines of an agent pool are built.
func (w *writer) class(s *settings) object {
	var c object
	family := imageFamily(s)
	if os := s.text("osSKU"); os != "" && !strings.EqualFold(os, family) {
		w.note("osSKU "+os, "it is called %s here", family)
	}
	fips := s.is("enableFIPS", "true")
	vtpm, boot := w.launch(s)
	if fips && (family == "Ubuntu2404" || family == "Ubuntu2204" && len(vtpm)+len(boot) == 0) {
		w.note("enableFIPS true", "there is no such image of %s, so it became Ubuntu", family)
		family = "Ubuntu"
	}
	c.put("imageFamily", family)
	if fips {
		c.put("fipsMode", "FIPS")
	}
	c.put("vnetSubnetID", s.text("vnetSubnetID"))
	if n, ok := w.within(s, "osDiskSizeGB", leastDisk, mostDisk); ok {
		c.put("osDiskSizeGB", n)
	}
	if n, ok := w.within(s, "maxPods", leastPods, mostPods); ok {
		c.put("maxPods", n)
	}
	c.put("tags", w.tags(s))
	linux, swap := w.linux(s.sub("linuxOSConfig"))
	c.put("kubelet", w.kubelet(s.sub("kubeletConfig"), swap))
	var security object
	if s.is("enableEncryptionAtHost", "true") {
		security.put("encryptionAtHost", true)
	}
	security.put("trustedLaunch", append(vtpm, boot...))
	c.put("security", security)
	c.put("gpu", w.gpu(s.sub("gpuProfile")))
	if streaming := s.sub("artifactStreamingProfile"); streaming.is("enabled", "true") {
		c.put("artifactStreaming", object{{"enabled", true}})
		w.note("artifactStreamingProfile", "the controller takes it and does not act on it yet")
	}
	c.put("linuxOSConfig", linux)
	return c
}

// within is a number that the class takes within bounds; ok is false when there is none.
func (w *writer) within(s *settings, name string, least, most int64) (int64, bool) {
	n := s.number(name)
	if n == 0 {
		return 0, false
	}
	if fits := min(max(n, least), most); fits != n {
		w.note(fmt.Sprintf("%s %d", name, n), "an AKSNodeClass takes %d to %d, so it became %d",
			least, most, fits)
		n = fits
	}
	return n, true
}

// launch are the settings that protect the boot chain.
func (w *writer) launch(s *settings) (vtpm, boot object) {
	sec := s.sub("securityProfile")
	if sec.is("enableVTPM", "true") {
		vtpm.put("vtpm", true)
	}
	if sec.is("enableSecureBoot", "true") {
		boot.put("secureBoot", true)
	}
	if ssh := sec.text("sshAccess"); ssh != "" && !strings.EqualFold(ssh, "LocalUser") {
		w.note("securityProfile.sshAccess "+ssh, "the controller's own key may log in to machines "+
			"(settings.azure.sshPublicKey)")
	}
	w.rest(sec, "securityProfile.")
	return vtpm, boot
}

// tags are put on machines as they are, as far as Azure's rules for their keys are the class's.
func (w *writer) tags(s *settings) object {
	tags := s.texts("tags")
	for _, f := range sorted(tags) {
		if strings.ContainsAny(f.name, `<>%&?\`) || len(f.name) > 512 || len(tags[f.name]) > 256 {
			delete(tags, f.name)
			w.note("tags "+f.name, "an AKSNodeClass takes no such tag")
		}
	}
	return sorted(tags)
}

// gpu says who installs the driver.
func (w *writer) gpu(s *settings) object {
	defer w.rest(s, "gpuProfile.")
	switch driver := s.text("driver"); strings.ToLower(driver) {
	case "", "install":
		return nil
	case "none":
		return object{{"mode", "None"}}
	default:
		w.note("gpuProfile.driver "+driver, "the AKSNodeClass installs the vendor's driver")
		return nil
	}
}

// setting is a field of ours with what it is called in Azure's API.
type setting struct{ theirs, ours string }

// kubelet are the kubelet's settings. Swap needs a kubelet that starts beside it.
func (w *writer) kubelet(s *settings, swap bool) object {
	var o object
	for _, f := range []setting{{"cpuManagerPolicy", ""}, {"topologyManagerPolicy", ""},
		{"cpuCfsQuotaPeriod", "cpuCFSQuotaPeriod"}} {
		name := f.ours
		if name == "" {
			name = f.theirs
		}
		o.put(name, s.text(f.theirs))
	}
	for _, f := range []setting{{"cpuCfsQuota", "cpuCFSQuota"}, {"failSwapOn", "failSwapOn"}} {
		if v := s.text(f.theirs); v != "" && (f.theirs != "failSwapOn" || !swap) {
			o.put(f.ours, v == "true")
		}
	}
	if swap {
		s.get("failSwapOn")
		o.put("failSwapOn", false)
	}
	for _, f := range []setting{{"imageGcHighThreshold", "imageGCHighThresholdPercent"},
		{"imageGcLowThreshold", "imageGCLowThresholdPercent"}, {"podMaxPids", "podPidsLimit"},
		{"containerLogMaxFiles", "containerLogMaxFiles"}} {
		if s.has(f.theirs) {
			o.put(f.ours, s.number(f.theirs))
		}
	}
	if n := s.number("containerLogMaxSizeMB"); n > 0 {
		o.put("containerLogMaxSize", fmt.Sprintf("%dMi", n))
	}
	var sysctls []any
	for _, x := range s.list("allowedUnsafeSysctls") {
		sysctls = append(sysctls, x)
	}
	o.put("allowedUnsafeSysctls", sysctls)
	w.rest(s, "kubeletConfig.")
	return o
}

// linux are settings of the operating system, and whether swap is among them.
func (w *writer) linux(s *settings) (o object, swap bool) {
	if n := s.number("swapFileSizeMB"); n > 0 {
		o.put("swapFileSize", fmt.Sprintf("%dMi", n))
		swap = true
	}
	sub := s.sub("sysctls")
	var sysctls object
	for _, name := range sysctlNames() {
		switch v := sub.get(name).(type) {
		case nil:
		case bool:
			sysctls.put(name, v)
		case float64:
			sysctls.put(name, int64(v))
		case string:
			sysctls.put(name, strings.Join(strings.Fields(v), " "))
		}
	}
	o.put("sysctls", sysctls)
	o.put("transparentHugePageDefrag", s.text("transparentHugePageDefrag"))
	o.put("transparentHugePageEnabled", s.text("transparentHugePageEnabled"))
	if len(o) > 0 {
		w.note("linuxOSConfig", "the controller takes it and does not act on it yet")
	}
	w.rest(sub, "linuxOSConfig.sysctls.")
	w.rest(s, "linuxOSConfig.")
	return o, swap
}

// sysctlNames are the kernel settings of an AKSNodeClass; Azure's API has the same, in other case.
func sysctlNames() []string {
	return slices.Clone([]string{"fsAioMaxNr", "fsFileMax", "fsInotifyMaxUserWatches", "fsNrOpen",
		"kernelThreadsMax", "netCoreNetdevMaxBacklog", "netCoreOptmemMax", "netCoreRmemDefault",
		"netCoreRmemMax", "netCoreSomaxconn", "netCoreWmemDefault", "netCoreWmemMax",
		"netIPv4IPLocalPortRange", "netIPv4NeighDefaultGcThresh1", "netIPv4NeighDefaultGcThresh2",
		"netIPv4NeighDefaultGcThresh3", "netIPv4TCPFinTimeout", "netIPv4TCPKeepaliveIntvl",
		"netIPv4TCPKeepaliveProbes", "netIPv4TCPKeepaliveTime", "netIPv4TCPMaxSynBacklog",
		"netIPv4TCPMaxTwBuckets", "netIPv4TCPTwReuse", "netNetfilterNfConntrackBuckets",
		"netNetfilterNfConntrackMax", "vmMaxMapCount", "vmSwappiness", "vmVfsCachePressure"})
}
