package ship

import (
	"encoding/base64"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/karpenter-aks/karpenter/release/program"
)

// run builds a program and returns what it prints.
func run(t *testing.T, r program.Recipe) string {
	t.Helper()
	b, err := program.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, b.Binary, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func base64Bytes(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
