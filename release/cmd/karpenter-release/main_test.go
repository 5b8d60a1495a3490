package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/release/image"
)

func TestVersionsAreSemantic(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1",
		"v1.2.3-4-g0abc123": "1.2.3-4-g0abc123", "0123456": "0.0.0-g0123456",
		"0abc123-dirty": "0.0.0-g0abc123-dirty",
	} {
		if got := semantic(described); got != want {
			t.Errorf("%s becomes %s, want %s", described, got, want)
		}
	}
}

// The product itself, for this machine only: its packages were compiled for the other tests. All
// platforms are made by "make release".
func TestARelease(t *testing.T) {
	const host = "linux/" + runtime.GOARCH
	out := filepath.Join(t.TempDir(), "release")
	args := []string{"release", "--root", filepath.Join("..", "..", ".."), "--out", out,
		"--version", "v1.2.3", "--repository", "registry.example/karpenter", "--platforms", host,
		"--program-platforms", host, "--lab-platforms", host}
	var errs strings.Builder
	if code := run(t.Context(), args, io.Discard, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	do := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = out
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, said)
		}
		return string(said)
	}
	if n := strings.Count(do("sha256sum", "--check", "--strict", "SHA256SUMS"), ": OK\n"); n != 8 {
		t.Errorf("%d checksums hold", n)
	}
	do("tar", "-xzf", "karpenter-lab_1.2.3_linux_"+runtime.GOARCH+".tar.gz")
	for args, want := range map[string]string{
		"./karpenter version":         "1.2.3\n",
		"./karpenter version -o json": `"fips140": false`,
		"./karpenter-lab --help":      "karpenter-lab [command]",
	} {
		f := strings.Fields(args)
		if got := do(f[0], f[1:]...); !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", args, got, want)
		}
	}
	opened, err := image.Open(filepath.Join(out, "image"))
	if err != nil {
		t.Fatal(err)
	}
	values := do("tar", "-xzOf", "karpenter-1.2.3.tgz", "karpenter/values.yaml")
	if !strings.Contains(values, opened.Digest.String()) {
		t.Error("the chart does not name the image that was built")
	}
}
