package ship

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/release/image"
)

// repository is a small program among this repository's own charts.
func repository(t *testing.T) string {
	t.Helper()
	dir := small(t)
	charts := filepath.Join(dir, "deploy", "charts")
	if err := os.CopyFS(charts, os.DirFS("../../deploy/charts")); err != nil {
		t.Fatal(err)
	}
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), license, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func extras() Extras {
	platforms := []string{"windows/amd64", "linux/amd64"}
	return Extras{
		Programs:  map[string]string{"karpenter": ".", "karpenter-lab": "."},
		Beside:    map[string][]string{"karpenter-lab": {"karpenter"}},
		Platforms: map[string][]string{"karpenter": platforms, "karpenter-lab": {"linux/amd64"}},
		Manual:    "karpenter", Plugin: "karpenter", Base: "https://example.com/v1.2.3",
		Subjects: []string{"place: pods fit", "Merge of something", "place, plan: faster"},
	}
}

func TestRelease(t *testing.T) {
	o := order(t, key(t))
	o.Root = repository(t)
	if err := Release(t.Context(), o, extras()); err != nil {
		t.Fatal(err)
	}
	all := files(t, o.Out)
	var names []string
	for name := range all {
		if !strings.HasPrefix(name, "image/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	want := []string{
		"CHANGELOG.md", "SHA256SUMS", "SHA256SUMS.sig", "karpenter-1.2.3.tgz",
		"karpenter-crd-1.2.3.tgz",
		"karpenter-crds_1.2.3.yaml", "karpenter-lab_1.2.3_linux_amd64.tar.gz",
		"karpenter.krew.yaml",
		"karpenter.pub", "karpenter_1.2.3_image.tar", "karpenter_1.2.3_linux_amd64.tar.gz",
		"karpenter_1.2.3_windows_amd64.zip",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	t.Run("checksums", func(t *testing.T) { checksums(t, all) })
	t.Run("charts", func(t *testing.T) { charts(t, o, all) })
	t.Run("archives", func(t *testing.T) { archives(t, all) })
	t.Run("krew", func(t *testing.T) { plugin(t, all) })
	t.Run("crds", func(t *testing.T) {
		n := strings.Count(all["karpenter-crds_1.2.3.yaml"], "\nkind: CustomResourceDefinition\n")
		if n != strings.Count(all["karpenter-crds_1.2.3.yaml"], "---\n") || n != 5 {
			t.Errorf("%d custom resource definitions", n)
		}
	})
	t.Run("changes", func(t *testing.T) {
		want := "# 1.2.3, 2026-01-02\n\n## place\n\n- pods fit\n\n## place, plan\n\n- faster\n\n" +
			"## more\n\n" +
			"- Merge of something\n"
		if got := all["CHANGELOG.md"]; got != want {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a second one is refused, and is the same elsewhere", func(t *testing.T) {
		if err := Release(t.Context(), o, extras()); err == nil {
			t.Error("a release was made over another")
		}
		again := o
		again.Root, again.Out = repository(t), filepath.Join(t.TempDir(), "again")
		if err := Release(t.Context(), again, extras()); err != nil {
			t.Fatal(err)
		}
		if got := files(t, again.Out); got["SHA256SUMS"] != all["SHA256SUMS"] {
			t.Errorf("got\n%swant\n%s", got["SHA256SUMS"], all["SHA256SUMS"])
		}
	})
}

func checksums(t *testing.T, all map[string]string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(all["SHA256SUMS"]) {
		lines++
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got := sha256.Sum256([]byte(all[name]))
		if all[name] == "" || hex.EncodeToString(got[:]) != sum {
			t.Errorf("the checksum of %q is wrong", name)
		}
	}
	if lines != 9 {
		t.Errorf("%d checksums", lines)
	}
	block, _ := pem.Decode([]byte(all["karpenter.pub"]))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := base64Bytes(strings.TrimSpace(all["SHA256SUMS.sig"]))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(all["SHA256SUMS"]))
	if !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), sum[:], sig) {
		t.Error("the signature of the checksums does not hold")
	}
}

func charts(t *testing.T, o Order, all map[string]string) {
	t.Helper()
	opened, err := image.Open(filepath.Join(o.Out, "image"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Charts() {
		c, err := loader.LoadArchive(strings.NewReader(all[name+"-1.2.3.tgz"]))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil || c.Name() != name || c.AppVersion() != "1.2.3" {
			t.Errorf("%s %s: %v", c.Name(), c.AppVersion(), err)
		}
		if name == "karpenter-crd" {
			continue
		}
		if len(c.CRDObjects()) != 5 {
			t.Errorf("%d CRDs", len(c.CRDObjects()))
		}
		img := c.Values["controller"].(map[string]any)["image"].(map[string]any)
		if img["digest"] != opened.Digest.String() || img["repository"] != o.Repository {
			t.Errorf("the chart runs %v, the image is %s", img, opened.Digest)
		}
	}
}

func archives(t *testing.T, all map[string]string) {
	t.Helper()
	z := all["karpenter_1.2.3_windows_amd64.zip"]
	r, err := zip.NewReader(strings.NewReader(z), int64(len(z)))
	if err != nil {
		t.Fatal(err)
	}
	var in []string
	for _, f := range r.File {
		in = append(in, f.Name)
	}
	if !slices.Equal(in, []string{"LICENSE", "karpenter.exe"}) {
		t.Errorf("for windows: %v", in)
	}
	const page = "man/man1/small.1"
	got := untar(t, all["karpenter-lab_1.2.3_linux_amd64.tar.gz"])
	names := slices.Sorted(maps.Keys(got))
	if !slices.Equal(names, []string{"LICENSE", "karpenter", "karpenter-lab", page}) {
		t.Errorf("the lab's archive: %v", names)
	}
	one := untar(t, all["karpenter_1.2.3_linux_amd64.tar.gz"])
	if !bytes.Equal(one["karpenter"], got["karpenter"]) {
		t.Error("two archives have different programs")
	}
	if want := ".TH SMALL 1 2026-01-02\n"; string(one[page]) != want {
		t.Errorf("the manual page is %q, want %q", one[page], want)
	}
}

func untar(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func plugin(t *testing.T, all map[string]string) {
	t.Helper()
	var m struct {
		Spec struct {
			Version   string
			Platforms []struct {
				URI, SHA256, Bin string
				Selector         struct{ MatchLabels map[string]string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(all["karpenter.krew.yaml"]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Spec.Version != "v1.2.3" || len(m.Spec.Platforms) != 2 {
		t.Fatalf("%+v", m)
	}
	for _, p := range m.Spec.Platforms {
		file := strings.TrimPrefix(p.URI, "https://example.com/v1.2.3/")
		sum := sha256.Sum256([]byte(all[file]))
		if all[file] == "" || hex.EncodeToString(sum[:]) != p.SHA256 {
			t.Errorf("%s: the checksum is not the archive's", p.URI)
		}
		windows := p.Selector.MatchLabels["os"] == "windows"
		if (p.Bin == "karpenter.exe") != windows || p.Selector.MatchLabels["arch"] != "amd64" {
			t.Errorf("%+v", p)
		}
	}
}
