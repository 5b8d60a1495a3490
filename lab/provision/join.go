package provision

import (
	"context"
	"crypto/x509"
	"net"
	"slices"
	"strconv"
	"strings"
)

// joinVariables: the scripts themselves, the cluster, and Kubernetes' binaries.
func joinVariables() []Variable {
	out := []Variable{
		{"API_SERVER_NAME", Host, "always", "the address becomes https://:443, and the check of it fails: exit 51", inMain},
		{"KUBE_CA_CRT", Base64, "always", "an empty file, with which nobody can be trusted: exit 51", inConfig},
		{"TLS_BOOTSTRAP_TOKEN", Line, "unless a client certificate is sent", "a kubeconfig for a client certificate that is not there: no node", inConfig},
		{"KUBERNETES_VERSION", Version, "always", "no kubelet is found: exit 0 and no node", inConfig},
		{"CSE_HELPERS_FILEPATH", Path, "always", "the script waits for it for two minutes: exit 6", inMain},
		{"IS_VHD", Flag, "", "the image's own marker decides", inMain},
		{"CSE_TIMEOUT", Text, "on images of early 2026", "15m", inStart},
		{"CSE_MAX_DURATION_SECONDS", Number, "", "780", inHelpers},
		{"KUBE_BINARY_URL", Address, "Kubernetes before 1.34, and Azure Linux 2", "no kubelet: exit 0 and no node", inInstall},
		{"PRE_PROVISION_ONLY", Flag, "", "the machine joins", inMain},
		{"SKIP_WAAGENT_HOLD", Flag, "", "packages of the agent are held", inMain},
		{"OUTBOUND_COMMAND", Line, "", "nobody checks the way out", inMain},
		{"APISERVER_PUBLIC_KEY", Base64, "", "the file is not written", inConfig},
		{"ADMINUSER", Text, "", "its password is not kept from expiring", inConfig},
		{"PROVISION_OUTPUT", Text, "", "messages name no file", inMain},
		{"CLI_TOOL", Text, "", "ctr", inHelpers},
	}
	script := Variable{Format: Path, Needed: "always", Unset: "functions are missing: exit 0 and no node, or exit 204", Reader: inMain}
	out = append(out, like(script, "CSE_DISTRO_HELPERS_FILEPATH CSE_INSTALL_FILEPATH CSE_DISTRO_INSTALL_FILEPATH CSE_CONFIG_FILEPATH")...)
	part := Variable{Format: Path, Unset: "images that are split have a default", Reader: inMain}
	out = append(out, like(part, "CSE_CONFIG_GPU_FILEPATH CSE_CONFIG_LOCALDNS_FILEPATH CSE_CONFIG_KUBELET_FILEPATH CSE_CONFIG_NETWORK_FILEPATH CSE_CONFIG_ADDONS_FILEPATH")...)
	binary := Variable{Format: Address, Unset: "the image's own", Reader: inInstall}
	return append(out, like(binary, "CUSTOM_KUBE_BINARY_URL CUSTOM_KUBE_BINARY_DOWNLOAD_URL PRIVATE_KUBE_BINARY_URL PRIVATE_KUBE_BINARY_DOWNLOAD_URL CONTAINERD_PACKAGE_URL RUNC_PACKAGE_URL")...)
}

const scripts = "/opt/azure/containers/"

// sourceScripts reads in the five scripts. Only the helpers are waited for; a path that names none of the others leaves its
// functions missing, which bash takes as a failed command, and no step looks at that.
func (b *boot) sourceScripts(context.Context) *stop {
	if v := b.get("CSE_HELPERS_FILEPATH"); v != scripts+"provision_source.sh" {
		return exit(exitFile, "CSE_HELPERS_FILEPATH: there is no script %q on this image", v)
	}
	for _, name := range []string{"DISTRO_HELPERS:provision_source_distro.sh", "INSTALL:provision_installs.sh", "CONFIG:provision_configs.sh"} {
		what, file, _ := strings.Cut(name, ":")
		if v := b.get("CSE_" + what + "_FILEPATH"); v != scripts+file {
			b.out.NoKubelet = "CSE_" + what + "_FILEPATH: there is no script " + strconv.Quote(v) + " on this image, so functions are missing, and nothing installs or starts the kubelet"
		}
	}
	return nil
}

// minor is the second number of KUBERNETES_VERSION as the scripts compare it; what is no version counts as 0.0.0.
func (b *boot) minor() int {
	m := versionForm.FindStringSubmatch(b.get("KUBERNETES_VERSION"))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // four digits
	return n
}

// installKubelet finds the kubelet: from a URL before 1.34 and on Azure Linux 2, from packages of exactly that version
// otherwise (configureKubeletAndKubectl).
func (b *boot) installKubelet(context.Context) *stop {
	version, url := b.get("KUBERNETES_VERSION"), b.get("KUBE_BINARY_URL")
	if b.out.NoKubelet != "" && !b.on("PRE_PROVISION_ONLY") {
		return nil
	}
	if b.minor() >= 34 && !b.image.azure2 {
		if v := b.get("CSE_DISTRO_INSTALL_FILEPATH"); v != scripts+"provision_installs_distro.sh" {
			return exit(exitInstall, "CSE_DISTRO_INSTALL_FILEPATH: there is no script %q on this image, which would install Kubernetes' packages", v)
		}
		b.binary, b.out.Version = true, "v"+version
		return nil
	}
	switch arch := map[bool]string{true: "arm64", false: "amd64"}[b.image.arm64]; {
	case url == "":
		b.out.NoKubelet = "Kubernetes " + strconv.Quote(version) + " comes from KUBE_BINARY_URL, which is empty: no kubelet is on the machine, and its unit is passed over"
	case !slices.Contains([]string{"acs-mirror.azureedge.net", "packages.aks.azure.com"}, hostOf(url)):
		return exit(exitKubeBinary, "KUBE_BINARY_URL: %q is on no server of AKS' binaries", url)
	case !strings.HasSuffix(url, "/kubernetes/v"+version+"/binaries/kubernetes-node-linux-"+arch+".tar.gz"):
		return exit(exitKubeBinary, "KUBE_BINARY_URL: %q is not Kubernetes %s for %s", url, version, arch)
	default:
		b.binary, b.out.Version = true, "v"+version
	}
	return nil
}

func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// clusterCA writes the CA. Nobody looks whether it could be decoded (ensureKubeCACert).
func (b *boot) clusterCA(context.Context) *stop {
	ca, ok := decode(b.get("KUBE_CA_CRT"))
	if !ok {
		b.say("KUBE_CA_CRT could not be decoded to its end, which nobody looks at")
	}
	b.write(caFile, 0o600, ca)
	if v := b.get("APISERVER_PUBLIC_KEY"); v != "" {
		cert, _ := decode(v)
		b.write("/etc/kubernetes/certs/apiserver.crt", 0o644, cert)
	}
	return nil
}

const caFile = "/etc/kubernetes/certs/ca.crt"

// outbound runs OUTBOUND_COMMAND. Its words are expanded without quotes: quotes and operators in it are words like others.
func (b *boot) outbound(context.Context) *stop {
	words := strings.Fields(b.get("OUTBOUND_COMMAND"))
	if len(words) == 0 {
		b.write("/var/run/outbound-check-skipped", 0o644, "")
		return nil
	}
	if words[0] != "curl" && words[0] != "nc" {
		return exit(exitOutbound, "OUTBOUND_COMMAND: there is no %q on this image", words[0])
	}
	for _, w := range words[1:] {
		if strings.ContainsAny(w, "\"'|&;<>`$\\") {
			return exit(exitOutbound, "OUTBOUND_COMMAND: %q reaches %s as it is: quotes and operators mean nothing there", w, words[0])
		}
	}
	return nil
}

// checkServer asks the API server for anything at all. By name it must be found, and must prove itself to the CA; by
// address it must only be there.
func (b *boot) checkServer(ctx context.Context) *stop {
	name := b.get("API_SERVER_NAME")
	if ip := net.ParseIP(name); ip != nil && ip.To4() != nil {
		if err := b.net.Dial(ctx, name); err != nil {
			return b.late(ctx, exit(exitConnect, "API_SERVER_NAME: %v", err))
		}
		return nil
	}
	if name == "" {
		return exit(exitConnect, "API_SERVER_NAME is empty: there is no server at https://:443")
	}
	if !b.on("ENABLE_HOSTS_CONFIG_AGENT") {
		if err := Host.check(name); err != nil {
			return exit(exitLookup, "API_SERVER_NAME: %v", err)
		}
		if err := b.net.Lookup(ctx, name); err != nil {
			return b.late(ctx, exit(exitLookup, "API_SERVER_NAME: %v", err))
		}
	}
	ca := b.out.Files[caFile].Content
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		return exit(exitConnect, "KUBE_CA_CRT: no certificate in it, so no API server can be trusted")
	}
	if err := b.net.Greet(ctx, name, []byte(ca)); err != nil {
		return b.late(ctx, exit(exitConnect, "%v", err))
	}
	return nil
}

// late is the end of a step that asked the network: the time limit's, when that is over before the scripts' own.
func (b *boot) late(ctx context.Context, end *stop) *stop {
	limit, _ := b.limit()
	if ctx.Err() != nil && limit < scriptLimit {
		return exit(exitTimeout, "CSE_TIMEOUT is over: %s", end.why)
	}
	return end
}
