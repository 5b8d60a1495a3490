package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/simulate"
)

// TestAFileThatIsCutWhileItIsRead ends in words, although its pages are gone.
func TestAFileThatIsCutWhileItIsRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "dump.yaml")
	pod := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" + strings.Repeat("# "+strings.Repeat("x", 100)+"\n", 1000)
	if err := os.WriteFile(name, []byte(strings.Repeat(pod, 1+mappedFrom/len(pod))), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(f simulate.File) error {
		_, err := simulate.Read(t.Context(), simulate.Options{Files: []simulate.File{f}, Location: "eastus"})
		return err
	}
	f, err := readInput(nil, name, maxInput)
	if err != nil || f.Done == nil {
		t.Fatalf("the file is not mapped: %v", err)
	}
	if err := read(f); err != nil {
		t.Fatalf("a whole file: %v", err)
	}
	f, err = readInput(nil, name, maxInput)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 4096); err != nil {
		t.Fatal(err)
	}
	if err := read(f); err == nil || !strings.Contains(err.Error(), "became shorter while it was read") {
		t.Errorf("a file that was cut: %v", err)
	}
}
