package kubelet

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// contract names the variables the AKS image's entry point reads and this image acts on. The names are those that
// AgentBaker, the AKS node bootstrapper, publishes; a real script exports many more, which change nothing here.
var contract = []string{"API_SERVER_NAME", "KUBE_CA_CRT", "TLS_BOOTSTRAP_TOKEN", "KUBELET_FLAGS", "KUBELET_NODE_LABELS",
	"KUBERNETES_VERSION", "NETWORK_PLUGIN"}

// bootSpec is what the custom data asks of the machine.
type bootSpec struct {
	server  string // host name of the API server; the port is 443
	ca      []byte // PEM
	token   string // "id.secret": a secret, never logged
	labels  map[string]string
	version string // "v1.37.1"
	network string
	settings
}

// readCustomData turns custom data into what to do, or into everything that is wrong with it, sorted by variable.
func readCustomData(script []byte) (bootSpec, []error) {
	env, err := environment(script)
	if err != nil {
		return bootSpec{}, []error{err}
	}
	var errs []error
	get := func(name string, check func(string) error) {
		v, ok := env[name]
		if !ok {
			errs = append(errs, fmt.Errorf("%s is not set", name))
		} else if err := check(v); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	var b bootSpec
	minor := 0
	get("API_SERVER_NAME", b.readServer)
	get("KUBE_CA_CRT", b.readCA)
	get("TLS_BOOTSTRAP_TOKEN", b.readToken)
	get("KUBERNETES_VERSION", func(v string) (err error) { minor, err = b.readVersion(v); return err })
	get("NETWORK_PLUGIN", b.readNetwork)
	get("KUBELET_NODE_LABELS", func(v string) (err error) { b.labels, err = parseLabels(v); return err })
	get("KUBELET_FLAGS", func(v string) error {
		f, bad := parseFlags(v, minor)
		errs = append(errs, bad...)
		b.settings, bad = f.settings()
		errs = append(errs, bad...)
		return nil
	})
	if len(errs) > 0 {
		return bootSpec{}, errs
	}
	maps.Copy(b.labels, b.extraLabels)
	return b, nil
}

func (b *bootSpec) readServer(v string) error {
	if net.ParseIP(v) == nil && len(validation.IsDNS1123Subdomain(v)) > 0 {
		return fmt.Errorf("%q is no host name: no scheme, no port, no path", v)
	}
	b.server = v
	return nil
}

func (b *bootSpec) readCA(v string) error {
	pem, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		return fmt.Errorf("not base64: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("no certificate in it")
	}
	b.ca = pem
	return nil
}

func (b *bootSpec) readToken(v string) error {
	if !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(v) {
		return fmt.Errorf("not of the form of a bootstrap token, six letters or digits, a dot, sixteen of them")
	}
	b.token = v
	return nil
}

func (b *bootSpec) readVersion(v string) (minor int, err error) {
	m := regexp.MustCompile(`^1\.(\d{1,4})\.\d{1,4}$`).FindStringSubmatch(v)
	if m == nil {
		return 0, fmt.Errorf("%q is no version such as 1.37.1", v)
	}
	b.version = "v" + v
	return strconv.Atoi(m[1])
}

func (b *bootSpec) readNetwork(v string) error {
	if v != "none" && v != "azure" && v != "kubenet" {
		return fmt.Errorf("%q is none of none, azure, kubenet", v)
	}
	b.network = v
	return nil
}

// describe is one line for the boot log, without secrets.
func (b bootSpec) describe() string {
	var taints []string
	for _, t := range b.taints {
		taints = append(taints, t.ToString())
	}
	return fmt.Sprintf("kubelet %s for https://%s:443, network plugin %s, labels [%s], taints [%s]", b.version, b.server,
		b.network, labelLine(b.labels), strings.Join(taints, ","))
}
