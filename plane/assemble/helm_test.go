package assemble

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/plane/helm"
)

// practise upgrades the release, rolls it back, removes and installs it again, and looks each time at what runs.
func practise(t *testing.T, l *Lab) {
	s := l.State()
	h, err := helm.New(s.Kubeconfig, Namespace, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	chart, err := helm.Load(deploy.Charts, "charts/karpenter")
	if err != nil {
		t.Fatal(err)
	}
	levels := func() []string {
		b, err := os.ReadFile(s.ControllerLog)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(string(b)) {
			if level, ok := strings.CutPrefix(line, "log level "); ok {
				out = append(out, strings.TrimSpace(level))
			}
		}
		return out
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log levels %v, the log ends with\n%s", levels(), LastLines(s.ControllerLog))
		}
	})
	eventually(t, "the controller came back after it was killed", func() bool { return len(levels()) == 2 })
	began := levels()
	next := func(what, level string) {
		t.Helper()
		began = append(began, level)
		eventually(t, what+": the controller runs anew with log level "+level, func() bool { return slices.Equal(levels(), began) })
	}
	before, err := l.ident.api.CoreV1().ServiceAccounts(Namespace).Get(t.Context(), ServiceAccount, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	history, err := h.History(Release)
	if err != nil || len(history) != 1 {
		t.Fatalf("revisions %v, %v", history, err)
	}
	values := history[0].Config
	if _, err := h.Apply(t.Context(), Release, chart, map[string]any{"logLevel": "debug"}, helm.Options{ReuseValues: true}); err != nil {
		t.Fatal(err)
	}
	next("upgrade", "debug")
	if err := h.Rollback(Release, 1); err != nil {
		t.Fatal(err)
	}
	next("rollback", "info")

	pid := l.State().ControllerPID
	if err := h.Uninstall(Release); err != nil {
		t.Fatal(err)
	}
	eventually(t, "uninstalled: the controller is gone", func() bool { return gone(pid) && l.State().ControllerPID == 0 })
	if _, err := l.ident.api.Discovery().RESTClient().Get().AbsPath("/apis/karpenter.sh/v1/nodeclaims").DoRaw(t.Context()); err != nil {
		t.Errorf("the kinds went with the controller: %v", err)
	}
	if _, err := h.Apply(t.Context(), Release, chart, values, helm.Options{SkipCRDs: true}); err != nil {
		t.Fatal(err)
	}
	next("installed again, under a new service account", "info")
	after, err := l.ident.api.CoreV1().ServiceAccounts(Namespace).Get(t.Context(), ServiceAccount, metav1.GetOptions{})
	if err != nil || after.UID == before.UID {
		t.Errorf("the service account was not made anew: %v", err)
	}
	if l.runs("mcr.microsoft.com/aks/karpenter/controller:1.10.2") {
		t.Error("the lab takes another's image for its own")
	}
}

func TestDamagedImageIsNotRun(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "program")
	for name, body := range map[string]string{
		"index.json": `{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`,
		"blobs/sha256/" + strings.Repeat("0", 64): "{}",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (Image{dir}).Unpack(out); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	if _, err := (Image{t.TempDir()}).Unpack(out); err == nil || !strings.Contains(err.Error(), "make image") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}
