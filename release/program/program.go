// Package program answers: which program do these sources make?
//
// It runs the go command with the flags that the whole repository is built with, so that what the
// tests compiled is not compiled again. -trimpath is among them: a program does not know in which
// directory it was built, and is the same bytes everywhere.
package program

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// FIPS is the frozen cryptographic module of a FIPS 140-3 build; Go's documentation "FIPS 140-3
// Compliance" says how far each version is validated.
const FIPS = "v1.0.0"

// Flags are the go command's, for everything. The Makefile has the same.
func Flags() []string { return []string{"-trimpath", "-buildvcs=false"} }

// Recipe says what to build.
type Recipe struct {
	Dir     string // where the go command runs
	Package string
	OS      string
	Arch    string
	// Version is linked into main.version; "" leaves that alone.
	Version string
	FIPS    bool
}

// Built is a program and what it is made of.
type Built struct {
	Recipe Recipe
	Binary []byte
	Info   *buildinfo.BuildInfo
}

// Environment is what the go command needs to know beside the flags.
func (r Recipe) Environment() []string {
	fips := "off"
	if r.FIPS {
		fips = FIPS
	}
	return []string{
		"CGO_ENABLED=0", "GOOS=" + r.OS, "GOARCH=" + r.Arch, "GOFIPS140=" + fips,
		"GOFLAGS=" + strings.Join(Flags(), " "),
	}
}

// Arguments are the go command's.
func (r Recipe) Arguments(out string) []string {
	args := []string{"build", "-o", out}
	if r.Version != "" {
		args = append(args, "-ldflags", "-X main.version="+r.Version)
	}
	return append(args, r.Package)
}

// Build compiles and links. A cold cache takes minutes, a warm one seconds.
func Build(ctx context.Context, r Recipe) (*Built, error) {
	dir, err := os.MkdirTemp("", "karpenter-build")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "program")
	cmd := exec.CommandContext(ctx, "go", r.Arguments(file)...)
	cmd.Dir = r.Dir
	// os.Environ has what else go needs: HOME, GOPROXY, GOCACHE. Ours comes last and wins.
	cmd.Env = append(os.Environ(), r.Environment()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go build %s for %s/%s: %w\n%s", r.Package, r.OS, r.Arch, err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read how %s was built: %w", r.Package, err)
	}
	if err := r.check(info); err != nil {
		return nil, err
	}
	return &Built{Recipe: r, Binary: binary, Info: info}, nil
}

// check refuses a program that says of itself that its cryptography is not what was asked for: an
// older go command, or one with other defaults, would leave that out without a word.
func (r Recipe) check(info *debug.BuildInfo) error {
	want := map[string]string{"GOOS": r.OS, "GOARCH": r.Arch}
	if r.FIPS {
		want["GOFIPS140"], want["DefaultGODEBUG"] = FIPS, "fips140=on"
	}
	for _, s := range info.Settings {
		if w, ok := want[s.Key]; ok && strings.Contains(s.Value, w) {
			delete(want, s.Key)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("%s for %s/%s was not built with %v", r.Package, r.OS, r.Arch, want)
	}
	return nil
}
