package provision

import (
	"context"
	"fmt"
	"strconv"
)

// proxyVariables: proxies, authorities to trust, and other clouds.
func proxyVariables() []Variable {
	out := []Variable{
		{"SHOULD_CONFIGURE_HTTP_PROXY", Flag, "", "no proxy", inMain},
		{"HTTP_PROXY_URLS", Line, "", "none", inConfig},
		{"HTTPS_PROXY_URLS", Line, "", "none", inConfig},
		{"NO_PROXY_URLS", Line, "", "none", inConfig},
		{"PROXY_VARS", Text, "", "the checks go out directly", inMain},
		{"SHOULD_CONFIGURE_HTTP_PROXY_CA", Flag, "", "none", inMain},
		{"HTTP_PROXY_TRUSTED_CA", Base64, "with SHOULD_CONFIGURE_HTTP_PROXY_CA", "an empty certificate: exit 161", inConfig},
		{"SHOULD_CONFIGURE_CUSTOM_CA_TRUST", Flag, "", "none", inMain},
		{"CUSTOM_CA_TRUST_COUNT", Number, "", "none", inConfig},
	}
	cloud := Variable{Format: Text, Needed: "in other clouds", Unset: "the public cloud", Reader: inConfig}
	out = append(out, Variable{"IS_CUSTOM_CLOUD", Flag, "in other clouds", "the public cloud", inConfig})
	return append(out, like(cloud, "CUSTOM_ENV_JSON AKS_CUSTOM_CLOUD_CONTAINER_REGISTRY_DNS_SUFFIX ARM_RESOURCE_ENDPOINT INIT_AKS_CLOUD_FILEPATH REPO_DEPOT_ENDPOINT")...)
}

// proxy sets the machine's proxy, and the authority that signs what comes through it. The authority is read only with it.
func (b *boot) proxy(context.Context) *stop {
	if !b.on("SHOULD_CONFIGURE_HTTP_PROXY") {
		return nil
	}
	if b.on("SHOULD_CONFIGURE_HTTP_PROXY_CA") {
		ca, ok := decode(b.get("HTTP_PROXY_TRUSTED_CA"))
		if !ok {
			return exit(exitTrust, "HTTP_PROXY_TRUSTED_CA is no base64")
		}
		b.write("/usr/local/share/ca-certificates/proxyCA.crt", 0o644, ca)
	}
	text := ""
	for _, p := range []struct{ upper, lower, name string }{{"HTTP_PROXY", "http_proxy", "HTTP_PROXY_URLS"}, {"HTTPS_PROXY", "https_proxy", "HTTPS_PROXY_URLS"}, {"NO_PROXY", "no_proxy", "NO_PROXY_URLS"}} {
		if v := b.get(p.name); v != "" {
			text += fmt.Sprintf("%s=%s\n%s=%s\n", p.upper, v, p.lower, v)
		}
	}
	b.write("/etc/environment", 0o644, text)
	if b.get("PROXY_VARS") == "" {
		b.warn("SHOULD_CONFIGURE_HTTP_PROXY is true and PROXY_VARS is empty: the checks of this boot go out directly")
	}
	return nil
}

// maxTrusted bounds the authorities that are read: custom data has no room for more.
const maxTrusted = 100

// trust installs the authorities that the cluster's owner added.
func (b *boot) trust(context.Context) *stop {
	if !b.on("SHOULD_CONFIGURE_CUSTOM_CA_TRUST") {
		return nil
	}
	n, err := strconv.Atoi(b.or("CUSTOM_CA_TRUST_COUNT", "0"))
	if err != nil || n > maxTrusted {
		return exit(exitTrust, "CUSTOM_CA_TRUST_COUNT: %q is no count", b.get("CUSTOM_CA_TRUST_COUNT"))
	}
	for i := range n {
		ca, _ := decode(b.env["CUSTOM_CA_CERT_"+strconv.Itoa(i)])
		b.write(fmt.Sprintf("/opt/certs/00000000000000cert%d.crt", i), 0o644, ca)
	}
	b.started("update_certs")
	return nil
}
