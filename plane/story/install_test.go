package story

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/values"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// TestTheWayIn is what a person does before and after an installation, on one lab.
func TestTheWayIn(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.theGuideWorks()
	l.crdsAreComparedAppliedAndAdopted()
	l.doctorNamesWhatIsBroken(l.settingsAreFound())
}

// ours runs our program as the person at the lab and returns what it printed and its exit code.
func (l *lab) ours(args ...string) (string, int) {
	l.t.Helper()
	return l.oursIn(append(os.Environ(), "KUBECONFIG="+l.kubeconfig), args...)
}

func (l *lab) oursIn(env []string, args ...string) (string, int) {
	l.t.Helper()
	out, errs, code := l.run(env, args...)
	return out + errs, code
}

func (l *lab) run(env []string, args ...string) (out, errs string, code int) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), filepath.Join(bin, "karpenter"), args...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatalf("karpenter %s: %v", strings.Join(args, " "), err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// says runs our program and wants an exit code and words in what it prints.
func (l *lab) says(code int, words string, args ...string) {
	l.t.Helper()
	if out, got := l.ours(args...); got != code || !strings.Contains(out, words) {
		l.t.Fatalf("karpenter %s: exit code %d, want %d; want %q in\n%s", strings.Join(args, " "), got, code, words, out)
	}
}

func (l *lab) crdsAreComparedAppliedAndAdopted() {
	l.t.Helper()
	const pools, crd = "nodepools.karpenter.sh", "customresourcedefinition"
	l.says(0, pools+": the same", "crds", "diff")
	l.says(0, "unchanged", "crds", "apply")

	l.do("kubectl", "patch", crd, pools, "--type", "json", "-p",
		`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/nodeClassObservedGeneration"}]`)
	l.do("kubectl", "delete", crd, "capacitybuffers.autoscaling.x-k8s.io")
	l.says(1, "v1 status.nodeClassObservedGeneration: the cluster has no such field", "crds", "diff")
	l.says(1, "capacitybuffers.autoscaling.x-k8s.io: not in the cluster", "crds", "diff")
	l.says(0, pools+": changed (dry run)", "crds", "apply", "--dry-run")
	l.says(1, pools+": differs", "crds", "diff")
	l.do("kubectl", "annotate", crd, pools, "argocd.argoproj.io/tracking-id=karpenter:x")
	l.says(1, "Argo CD (karpenter:x) keeps it", "crds", "apply")
	l.do("kubectl", "annotate", crd, pools, "argocd.argoproj.io/tracking-id-")
	l.do("kubectl", "patch", crd, "aksnodeclasses.karpenter.azure.com", "--type", "merge", "-p",
		`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/convert"}}}}}`)
	l.says(1, `conversion: strategy is "Webhook" in the cluster and "None" in ours`, "crds", "diff")
	l.says(0, pools+": changed", "crds", "apply")
	l.until("the definitions are the same again", time.Minute, func() bool {
		_, code := l.ours("crds", "diff")
		return code == 0
	})

	l.says(0, pools+": owned by Helm release karpenter-crd in kube-system", "crds", "adopt")
	l.says(0, "in kube-system already", "crds", "adopt")
	l.says(1, "owned by Helm release karpenter-crd in kube-system: uninstall that first", "crds", "adopt", "--release", "other")
	l.says(0, pools+": owned by Helm release other in karpenter", "crds", "adopt", "--release", "other", "-n", "karpenter", "--force")
}

// inside is the environment of the lab's controller, which a process in its pod would have.
func (l *lab) inside() []string {
	l.t.Helper()
	var state struct{ ControllerPID int }
	raw, err := os.ReadFile(filepath.Join(l.dir, "lab.json"))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		l.t.Fatal(err)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", state.ControllerPID))
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Split(strings.Trim(string(env), "\x00"), "\x00")
}

func of(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// person is the environment of somebody at a desk: their own kubeconfig, and a login to the simulated Azure as a Reader.
func (l *lab) person() []string {
	l.t.Helper()
	in := l.inside()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "KUBECONFIG=" + l.kubeconfig,
		"SSL_CERT_FILE=" + of(in, "SSL_CERT_FILE"), "AZURE_ENVIRONMENT_FILEPATH=" + of(in, "AZURE_ENVIRONMENT_FILEPATH"),
		"AZURE_TENANT_ID=" + of(in, "AZURE_TENANT_ID"), "AZURE_CLIENT_ID=" + assemble.PersonID, "AZURE_CLIENT_SECRET=" + l.state().Token}
}

func (l *lab) state() assemble.State {
	l.t.Helper()
	s, err := assemble.Load(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// finds runs the doctor and wants an exit code, and these lines among its findings: "stop roles" and words.
func (l *lab) finds(env []string, code int, args []string, want ...string) {
	l.t.Helper()
	out, got := l.oursIn(env, append([]string{"doctor"}, args...)...)
	plain := strings.Join(strings.Fields(out), " ")
	for _, w := range want {
		if !strings.Contains(plain, w) {
			l.t.Errorf("doctor %s does not say %q", strings.Join(args, " "), w)
		}
	}
	if got != code || l.t.Failed() {
		l.t.Fatalf("doctor %s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
}

// settingsAreFound lets install-values find what the lab's controller was told, from what Azure answers and the cluster shows.
func (l *lab) settingsAreFound() string {
	l.t.Helper()
	in, dir := l.inside(), l.t.TempDir()
	args := []string{"install-values"}
	for name, path := range l.answers() {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, l.asks(path), 0o600); err != nil {
			l.t.Fatal(err)
		}
		args = append(args, "-f", file)
	}
	out, errs, code := l.run(l.person(), args...)
	if code != 0 {
		l.t.Fatalf("install-values: exit code %d\n%s%s", code, out, errs)
	}
	var file map[string]any
	if err := yaml.Unmarshal([]byte(out), &file); err != nil {
		l.t.Fatalf("%v in\n%s", err, out)
	}
	env, err := values.Env(file)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if told := of(in, name); told != "" && !strings.EqualFold(env[name], told) {
			l.t.Errorf("%s is %q, and the lab's controller was told %q", name, env[name], told)
		}
	}
	path := filepath.Join(dir, "values.yaml")
	if err := os.WriteFile(path, []byte(out+"serviceAccount: {name: karpenter-sa}\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// answers are the questions to Azure behind three commands of az, by the names of the files in the guide.
func (l *lab) answers() map[string]string {
	in := l.inside()
	groups := "/subscriptions/" + of(in, "AZURE_SUBSCRIPTION_ID") + "/resourceGroups/"
	own, nodes := groups+of(in, "ARM_RESOURCE_GROUP")+"/providers/", groups+of(in, "AZURE_NODE_RESOURCE_GROUP")+"/providers/"
	return map[string]string{
		"aks.json":      own + "Microsoft.ContainerService/managedClusters/" + of(in, "CLUSTER_NAME") + "?api-version=2025-05-01",
		"vnets.json":    nodes + "Microsoft.Network/virtualNetworks?api-version=" + networkVersion,
		"identity.json": own + "Microsoft.ManagedIdentity/userAssignedIdentities/karpentermsi?api-version=2023-01-31",
	}
}

// az answers the three questions of the guide with what Azure says, and nothing else.
const az = `#!/bin/sh
case "$1 $2 $3" in
"aks show -g") cat "$ANSWERS/aks.json" ;;
"network vnet list") cat "$ANSWERS/vnets.json" ;;
"identity show -g") cat "$ANSWERS/identity.json" ;;
*) echo "az: not here: $*" >&2; exit 3 ;;
esac
`

// theGuideWorks runs the blocks of the guide that are marked sh, one after the other, as a person would.
func (l *lab) theGuideWorks() {
	l.t.Helper()
	guide, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		l.t.Fatal(err)
	}
	desk, tools := l.t.TempDir(), l.t.TempDir()
	in := l.inside()
	write := func(name, text string, mode os.FileMode) {
		l.t.Helper()
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			l.t.Fatal(err)
		}
	}
	for name, path := range l.answers() {
		write(filepath.Join(tools, name), string(l.asks(path)), 0o600)
	}
	write(filepath.Join(tools, "az"), az, 0o700)
	write(filepath.Join(tools, "kubectl"), "#!/bin/sh\nexec "+filepath.Join(bin, "karpenter-lab")+" kubectl \"$@\"\n", 0o700)
	write(filepath.Join(tools, "webhook.yaml"), webhook, 0o600)
	l.do("kubectl", "apply", "-f", filepath.Join(tools, "webhook.yaml"))
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(desk, "examples")); err != nil {
		l.t.Fatal(err)
	}
	env := append(l.person(), "ANSWERS="+tools, "KARPENTER_LAB_DIR="+l.dir, "PATH="+tools+":"+bin+":"+os.Getenv("PATH"),
		"RG="+of(in, "ARM_RESOURCE_GROUP"), "NAME="+of(in, "CLUSTER_NAME"), "MC="+of(in, "AZURE_NODE_RESOURCE_GROUP"), "NAMESPACE=kube-system")
	ran := 0
	for _, text := range blocks(string(guide)) {
		l.obeys(desk, env, text)
		ran++
		if file := filepath.Join(desk, "values.yaml"); strings.Contains(text, "> values.yaml") { // the lab's account has today's name
			made, err := os.ReadFile(file)
			if err != nil {
				l.t.Fatal(err)
			}
			write(file, string(made)+"serviceAccount: {name: karpenter-sa}\n", 0o600)
		}
	}
	if ran < 6 {
		l.t.Errorf("only %d blocks of the guide were run", ran)
	}
}

// blocks are the blocks of a page that are marked sh: what a person types.
func blocks(page string) []string {
	var out []string
	for i, block := range strings.Split(page, "```sh\n") {
		if text, _, _ := strings.Cut(block, "```"); i > 0 {
			out = append(out, text)
		}
	}
	return out
}

// obeys runs what a page says as a person would, and returns what it printed.
func (l *lab) obeys(dir string, env []string, text string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "sh", "-ec", text)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("the page says\n%s\nand that ends with %v:\n%s", text, err, out)
	}
	return string(out)
}

// asks sends one question to the simulated Azure as a person.
func (l *lab) asks(path string) []byte {
	l.t.Helper()
	in, s := l.inside(), l.state()
	ca, err := os.ReadFile(s.CAFile)
	if err != nil {
		l.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	var token struct {
		Access string `json:"access_token"`
	}
	resp, err := c.PostForm(s.Azure+"/"+of(in, "AZURE_TENANT_ID")+"/oauth2/v2.0/token", url.Values{"grant_type": {"client_credentials"},
		"client_id": {assemble.PersonID}, "client_secret": {s.Token}, "scope": {s.Azure + "/.default"}})
	if err != nil {
		l.t.Fatal(err)
	}
	raw := read(l.t, resp)
	if err := json.Unmarshal(raw, &token); err != nil || token.Access == "" {
		l.t.Fatalf("%v: %s", err, raw)
	}
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, s.Azure+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.Access)
	if resp, err = c.Do(req); err != nil {
		l.t.Fatal(err)
	}
	raw = read(l.t, resp)
	if resp.StatusCode != http.StatusOK {
		l.t.Fatalf("GET %s: %s: %s", path, resp.Status, raw)
	}
	return raw
}

func read(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// networkVersion is that of the network SDK in go.mod.
const networkVersion = "2025-05-01"

// webhook stands for that of workload identity, which the lab plays itself. It matches no namespace.
const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: azure-wi-webhook-mutating-webhook-configuration}
webhooks:
  - name: mutation.azure-workload-identity.io
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: {url: "https://127.0.0.1:1/mutate"}
    namespaceSelector: {matchLabels: {nobody.example/has: this}}
    objectSelector: {matchLabels: {azure.workload.identity/use: "true"}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`

func (l *lab) doctorNamesWhatIsBroken(file string) {
	l.t.Helper()
	person, in, given := l.person(), l.inside(), []string{"--values", file}
	l.do("kubectl", "delete", "mutatingwebhookconfiguration", "azure-wi-webhook-mutating-webhook-configuration")
	l.finds(person, 1, given, "stop federation there is no webhook of workload identity")
	hook := filepath.Join(l.t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(hook, []byte(webhook), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.do("kubectl", "apply", "-f", hook)

	l.finds(person, 0, given, "ok crds", "ok rbac service account kube-system/karpenter-sa may do all", "ok tokens", "ok controller a controller leads",
		"ok federation federated credential karpenter fits", "ok roles the controller has every right", "ok aks", "ok subnet", "ok quota", "ok gallery", "ok prices")
	l.finds(in, 0, nil, "ok federation Azure took the controller's own token", "ok rbac service account kube-system/karpenter-sa may do all")

	l.knobs("deny: [Microsoft.Compute/virtualMachines/write, Microsoft.Compute/locations/usages/read]\nquota: {cores: 0}\n")
	l.finds(person, 1, given, "the controller lacks 1 of 16 rights", "Microsoft.Compute/virtualMachines/write", "stop quota the region's quota is used up")
	l.finds(in, 1, nil, "stop roles Azure refuses the controller: quota: 403 AuthorizationFailed")
	l.knobs("deny: [Microsoft.Compute/locations/communityGalleries/images/versions/read, Microsoft.Network/virtualNetworks/subnets/read]\n")
	l.finds(in, 1, nil, "stop gallery image", "stop roles Azure refuses the controller: the subnet: 403")
	l.knobs("unreachable: [{}]\n")
	l.finds(in, 2, nil, "unknown azure Azure cannot be asked", "ok rbac")
	l.knobs("{}\n")

	wrong := slices.Clone(in)
	wrong = append(wrong, "AZURE_CLIENT_ID=00000000-0000-4000-8000-000000000000")
	l.finds(wrong, 1, nil, "stop azure Azure takes nobody for the controller: AADSTS700016", "settings.azure.clientID names no identity")
	forged := filepath.Join(l.t.TempDir(), "token")
	if err := os.WriteFile(forged, []byte("a.b.c"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.finds(append(slices.Clone(in), "AZURE_FEDERATED_TOKEN_FILE="+forged), 1, nil, "AADSTS700213", "az identity federated-credential create",
		"--subject system:serviceaccount:kube-system:karpenter-sa")
	l.finds(person, 1, append([]string{"-n", "elsewhere"}, given...), "stop federation no federated credential of identity karpentermsi fits",
		"subject system:serviceaccount:kube-system:karpenter-sa instead of system:serviceaccount:elsewhere:karpenter-sa")

	l.do("kubectl", "delete", "clusterrolebinding", "karpenter")
	l.do("kubectl", "delete", "clusterrolebinding", "system:node-bootstrapper", "--ignore-not-found")
	l.finds(person, 1, given, "stop rbac service account kube-system/karpenter-sa may not get aksnodeclasses.karpenter.azure.com")
}
