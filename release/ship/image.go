// Package ship answers: which files does a release consist of?
//
// It builds programs, puts them into an image and archives, packages the charts, and writes what goes
// with these: checksums, papers, a manifest for Krew, a list of changes. It uploads nothing; image.Push
// does that for the image.
package ship

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/karpenter-aks/karpenter/release/image"
	"github.com/karpenter-aks/karpenter/release/program"
	"github.com/karpenter-aks/karpenter/release/proof"
)

// Order says what to make.
type Order struct {
	// Root is the repository's directory, Package what becomes the controller.
	Root    string
	Package string
	// Out is where the results go.
	Out string
	// Version without a leading v; Revision is the commit, When its time.
	Version  string
	Revision string
	When     time.Time
	// Source is the repository's URL, Repository that of the image.
	Source     string
	Repository string
	Builder    string
	Platforms  []string // "linux/amd64"
	FIPS       bool
	Key        *proof.Key // nil: nothing is signed
}

func (o Order) recipe(pkg, platform string) (program.Recipe, error) {
	os, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return program.Recipe{}, fmt.Errorf("platform %q: want os/architecture", platform)
	}
	return program.Recipe{
		Dir: o.Root, Package: pkg, OS: os, Arch: arch, Version: o.Version, FIPS: o.FIPS,
	}, nil
}

// Image builds the controller for each platform and writes the image with its papers as an OCI layout
// into Out. The same order gives the same bytes.
func Image(ctx context.Context, o Order) (*image.Opened, error) {
	var built []*program.Built
	var parts []image.Part
	for _, p := range slices.Sorted(slices.Values(o.Platforms)) {
		r, err := o.recipe(o.Package, p)
		if err != nil {
			return nil, err
		}
		b, err := program.Build(ctx, r)
		if err != nil {
			return nil, err
		}
		built = append(built, b)
		parts = append(parts, image.Part{
			Platform: v1.Platform{OS: r.OS, Architecture: r.Arch}, Binary: b.Binary,
		})
	}
	about := image.About{
		Version: o.Version, Revision: o.Revision, Source: o.Source, Created: o.When,
	}
	index, err := image.Build(about, parts)
	if err != nil {
		return nil, err
	}
	papers, err := o.papers(ctx, index, built)
	if err != nil {
		return nil, err
	}
	if err := image.Write(o.Out, o.Version, index, papers); err != nil {
		return nil, err
	}
	return image.Open(o.Out)
}

// papers are a bill of materials for each platform, one statement of provenance about all of them,
// and with a key a signature of the index, which names the images by digest.
func (o Order) papers(ctx context.Context, index v1.ImageIndex, built []*program.Built,
) ([]image.Paper, error) {
	whole, err := partial.Descriptor(index)
	if err != nil {
		return nil, err
	}
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var out []image.Paper
	subjects := []proof.Subject{subject(o.Repository, whole.Digest)}
	for i, d := range m.Manifests {
		sbom, err := proof.SBOM(built[i], o.Version, o.When)
		if err != nil {
			return nil, err
		}
		out = append(out, image.Paper{Kind: image.KindSBOM, About: d, Body: sbom})
		subjects = append(subjects, subject(o.Repository+"/"+d.Platform.String(), d.Digest))
	}
	statement, err := proof.Provenance(o.making(subjects, built))
	if err != nil {
		return nil, err
	}
	out = append(out, image.Paper{Kind: image.KindProvenance, About: *whole, Body: statement})
	if o.Key == nil {
		return out, nil
	}
	envelope, err := proof.Envelope(ctx, o.Key, statement)
	if err != nil {
		return nil, err
	}
	sig, err := proof.SignImage(o.Key, o.Repository, whole.Digest.String())
	if err != nil {
		return nil, err
	}
	return append(out,
		image.Paper{Kind: image.KindEnvelope, About: *whole, Body: envelope},
		image.Paper{
			Kind: image.KindSignature, About: *whole, Body: sig.Payload, Signature: sig.Base64,
		}), nil
}

func (o Order) making(subjects []proof.Subject, built []*program.Built) proof.Making {
	sources := []proof.Source{{
		URI: "git+" + o.Source, Digest: map[string]string{"gitCommit": o.Revision},
	}}
	seen := map[string]bool{}
	for _, b := range built {
		for _, d := range b.Info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			if d.Sum == "" || seen[d.Path] {
				continue
			}
			seen[d.Path] = true
			sources = append(sources, proof.Source{
				URI:    "pkg:golang/" + d.Path + "@" + d.Version,
				Digest: map[string]string{"goModuleH1": strings.TrimPrefix(d.Sum, "h1:")},
			})
		}
	}
	slices.SortFunc(sources[1:], func(a, b proof.Source) int {
		return strings.Compare(a.URI, b.URI)
	})
	return proof.Making{
		Subjects: subjects, Sources: sources, Builder: o.Builder, When: o.When,
		External: map[string]any{
			"version": o.Version, "platforms": o.Platforms, "fips": o.FIPS, "package": o.Package,
		},
		Internal: map[string]any{
			"environment": built[0].Recipe.Environment(),
			"arguments":   built[0].Recipe.Arguments("program"),
			"go":          built[0].Info.GoVersion,
		},
	}
}

func subject(name string, h v1.Hash) proof.Subject {
	return proof.Subject{Name: name, Digest: map[string]string{h.Algorithm: h.Hex}}
}
