// Command karpenter-release answers: how are the image and the files of a release made?
//
// It reads what git says about the sources and hands over to the packages beside it. "make image" and
// "make release" run it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/release/image"
	"github.com/karpenter-aks/karpenter/release/proof"
	"github.com/karpenter-aks/karpenter/release/ship"
)

const (
	source     = "https://github.com/karpenter-aks/karpenter"
	repository = "ghcr.io/karpenter-aks/karpenter"
	controller = "github.com/karpenter-aks/karpenter/cmd/karpenter"
	lab        = "github.com/karpenter-aks/karpenter/plane/cmd/karpenter-lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "karpenter-release",
		Short:         "Make the image and the files of a release",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(imageCommand(), releaseCommand())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, "karpenter-release:", err)
		return 1
	}
	return 0
}

// flags are those that both commands have.
type flags struct {
	root, out, version, repository, builder, key string
	platforms                                    []string
	fips, push                                   bool
}

func (f *flags) add(c *cobra.Command, out string) {
	fs := c.Flags()
	fs.StringVar(&f.root, "root", ".", "directory of the repository")
	fs.StringVar(&f.out, "out", out, "directory to write into")
	fs.StringVar(&f.version, "version", "", "version (default: what git describes)")
	fs.StringVar(&f.repository, "repository", repository, "repository of the image")
	fs.StringVar(&f.builder, "builder", source+"/blob/main/docs/release.md#by-hand",
		"URI that says who builds, for the provenance")
	fs.StringVar(&f.key, "key", "", "file with a private key in PEM (ECDSA, P-256) to sign with")
	fs.StringSliceVar(&f.platforms, "platforms", []string{"linux/amd64", "linux/arm64"},
		"platforms of the image; \"host\" is that of this machine")
	fs.BoolVar(&f.fips, "fips", false, "build with Go's FIPS 140-3 module, which is then in use")
	fs.BoolVar(&f.push, "push", false, "push the image to its repository")
}

// order asks git for what no flag says.
func (f *flags) order(ctx context.Context) (ship.Order, error) {
	root, err := filepath.Abs(f.root)
	if err != nil {
		return ship.Order{}, err
	}
	o := ship.Order{
		Root: root, Package: controller, Out: f.out, Source: source,
		Repository: f.repository, Builder: f.builder, FIPS: f.fips,
	}
	for _, p := range f.platforms {
		if p == "host" {
			p = "linux/" + runtime.GOARCH
		}
		o.Platforms = append(o.Platforms, p)
	}
	if f.version == "" {
		f.version, err = git(ctx, root, "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return o, err
		}
	}
	o.Version = semantic(f.version)
	if o.Revision, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
		return o, err
	}
	if o.When, err = commitTime(ctx, root); err != nil {
		return o, err
	}
	if f.key != "" {
		text, err := os.ReadFile(f.key)
		if err != nil {
			return o, err
		}
		if o.Key, err = proof.ReadKey(text); err != nil {
			return o, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	return o, nil
}

// commitTime is what SOURCE_DATE_EPOCH says (reproducible-builds.org), or git.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		text, err = git(ctx, root, "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the sources: %w", err)
	}
	return time.Unix(seconds, 0), nil
}

// semantic makes a version of what git describes: charts and Krew take no other. A commit without a
// tag is before everything.
func semantic(described string) string {
	v := strings.TrimPrefix(described, "v")
	if _, err := semver.StrictNewVersion(v); err != nil {
		return "0.0.0-g" + v
	}
	return v
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w (outside of a clone, say --version)", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

func imageCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "image",
		Short: "Build the controller's image as an OCI layout, with its papers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.order(cmd.Context())
			if err != nil {
				return err
			}
			opened, err := ship.Image(cmd.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s:%s@%s\n", o.Repository, o.Version, opened.Digest)
			return f.pushed(cmd, o, opened)
		},
	}
	f.add(c, "bin/image")
	return c
}

func (f *flags) pushed(cmd *cobra.Command, o ship.Order, opened *image.Opened) error {
	if !f.push {
		return nil
	}
	return image.Push(opened, o.Repository, remote.WithContext(cmd.Context()),
		remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

func releaseCommand() *cobra.Command {
	var f flags
	var programs, labs []string
	c := &cobra.Command{
		Use:   "release",
		Short: "Make everything that a release consists of",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.order(cmd.Context())
			if err != nil {
				return err
			}
			subjects, err := subjects(cmd.Context(), o.Root)
			if err != nil {
				return err
			}
			err = ship.Release(cmd.Context(), o, ship.Extras{
				Programs:  map[string]string{"karpenter": controller, "karpenter-lab": lab},
				Beside:    map[string][]string{"karpenter-lab": {"karpenter"}},
				Platforms: map[string][]string{"karpenter": programs, "karpenter-lab": labs},
				Manual:    "karpenter", Plugin: "karpenter",
				Base:     source + "/releases/download/v" + o.Version,
				Subjects: subjects,
			})
			if err != nil {
				return err
			}
			opened, err := image.Open(filepath.Join(o.Out, "image"))
			if err != nil {
				return err
			}
			return f.pushed(cmd, o, opened)
		},
	}
	f.add(c, "bin/release")
	c.Flags().StringSliceVar(&programs, "program-platforms", []string{"linux/amd64", "linux/arm64",
		"darwin/amd64", "darwin/arm64", "windows/amd64"}, "platforms of the program's archives")
	c.Flags().StringSliceVar(&labs, "lab-platforms", []string{"linux/amd64", "linux/arm64"},
		"platforms of the lab's archives")
	return c
}

// subjects are those of the commits since the last tag before this one; of all, if there is none.
func subjects(ctx context.Context, root string) ([]string, error) {
	last, err := git(ctx, root, "describe", "--tags", "--abbrev=0", "HEAD^")
	span := "HEAD"
	if err == nil {
		span = last + "..HEAD"
	}
	out, err := git(ctx, root, "log", "--no-merges", "--format=%s", span)
	if err != nil {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}
