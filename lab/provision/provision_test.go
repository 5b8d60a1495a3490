package provision

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
)

// TestShell reads scripts: what the entry point finds in its environment, or why the script is refused.
func TestShell(t *testing.T) {
	datadriven.Walk(t, "testdata/shell", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := environment([]byte(d.Input + "\n"))
			if err != nil {
				return "refused: " + err.Error()
			}
			var out []string
			for _, k := range slices.Sorted(maps.Keys(c.env)) {
				out = append(out, k+"="+strconv.Quote(c.env[k]))
			}
			if len(c.unseen) > 0 {
				out = append(out, "not exported: "+strings.Join(c.unseen, " "))
			}
			return strings.Join(append(out, ""), "\n")
		})
	})
}

// TestSystemd reads environment files, and the words that come out of the unit's command line.
func TestSystemd(t *testing.T) {
	datadriven.Walk(t, "testdata/systemd", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			env, err := environmentFile(d.Input + "\n")
			if err != nil {
				return err.Error()
			}
			var out []string
			for _, k := range slices.Sorted(maps.Keys(env)) {
				out = append(out, k+"="+strconv.Quote(env[k]))
			}
			if d.Cmd == "unit" {
				for _, w := range commandLine([]string{"--v=2", "--node-labels=${LABELS}", "$FLAGS"}, env) {
					out = append(out, "  "+strconv.Quote(w))
				}
			}
			return strings.Join(append(out, ""), "\n")
		})
	})
}

// network is a network that knows one host.
type network struct{ host string }

func (n network) Lookup(_ context.Context, host string) error {
	if host != n.host {
		return errors.New("no such host: " + host)
	}
	return nil
}

func (n network) Greet(_ context.Context, host string, ca []byte) error {
	if !strings.Contains(string(ca), "CERTIFICATE") {
		return errors.New("not trusted")
	}
	return nil
}

func (n network) Dial(ctx context.Context, address string) error {
	<-ctx.Done()
	return errors.New("nobody at " + address)
}

func authority(t testing.TB) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func small() lab.Machine {
	return lab.Machine{Name: "n", Size: "Standard_D2s_v5", CPUs: 2, MemoryMiB: 8192, Arch: "amd64", OSDiskGB: 128, Address: "10.224.0.9",
		Image: "/CommunityGalleries/AKSUbuntu-1/images/2204gen2containerd/versions/202608.12.0"}
}

func boots(script []byte, m lab.Machine) Outcome {
	return Run(context.Background(), script, m, network{provisiontest.Host})
}

// TestUpstreamBoots runs what upstream's provider sends: everything is found, and nothing stands against it.
func TestUpstreamBoots(t *testing.T) {
	out := boots(provisiontest.Script(provisiontest.Upstream(authority(t))), small())
	if out.Refused != nil || out.ExitCode != 0 || out.NoKubelet != "" || out.NotReady != "" || len(out.Warnings) > 0 {
		t.Fatalf("exit %d, refused %v, failed %q, no kubelet %q, not ready %q, warnings %q", out.ExitCode, out.Refused, out.Failed, out.NoKubelet, out.NotReady, out.Warnings)
	}
	line := strings.Join(out.Kubelet, " ")
	for _, want := range []string{"--enable-server --node-labels=agentpool=x,", "--kubeconfig /var/lib/kubelet/kubeconfig --bootstrap-kubeconfig /var/lib/kubelet/bootstrap-kubeconfig",
		"--cgroup-driver=systemd --max-pods=250", "--node-ip=10.224.0.9"} {
		if !strings.Contains(line, want) {
			t.Errorf("the kubelet's command line has no %q: %s", want, line)
		}
	}
	if out.Version != "v"+provisiontest.Version || out.Sysctl("net.core.somaxconn") != "16384" || out.Sysctl("kernel.panic") != "10" {
		t.Errorf("version %q, somaxconn %q", out.Version, out.Sysctl("net.core.somaxconn"))
	}
	if c := out.Files["/etc/kubernetes/azure.json"]; !json.Valid([]byte(c.Content)) || c.Mode != 0o600 {
		t.Errorf("azure.json: %+v", c)
	}
	var said struct{ ExitCode string }
	if err := json.Unmarshal([]byte(out.Files["/var/log/azure/aks/provision.json"].Content), &said); err != nil || said.ExitCode != "0" {
		t.Errorf("provision.json: %+v: %v", said, err)
	}
	if log := strings.Join(out.Log, "\n"); strings.Contains(log, "0123456789abcdef") {
		t.Errorf("the log shows the token:\n%s", log)
	}
}

// gpuBase is what changes upstream's environment for an NVIDIA size.
func gpuBase(kind, version, sha string) map[string]string {
	return map[string]string{"GPU_NODE": "true", "CONFIG_GPU_DRIVER_IF_NEEDED": "true", "GPU_DRIVER_TYPE": kind, "GPU_DRIVER_VERSION": version, "GPU_IMAGE_SHA": sha,
		"CONTAINERD_CONFIG_CONTENT": base64.StdEncoding.EncodeToString([]byte(provisiontest.Containerd("nvidia-container-runtime")))}
}

const unset = "\x00" // in a change: the variable is not there

// TestBroken breaks one thing at a time. What follows is the scripts': an exit code, no kubelet, a node that is never ready,
// or a word of warning.
func TestBroken(t *testing.T) {
	const noKubelet, notReady, warns = -1, -2, -3
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	rotate := map[string]string{"ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION": "true"}
	for _, c := range []struct {
		size   string // with GPU changes when it is an NVIDIA size
		image  string
		change map[string]string
		ends   int
		says   string
	}{
		{change: map[string]string{"API_SERVER_NAME": unset}, ends: 51, says: "API_SERVER_NAME is empty"},
		{change: map[string]string{"API_SERVER_NAME": "https://" + provisiontest.Host}, ends: 52, says: "no scheme"},
		{change: map[string]string{"API_SERVER_NAME": provisiontest.Host + ":443"}, ends: 52, says: "no port"},
		{change: map[string]string{"API_SERVER_NAME": "elsewhere.io"}, ends: 52, says: "no such host"},
		{change: map[string]string{"API_SERVER_NAME": "10.0.0.1", "CSE_TIMEOUT": "0.01s"}, ends: 124, says: "nobody at 10.0.0.1"},
		{change: map[string]string{"KUBE_CA_CRT": unset}, ends: 51, says: "no certificate"},
		{change: map[string]string{"KUBE_CA_CRT": "-----BEGIN CERTIFICATE-----"}, ends: 51, says: "no certificate"},
		{change: map[string]string{"KUBE_CA_CRT": b64("hello")}, ends: 51, says: "no certificate"},
		{change: map[string]string{"TLS_BOOTSTRAP_TOKEN": unset}, ends: warns, says: "TLS_BOOTSTRAP_TOKEN is empty"},
		{change: map[string]string{"KUBERNETES_VERSION": unset}, ends: 205, says: "CREDENTIAL_PROVIDER_DOWNLOAD_URL"},
		{change: map[string]string{"KUBERNETES_VERSION": "v1.36.2"}, ends: 205, says: "CREDENTIAL_PROVIDER_DOWNLOAD_URL"},
		{change: map[string]string{"KUBERNETES_VERSION": "1.33.4"}, ends: noKubelet, says: "KUBE_BINARY_URL, which is empty"},
		{change: map[string]string{"KUBERNETES_VERSION": "1.33.4", "KUBE_BINARY_URL": "https://example.com/x.tar.gz"}, ends: 31, says: "no server of AKS"},
		{change: map[string]string{"KUBERNETES_VERSION": "1.33.4", "KUBE_BINARY_URL": "https://acs-mirror.azureedge.net/kubernetes/v1.33.3/binaries/kubernetes-node-linux-amd64.tar.gz"}, ends: 31, says: "not Kubernetes 1.33.4"},
		{change: map[string]string{"KUBERNETES_VERSION": "1.32.4", "KUBE_BINARY_URL": "https://acs-mirror.azureedge.net/kubernetes/v1.32.4/binaries/kubernetes-node-linux-amd64.tar.gz"}, ends: 205, says: "CREDENTIAL_PROVIDER_DOWNLOAD_URL"},
		{image: "V2gen2", ends: 205, says: "CREDENTIAL_PROVIDER_DOWNLOAD_URL"},
		{image: "V2gen2", change: map[string]string{"KUBELET_FLAGS": "--max-pods=3"}, ends: noKubelet, says: "KUBE_BINARY_URL, which is empty"},
		{change: map[string]string{"CSE_HELPERS_FILEPATH": unset}, ends: 6, says: "CSE_HELPERS_FILEPATH"},
		{change: map[string]string{"CSE_CONFIG_FILEPATH": unset}, ends: noKubelet, says: "CSE_CONFIG_FILEPATH"},
		{change: map[string]string{"CSE_INSTALL_FILEPATH": "/opt/x"}, ends: noKubelet, says: "CSE_INSTALL_FILEPATH"},
		{change: map[string]string{"CSE_DISTRO_HELPERS_FILEPATH": unset}, ends: noKubelet, says: "CSE_DISTRO_HELPERS_FILEPATH"},
		{change: map[string]string{"CSE_DISTRO_INSTALL_FILEPATH": unset}, ends: 204, says: "CSE_DISTRO_INSTALL_FILEPATH"},
		{change: map[string]string{"CSE_TIMEOUT": "soon"}, ends: 125, says: "timeout"},
		{change: map[string]string{"PRE_PROVISION_ONLY": "true"}, ends: noKubelet, says: "joins nothing"},
		{change: map[string]string{"IS_VHD": "True"}, ends: warns, says: "only the word true"},
		{change: map[string]string{"KUBELET_FLAGS": unset}, ends: 0},
		{change: map[string]string{"KUBELET_FLAGS": "--max-pods=30\n--anonymous-auth=false"}, ends: warns, says: "systemd reads other flags"},
		{change: map[string]string{"KUBELET_FLAGS": `--max-pods="30"`}, ends: warns, says: "mean something to systemd"},
		{change: map[string]string{"KUBELET_NODE_LABELS": "a=b\nKUBELET_FLAGS=--v=9"}, ends: warns, says: "systemd reads other flags"},
		{change: map[string]string{"NEEDS_CGROUPV2": "yes"}, ends: warns, says: "cgroup driver"},
		{change: rotate, ends: warns, says: "nothing asks for a certificate"},
		{change: map[string]string{"CONTAINERD_CONFIG_CONTENT": "version = 2"}, ends: 6, says: "no base64"},
		{change: map[string]string{"CONTAINERD_CONFIG_CONTENT": b64("version = 2\n[plugins\n")}, ends: 4, says: "line 2 is no TOML"},
		{change: map[string]string{"CONTAINERD_CONFIG_CONTENT": unset}, ends: warns, says: "SystemdCgroup"},
		{change: map[string]string{"ARTIFACT_STREAMING_ENABLED": "true"}, ends: warns, says: "nothing is streamed"},
		{change: map[string]string{"NETWORK_PLUGIN": "azure"}, ends: 0},
		{change: map[string]string{"NETWORK_PLUGIN": "azure", "VNET_CNI_PLUGINS_URL": unset}, ends: notReady, says: "10-azure.conflist"},
		{change: map[string]string{"NETWORK_PLUGIN": "azure", "VNET_CNI_PLUGINS_URL": "https://acs-mirror.azureedge.net/x.tgz"}, ends: 41, says: "no Azure CNI"},
		{change: map[string]string{"NETWORK_PLUGIN": "cilium"}, ends: warns, says: "the same as none"},
		{change: map[string]string{"OUTBOUND_COMMAND": "curl 'https://mcr.microsoft.com/v2/'"}, ends: 50, says: "as it is"},
		{change: map[string]string{"OUTBOUND_COMMAND": "fetch https://mcr.microsoft.com/v2/"}, ends: 50, says: "fetch"},
		{change: map[string]string{"OUTBOUND_COMMAND": unset}, ends: 0},
		{change: map[string]string{"MAXIMUM_LOADBALANCER_RULE_COUNT": unset}, ends: warns, says: "azure.json is no JSON"},
		{change: map[string]string{"USE_INSTANCE_METADATA": "True"}, ends: warns, says: "azure.json is no JSON"},
		{change: map[string]string{"CLOUDPROVIDER_BACKOFF_MODE": "v1", "CLOUDPROVIDER_BACKOFF_EXPONENT": unset}, ends: warns, says: "azure.json is no JSON"},
		{change: map[string]string{"USER_ASSIGNED_IDENTITY_ID": unset}, ends: warns, says: "no managed identity"},
		{change: map[string]string{"SYSCTL_CONTENT": unset}, ends: warns, says: "SYSCTL_CONTENT is empty"},
		{change: map[string]string{"SYSCTL_CONTENT": b64("somaxconn 4")}, ends: 103, says: "line 1"},
		{change: map[string]string{"SHOULD_CONFIG_SWAP_FILE": "true"}, ends: 130, says: "no size"},
		{change: map[string]string{"SHOULD_CONFIG_SWAP_FILE": "true", "SWAP_FILE_SIZE_MB": "200000"}, ends: 131, says: "do not fit"},
		{change: map[string]string{"SHOULD_CONFIG_SWAP_FILE": "true", "SWAP_FILE_SIZE_MB": "2000"}, ends: 0},
		{change: map[string]string{"SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE": "true", "THP_ENABLED": "sometimes"}, ends: warns, says: "sometimes"},
		{change: map[string]string{"SHOULD_ENABLE_LOCALDNS": "true"}, ends: 216, says: "LOCALDNS_COREFILE_BASE is empty"},
		{change: map[string]string{"SHOULD_ENABLE_LOCALDNS": "true", "LOCALDNS_COREFILE_BASE": b64(".:53 {\n"), "LOCALDNS_CPU_LIMIT": "200.0%", "LOCALDNS_MEMORY_LIMIT": "128M"}, ends: 216, says: "braces"},
		{change: map[string]string{"SHOULD_ENABLE_LOCALDNS": "true", "LOCALDNS_GENERATED_COREFILE": b64(".:53 {\n}\n"), "LOCALDNS_CPU_LIMIT": "200.0%", "LOCALDNS_MEMORY_LIMIT": "128M"}, ends: warns, says: "pods do not ask the cache"},
		{change: map[string]string{"SHOULD_CONFIGURE_HTTP_PROXY": "true", "SHOULD_CONFIGURE_HTTP_PROXY_CA": "true", "HTTP_PROXY_TRUSTED_CA": "%"}, ends: 161, says: "no base64"},
		{change: map[string]string{"GPU_NODE": "true"}, ends: 84, says: "no NVIDIA driver finds a GPU"},
		{change: map[string]string{"GPU_MODEL": "x"}, ends: warns, says: "GPU_MODEL is read by nobody"},

		{size: "Standard_NC4as_T4_v3", change: gpuBase("cuda-lts", "580.159.04", "20260629214430"), ends: 0},
		{size: "Standard_NC4as_T4_v3", change: gpuBase("cuda-lts", "580.159.04", unset), ends: 84, says: "aks-gpu-cuda-lts:580.159.04- does not exist"},
		{size: "Standard_NC4as_T4_v3", change: gpuBase("", "580.159.04", "20260629214430"), ends: 84, says: "aks-gpu-:"},
		{size: "Standard_NC4as_T4_v3", change: gpuBase("grid", "570.211.01", "20260522192315"), ends: 84, says: "needs a cuda driver"},
		{size: "Standard_NC4as_T4_v3", ends: warns, says: "GPU_NODE is not true"},
		{size: "Standard_NC8ads_A10_v4", change: gpuBase("cuda-lts", "580.159.04", "20260629214430"), ends: 84, says: "needs grid"},
		{size: "Standard_NC8ads_A10_v4", change: gpuBase("grid", "570.211.01", "20260522192315"), ends: 0},
		{size: "Standard_ND96asr_v4", change: gpuBase("cuda-lts", "580.159.04", "20260629214430"), ends: warns, says: "GPU_NEEDS_FABRIC_MANAGER"},
		{size: "Standard_ND96isr_H100_v5", change: gpuBase("cuda-lts", "580.159.04", "20260629214430"), ends: warns, says: "GPU_NEEDS_FABRIC_MANAGER"},
		{size: "Standard_NC24ads_A100_v4", change: with(gpuBase("cuda-lts", "580.159.04", "20260629214430"), "GPU_NEEDS_FABRIC_MANAGER", "true"), ends: 84, says: "no switch"},
		{size: "Standard_ND96asr_v4", change: with(gpuBase("cuda-lts", "580.159.04", "20260629214430"), "GPU_NEEDS_FABRIC_MANAGER", "true"), ends: 0},
		{size: "Standard_NC4as_T4_v3", image: "V3gen2", change: gpuBase("cuda-lts", "x", unset), ends: 0},
		{size: "Standard_NC36lds_xl_RTXPRO6000BSE_v6", image: "V3gen2", change: gpuBase("grid-v20", "595.58.03", "20260609172331"), ends: 224, says: "Azure Linux"},
		{size: "Standard_NC36lds_xl_RTXPRO6000BSE_v6", change: gpuBase("grid-v20", "595.58.03", "20260609172331"), ends: 0},
	} {
		env := provisiontest.Upstream(authority(t))
		for k, v := range c.change {
			if env[k] = v; v == unset {
				delete(env, k)
			}
		}
		m := small()
		if c.size != "" {
			m.Size, m.GPUs = c.size, 1
		}
		if c.image != "" {
			m.Image = "/CommunityGalleries/x/images/" + c.image + "/versions/1.0.0"
		}
		out := boots(provisiontest.Script(env), m)
		got, said := out.ExitCode, out.Failed
		switch {
		case out.Refused != nil || out.ExitCode != 0:
		case out.NoKubelet != "":
			got, said = noKubelet, out.NoKubelet
		case out.NotReady != "":
			got, said = notReady, out.NotReady
		case len(out.Warnings) > 0:
			got, said = warns, strings.Join(out.Warnings, "; ")
		}
		if got != c.ends || !strings.Contains(said, c.says) {
			t.Errorf("%s %s with %q: ended with %d, want %d; said %q, want %q; refused %v", c.size, c.image, c.change, got, c.ends, said, c.says, out.Refused)
		}
		if (out.Kubelet != nil) != (out.ExitCode == 0 && out.NoKubelet == "") {
			t.Errorf("%q: kubelet %q, exit %d", c.change, out.Kubelet, out.ExitCode)
		}
	}
}

func with(m map[string]string, k, v string) map[string]string {
	m[k] = v
	return m
}

// TestContract holds the table together: a name once, and none both read and retired; what upstream sends is known.
func TestContract(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Contract() {
		if seen[v.Name] || slices.Contains(Retired(), v.Name) {
			t.Errorf("%s stands in the contract twice", v.Name)
		}
		if !isName(v.Name) || v.Format == "" || v.Unset == "" || v.Reader == "" {
			t.Errorf("%+v is not complete", v)
		}
		seen[v.Name] = true
	}
	for name := range provisiontest.Upstream(nil) {
		if !seen[name] && !slices.Contains(Retired(), name) {
			t.Errorf("%s is sent and not in the contract", name)
		}
	}
}
