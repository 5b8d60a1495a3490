package provision

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// localDNSVariables: the DNS cache on the node.
func localDNSVariables() []Variable {
	return []Variable{
		{"SHOULD_ENABLE_LOCALDNS", Flag, "", "no cache on the node", inMain},
		{"LOCALDNS_COREFILE_BASE", Base64, "with SHOULD_ENABLE_LOCALDNS", "the older name is tried; without both, exit 216", inConfig},
		{"LOCALDNS_GENERATED_COREFILE", Base64, "on older images, with SHOULD_ENABLE_LOCALDNS", "the newer name", inConfig},
		{"LOCALDNS_COREFILE_WITH_HOSTS", Base64, "", "the other file", inConfig},
		{"SHOULD_ENABLE_HOSTS_PLUGIN", Flag, "", "no hosts file", inMain},
		{"LOCALDNS_CRITICAL_FQDNS", Text, "with SHOULD_ENABLE_HOSTS_PLUGIN", "no hosts file", inConfig},
		{"LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS", Number, "", "the unit's own", inConfig},
		{"LOCALDNS_CPU_LIMIT", Text, "", "no limit", inConfig},
		{"LOCALDNS_MEMORY_LIMIT", Text, "", "no limit", inConfig},
	}
}

// localDNSPods is where pods reach the cache on their node.
const localDNSPods = "169.254.10.11"

// localDNS writes the cache's files and starts it (enableLocalDNS). The kubelet's --cluster-dns is the sender's to set.
func (b *boot) localDNS(context.Context) *stop {
	if !b.on("SHOULD_ENABLE_LOCALDNS") {
		return nil
	}
	encoded := b.or("LOCALDNS_COREFILE_BASE", b.get("LOCALDNS_GENERATED_COREFILE"))
	corefile, ok := decode(encoded)
	switch {
	case encoded == "":
		return exit(exitLocalDNS, "SHOULD_ENABLE_LOCALDNS is true, and LOCALDNS_COREFILE_BASE is empty")
	case !ok:
		return exit(exitLocalDNS, "LOCALDNS_COREFILE_BASE is no base64")
	case strings.Count(corefile, "{") != strings.Count(corefile, "}") || strings.TrimSpace(corefile) == "":
		return exit(exitLocalDNS, "LOCALDNS_COREFILE_BASE is no Corefile: its braces do not match")
	}
	b.write("/opt/azure/containers/localdns/localdns.corefile", 0o644, corefile)
	cpu, memory := b.get("LOCALDNS_CPU_LIMIT"), b.get("LOCALDNS_MEMORY_LIMIT")
	b.write("/etc/systemd/system/localdns.slice", 0o644, fmt.Sprintf("[Slice]\nMemoryMax=%s\nCPUQuota=%s\n", memory, cpu))
	if !regexp.MustCompile(`^[0-9]+(\.[0-9]+)?%$`).MatchString(cpu) {
		b.warn("LOCALDNS_CPU_LIMIT: systemd does not take %q", cpu)
	}
	if !regexp.MustCompile(`^[0-9]+[KMG]?$`).MatchString(memory) {
		b.warn("LOCALDNS_MEMORY_LIMIT: systemd does not take %q", memory)
	}
	b.hostsPlugin()
	b.addLabel("kubernetes.azure.com/localdns-exporter=enabled")
	b.started("localdns")
	if !strings.Contains(b.flags, "--cluster-dns="+localDNSPods) {
		b.warn("SHOULD_ENABLE_LOCALDNS is true, and --cluster-dns is not %s: pods do not ask the cache", localDNSPods)
	}
	return nil
}

// hostsPlugin keeps the addresses of critical names in a file.
func (b *boot) hostsPlugin() {
	if !b.on("SHOULD_ENABLE_HOSTS_PLUGIN") {
		return
	}
	if b.get("LOCALDNS_CRITICAL_FQDNS") == "" || b.get("LOCALDNS_COREFILE_WITH_HOSTS") == "" {
		b.warn("SHOULD_ENABLE_HOSTS_PLUGIN is true, and LOCALDNS_CRITICAL_FQDNS or LOCALDNS_COREFILE_WITH_HOSTS is empty: there is no hosts file")
		return
	}
	if n, err := strconv.Atoi(b.get("LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS")); err == nil {
		b.write("/etc/systemd/system/aks-localdns-hosts-setup.timer.d/10-refresh-interval.conf", 0o644, fmt.Sprintf("[Timer]\nOnUnitActiveSec=%ds\n", max(n, 5)))
	}
	b.started("aks-localdns-hosts-setup.timer")
}
