package ship

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/release/program"
)

// Extras say what a release has beside the image.
type Extras struct {
	// Programs are packages by name. An archive has the program of its name; Beside are others in it.
	Programs map[string]string
	Beside   map[string][]string
	// Platforms of the archives, by program.
	Platforms map[string][]string
	// Manual is the program that writes manual pages, with "man --dir DIR --date DAY": archives that
	// have it have them, but for Windows, which has no man. "" = none.
	Manual string
	// Plugin is the program that Krew installs; Base the URL below which the archives will be.
	Plugin string
	Base   string
	// Subjects are those of the commits since the last release, newest first.
	Subjects []string
}

// Release makes everything into Out, which must be empty or not there: the image as a layout and as one
// file, archives, charts, CRDs, Krew's manifest, the list of changes, and SHA256SUMS over all files,
// with a key signed. It compiles each program once for each platform: many minutes with a cold cache.
func Release(ctx context.Context, o Order, x Extras) error {
	if entries, err := os.ReadDir(o.Out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: a release is made from nothing", o.Out)
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{}
	img := o
	img.Out = filepath.Join(o.Out, "image")
	opened, err := Image(ctx, img)
	if err != nil {
		return err
	}
	entries, err := entriesOf(img.Out, "")
	if err != nil {
		return err
	}
	files[fmt.Sprintf("karpenter_%s_image.tar", o.Version)], err = tarOf(o.When, entries)
	if err != nil {
		return err
	}
	for _, name := range Charts() {
		file := fmt.Sprintf("%s-%s.tgz", name, o.Version)
		files[file], err = o.chart(name, opened.Digest.String())
		if err != nil {
			return err
		}
	}
	files[fmt.Sprintf("karpenter-crds_%s.yaml", o.Version)], err = o.crds()
	if err != nil {
		return err
	}
	plugin, err := o.archives(ctx, x, files)
	if err != nil {
		return err
	}
	files["karpenter.krew.yaml"], err = o.krew(x.Base, plugin)
	if err != nil {
		return err
	}
	files["CHANGELOG.md"] = Changes(o.Version, o.When, x.Subjects)
	return o.write(files)
}

// archives adds an archive for each program and platform, and returns those of the plugin.
func (o Order) archives(ctx context.Context, x Extras, files map[string][]byte,
) ([]archived, error) {
	license, err := os.ReadFile(filepath.Join(o.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	type at struct{ name, platform string }
	built := map[at][]byte{} // each is built once, though it may be in two archives
	binary := func(name, platform string) ([]byte, error) {
		if built[at{name, platform}] == nil {
			r, err := o.recipe(x.Programs[name], platform)
			if err != nil {
				return nil, err
			}
			b, err := program.Build(ctx, r)
			if err != nil {
				return nil, err
			}
			built[at{name, platform}] = b.Binary
		}
		return built[at{name, platform}], nil
	}
	pages, err := o.pages(ctx, x.Manual, binary)
	if err != nil {
		return nil, err
	}
	var plugin []archived
	for _, name := range slices.Sorted(maps.Keys(x.Platforms)) {
		for _, platform := range slices.Sorted(slices.Values(x.Platforms[name])) {
			system, arch, _ := strings.Cut(platform, "/")
			in := []entry{{"LICENSE", 0o644, license}}
			for _, each := range append([]string{name}, x.Beside[name]...) {
				b, err := binary(each, platform)
				if err != nil {
					return nil, err
				}
				in = append(in, entry{each + extension(system), 0o755, b})
				if each == x.Manual && system != "windows" {
					in = append(in, pages...)
				}
			}
			pack, ending := tgzOf, ".tar.gz"
			if system == "windows" {
				pack, ending = zipOf, ".zip"
			}
			file := fmt.Sprintf("%s_%s_%s_%s%s", name, o.Version, system, arch, ending)
			files[file], err = pack(o.When, in)
			if err != nil {
				return nil, err
			}
			if name == x.Plugin {
				sum := sha256.Sum256(files[file])
				plugin = append(plugin, archived{file, system, arch, hex.EncodeToString(sum[:])})
			}
		}
	}
	return plugin, nil
}

// pages asks the program of this machine for its manual pages.
func (o Order) pages(ctx context.Context, name string,
	binary func(name, platform string) ([]byte, error),
) ([]entry, error) {
	if name == "" {
		return nil, nil
	}
	b, err := binary(name, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pages-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, out := filepath.Join(dir, name+extension(runtime.GOOS)), filepath.Join(dir, "man1")
	if err := os.WriteFile(file, b, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return nil, err
	}
	day := o.When.UTC().Format(time.DateOnly)
	said, err := exec.CommandContext(ctx, file, "man", "--dir", out, "--date", day).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("manual pages of %s: %w: %s", name, err, said)
	}
	return entriesOf(out, "man/man1")
}

// write puts the files into Out with their checksums, in the form that "sha256sum --check" reads.
func (o Order) write(files map[string][]byte) error {
	var sums bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	files["SHA256SUMS"] = sums.Bytes()
	if o.Key != nil {
		sig, err := o.Key.Sign(context.Background(), sums.Bytes())
		if err != nil {
			return err
		}
		public, err := o.Key.Public()
		if err != nil {
			return err
		}
		files["SHA256SUMS.sig"] = []byte(base64.StdEncoding.EncodeToString(sig) + "\n")
		files["karpenter.pub"] = public
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(o.Out, name), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}
