package ship

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/karpenter-aks/karpenter/release/image"
	"github.com/karpenter-aks/karpenter/release/proof"
)

// small copies the stand-in for the controller to a new directory, so that nothing about the place
// where it is built can be the same twice.
func small(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.CopyFS(dir, os.DirFS("testdata/small")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func key(t *testing.T) *proof.Key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	out, err := proof.ReadKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func order(t *testing.T, k *proof.Key) Order {
	return Order{
		Root: small(t), Package: ".", Out: filepath.Join(t.TempDir(), "image"),
		Version: "1.2.3", Revision: "0123456789abcdef", Key: k,
		When:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Source: "https://example.com/karpenter", Repository: "registry.example/karpenter",
		Builder: "https://example.com/builder", Platforms: []string{"linux/arm64", "linux/amd64"},
	}
}

func build(t *testing.T, o Order) *image.Opened {
	t.Helper()
	got, err := Image(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// files are the contents of a directory by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, p))
		out[p] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTwoBuildsAreTheSameBytes(t *testing.T) {
	k := key(t)
	first, second := order(t, k), order(t, k)
	build(t, first)
	build(t, second)
	a, b := files(t, first.Out), files(t, second.Out)
	if len(a) < 10 {
		t.Fatalf("only %d files in the layout", len(a))
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			t.Errorf("%s differs between two builds", name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d and %d files", len(a), len(b))
	}
	third := order(t, k)
	third.Version = "1.2.4"
	if build(t, third).Digest == build(t, first).Digest {
		t.Error("another version has the same digest: the test could not see a difference")
	}
}

func TestImageHoldsTheProgramAndCertificatesOnly(t *testing.T) {
	o := order(t, nil)
	got := build(t, o)
	if err := validate.Index(got.Index); err != nil {
		t.Fatal(err)
	}
	m, err := got.Index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range m.Manifests {
		platforms = append(platforms, d.Platform.String())
		img, err := got.Index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c.Config.User != "65532:65532" || c.Config.Cmd != nil ||
			!slices.Equal(c.Config.Entrypoint, []string{"/karpenter"}) ||
			c.OS != d.Platform.OS || c.Architecture != d.Platform.Architecture {
			t.Errorf("%s is configured as %+v, %s/%s", d.Platform, c.Config, c.OS, c.Architecture)
		}
		const ns = "org.opencontainers.image."
		for label, want := range map[string]string{
			"version": "1.2.3", "revision": "0123456789abcdef", "created": "2026-01-02T03:04:05Z",
			"source":   "https://example.com/karpenter",
			"licenses": "Apache-2.0", "title": "karpenter",
		} {
			if got := c.Config.Labels[ns+label]; got != want || m.Annotations[ns+label] != want {
				t.Errorf("label %s is %q, %q; want %q", label, got, m.Annotations[ns+label], want)
			}
		}
		tree(t, img)
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %v", platforms)
	}
}

// tree checks the file system of an image.
func tree(t *testing.T, img v1.Image) {
	t.Helper()
	var names []string
	r := tar.NewReader(mutate.Extract(img))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		writable := int64(0o222)
		if h.Typeflag == tar.TypeDir {
			writable = 0o022
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode&writable != 0 {
			t.Errorf("%s belongs to %d:%d with mode %o", h.Name, h.Uid, h.Gid, h.Mode)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch h.Name {
		case "karpenter":
			if !bytes.HasPrefix(body, []byte("\x7fELF")) || h.Mode&0o111 == 0 {
				t.Errorf("the program is no program: mode %o", h.Mode)
			}
		case "etc/ssl/certs/ca-certificates.crt":
			n := bytes.Count(body, []byte("BEGIN CERTIFICATE"))
			if n < 100 || !x509.NewCertPool().AppendCertsFromPEM(body) {
				t.Errorf("%d root certificates", n)
			}
			// Azure Resource Manager's and Entra ID's chains end in roots of DigiCert and Microsoft.
			for _, root := range []string{
				"DigiCert Global Root G2", "Microsoft RSA Root Certificate Authority 2017",
			} {
				if !bytes.Contains(body, []byte(root)) {
					t.Errorf("no root certificate of %s", root)
				}
			}
		}
	}
	want := []string{"etc", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt",
		"karpenter"}
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestPapersAreAboutThisImage(t *testing.T) {
	k := key(t)
	o := order(t, k)
	got := build(t, o)
	papers, err := got.Papers()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, p := range papers {
		count[p.Kind]++
		switch p.Kind {
		case image.KindSBOM:
			var bom struct {
				BOMFormat, SerialNumber string
				Components              []struct{ Name, Version string }
			}
			if err := json.Unmarshal(p.Body, &bom); err != nil || bom.BOMFormat != "CycloneDX" {
				t.Errorf("bill of materials: %v, %+v", err, bom)
			}
			if len(bom.Components) != 1 || "go"+bom.Components[0].Version != runtime.Version() {
				t.Errorf("a program of the standard library is made of %v", bom.Components)
			}
			continue
		case image.KindProvenance:
			var s struct {
				Type    string `json:"_type"`
				Subject []proof.Subject
			}
			if err := json.Unmarshal(p.Body, &s); err != nil || len(s.Subject) != 3 ||
				s.Subject[0].Digest["sha256"] != got.Digest.Hex || s.Type != proof.StatementType {
				t.Errorf("provenance: %v, %+v", err, s)
			}
		case image.KindSignature:
			signature(t, k, got.Digest.String(), p)
		}
		if p.About.Digest != got.Digest {
			t.Errorf("%s is about %s", p.Kind, p.About.Digest)
		}
	}
	want := map[string]int{
		image.KindSBOM: 2, image.KindProvenance: 1, image.KindEnvelope: 1, image.KindSignature: 1,
	}
	if !maps.Equal(count, want) {
		t.Errorf("papers %v, want %v", count, want)
	}
}

func signature(t *testing.T, k *proof.Key, digest string, p image.Paper) {
	t.Helper()
	public, err := k.Public()
	if err != nil {
		t.Fatal(err)
	}
	s := proof.Signature{Payload: p.Body, Base64: p.Signature}
	if err := proof.CheckImage(public, s, digest); err != nil {
		t.Error(err)
	}
	if proof.CheckImage(public, s, "sha256:0") == nil {
		t.Error("the signature proves another image")
	}
	stranger, err := key(t).Public()
	if err != nil {
		t.Fatal(err)
	}
	if proof.CheckImage(stranger, s, digest) == nil {
		t.Error("the signature is one of any key")
	}
	// A second judge: openssl is what people have.
	dir := t.TempDir()
	raw, err := base64Bytes(p.Signature)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"key": public, "sig": raw, "payload": p.Body} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-verify", "key",
		"-signature", "sig", "payload")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("openssl: %v\n%s", err, out)
	}
}

func TestPushedImageHasItsPapersAsReferrers(t *testing.T) {
	for _, referrers := range []bool{true, false} {
		s := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers),
			registry.Logger(quiet())))
		defer s.Close()
		repo := strings.TrimPrefix(s.URL, "http://") + "/karpenter"
		got := build(t, order(t, key(t)))
		for range 2 { // a second push changes nothing
			if err := image.Push(got, repo); err != nil {
				t.Fatal(err)
			}
		}
		ref, err := name.NewTag(repo + ":1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		d, err := remote.Get(ref)
		if err != nil || d.Digest != got.Digest {
			t.Fatalf("%v, %v; want %s", d, err, got.Digest)
		}
		list, err := remote.Referrers(ref.Digest(got.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		m, err := list.IndexManifest()
		if err != nil || len(m.Manifests) != 3 {
			t.Errorf("referrers (support %v): %+v, %v", referrers, m, err)
		}
		sig := ref.Repository.Tag("sha256-" + got.Digest.Hex + ".sig")
		if _, err := remote.Get(sig); err != nil {
			t.Errorf("cosign's tag: %v", err)
		}
	}
}

func TestFIPSBuildSaysSo(t *testing.T) {
	o := order(t, nil)
	o.FIPS, o.Platforms = true, []string{"linux/" + runtime.GOARCH}
	papers, err := build(t, o).Papers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range papers {
		if p.Kind == image.KindSBOM && !strings.Contains(string(p.Body), "GOFIPS140") {
			t.Error("the bill of materials does not name the cryptographic module")
		}
	}
	r, err := o.recipe(".", o.Platforms[0])
	if err != nil {
		t.Fatal(err)
	}
	for fips, want := range map[bool]string{true: "1.2.3 true\n", false: "1.2.3 false\n"} {
		r.FIPS = fips
		if got := run(t, r); got != want {
			t.Errorf("fips %v: it says %q, want %q", fips, got, want)
		}
	}
	t.Setenv("GODEBUG", "fips140=only")
	r.FIPS = true
	if got := run(t, r); got != "1.2.3 true\n" {
		t.Errorf("where nothing but the module may be used it says %q", got)
	}
}
