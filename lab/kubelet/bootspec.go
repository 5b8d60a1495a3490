package kubelet

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/provision"
)

// bootSpec is what a kubelet makes of its command line and its files.
type bootSpec struct {
	server   string // host name of the API server
	port     string
	ca       []byte // PEM
	token    string // "id.secret": a secret, never logged
	version  string // "v1.37.1"
	notReady string // why the node will never be ready; "" for nothing
	settings
}

// Start decides whether a kubelet starts on a provisioned machine, with the command line and the files that are there. The
// answer is every reason why it exits at once; systemd starts it again every two seconds, and it exits again.
func Start(out provision.Outcome, m lab.Machine) []error {
	_, errs := readKubelet(out, m)
	return errs
}

// readKubelet reads what provisioning left for the kubelet.
func readKubelet(out provision.Outcome, m lab.Machine) (bootSpec, []error) {
	b := bootSpec{version: out.Version, notReady: out.NotReady}
	f, errs := parseFlags(out.Kubelet, minorOf(out.Version))
	var bad []error
	b.settings, bad = f.settings()
	errs = append(errs, bad...)
	errs = append(errs, b.reservation(m)...)
	errs = append(errs, f.needs(out)...)
	if err := b.readKubeconfig(f, out); err != nil {
		errs = append(errs, err)
	}
	return b, errs
}

// minorOf is the second number of a version, 0 when it is none.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1]) // 0 when it is none
	return n
}

// needs checks the files and settings of the machine that flags name.
func (f flags) needs(out provision.Outcome) []error {
	var errs []error
	for _, name := range []string{"client-ca-file", "tls-cert-file", "tls-private-key-file", "image-credential-provider-config", "config"} {
		if path := f[name]; path != "" && out.Files[path].Content == "" {
			errs = append(errs, fmt.Errorf("--%s=%s: no such file, or an empty one", name, path))
		}
	}
	if ca := f["client-ca-file"]; ca != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(out.Files[ca].Content)) {
		errs = append(errs, fmt.Errorf("--client-ca-file=%s: no certificate in it", ca))
	}
	if f["image-credential-provider-config"] != "" && f["image-credential-provider-bin-dir"] == "" || f["image-credential-provider-config"] == "" && f["image-credential-provider-bin-dir"] != "" {
		errs = append(errs, fmt.Errorf("--image-credential-provider-config and --image-credential-provider-bin-dir go together"))
	}
	if dir := f["image-credential-provider-bin-dir"]; dir != "" {
		if _, ok := out.Files[strings.TrimSuffix(dir, "/")+"/acr-credential-provider"]; !ok {
			errs = append(errs, fmt.Errorf("--image-credential-provider-bin-dir=%s: there is no acr-credential-provider in it", dir))
		}
	}
	if e := f["container-runtime-endpoint"]; e != "unix:///run/containerd/containerd.sock" {
		errs = append(errs, fmt.Errorf("--container-runtime-endpoint=%s: containerd is not there", e))
	}
	if f.bool("protect-kernel-defaults", false) {
		for _, want := range []string{"vm.overcommit_memory=1", "kernel.panic=10", "kernel.panic_on_oops=1"} {
			key, value, _ := strings.Cut(want, "=")
			if got := out.Sysctl(key); got != value {
				errs = append(errs, fmt.Errorf("--protect-kernel-defaults: %s is %s and must be %s", key, got, value))
			}
		}
	}
	if _, swap := out.Files["/swapfile"]; swap && f.bool("fail-swap-on", true) {
		errs = append(errs, fmt.Errorf("--fail-swap-on: the machine has swap"))
	}
	return errs
}

// reservation refuses what does not fit on the machine: the kubelet exits when it reserves more than there is.
func (b *bootSpec) reservation(m lab.Machine) []error {
	have := capacity(m, b.maxPods)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		var sum = b.kubeReserved[name].DeepCopy()
		sum.Add(b.systemReserved[name])
		if all := have[name]; all.Sign() > 0 && sum.Cmp(all) > 0 {
			return []error{fmt.Errorf("reserved %s is %s, and the machine has %s", name, sum.String(), all.String())}
		}
	}
	return nil
}

// readKubeconfig finds out whom to join, and with what. A kubelet without --kubeconfig joins nobody.
func (b *bootSpec) readKubeconfig(f flags, out provision.Outcome) error {
	path := f["kubeconfig"]
	if path == "" {
		return fmt.Errorf("no --kubeconfig: the kubelet runs for itself and joins nobody")
	}
	if _, there := out.Files[path]; !there {
		path = f["bootstrap-kubeconfig"]
	}
	file, there := out.Files[path]
	if !there {
		return fmt.Errorf("--kubeconfig=%s, --bootstrap-kubeconfig=%s: there is neither", f["kubeconfig"], f["bootstrap-kubeconfig"])
	}
	var c clientcmdv1.Config
	if err := yaml.UnmarshalStrict([]byte(file.Content), &c); err != nil {
		return fmt.Errorf("%s: not readable as a kubeconfig", path) // the error would show what is in it
	}
	if len(c.Clusters) != 1 || len(c.AuthInfos) != 1 {
		return fmt.Errorf("%s: not one cluster and one user", path)
	}
	server, err := url.Parse(c.Clusters[0].Cluster.Server)
	if err != nil || server.Hostname() == "" {
		return fmt.Errorf("%s: %q is no server", path, c.Clusters[0].Cluster.Server)
	}
	b.server, b.port, b.token = server.Hostname(), server.Port(), c.AuthInfos[0].AuthInfo.Token
	b.ca = []byte(out.Files[c.Clusters[0].Cluster.CertificateAuthority].Content)
	if cert := c.AuthInfos[0].AuthInfo.ClientCertificate; b.token == "" && out.Files[cert].Content == "" {
		return fmt.Errorf("%s: there is no client certificate %s", path, cert)
	}
	return nil
}

// describe is one line for the boot log, without secrets.
func (b bootSpec) describe() string {
	var taints []string
	for _, t := range b.taints {
		taints = append(taints, t.ToString())
	}
	return fmt.Sprintf("kubelet %s for https://%s:%s, labels [%s], taints [%s]", b.version, b.server, b.port, labelLine(b.labels), strings.Join(taints, ","))
}
