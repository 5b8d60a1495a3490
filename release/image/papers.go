package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Kinds of papers, as artifact types of OCI 1.1.
const (
	KindSBOM       = "application/vnd.cyclonedx+json"
	KindProvenance = "application/vnd.in-toto+json"
	KindEnvelope   = "application/vnd.dsse.envelope.v1+json"
	KindSignature  = "application/vnd.dev.cosign.artifact.sig.v1+json"

	// signaturePayload is the layer's type in cosign's signatures, signatureNote where the signature is.
	signaturePayload = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureNote    = "dev.cosignproject.cosign/signature"
	// refName names an entry of a layout.
	refName = "org.opencontainers.image.ref.name"
)

// Paper is something said about an image.
type Paper struct {
	Kind  string
	About v1.Descriptor // of the index or of one image in it
	Body  []byte
	// Signature in base64, of a paper of KindSignature.
	Signature string
}

// manifest is the paper as an OCI manifest with a subject: registries of OCI 1.1 list it as a referrer.
func (p Paper) manifest() (v1.Image, error) {
	media, notes := p.Kind, map[string]string(nil)
	if p.Kind == KindSignature {
		media, notes = signaturePayload, map[string]string{signatureNote: p.Signature}
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.MediaType(p.Kind))
	img, err := mutate.Append(img, mutate.Addendum{
		Layer: static.NewLayer(p.Body, types.MediaType(media)), Annotations: notes,
		MediaType: types.MediaType(media),
	})
	if err != nil {
		return nil, err
	}
	about := p.About
	about.Platform, about.Annotations = nil, nil
	return mutate.Subject(img, about).(v1.Image), nil
}

// Write makes an OCI layout of an index and the papers about it. What was in the directory is removed
// if it was a layout, and refused if it was anything else.
func Write(dir, version string, index v1.ImageIndex, papers []Paper) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
			return fmt.Errorf("%s is there and not an image layout: name another directory", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	to, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	err = to.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: version}))
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	for _, p := range papers {
		img, err := p.manifest()
		if err != nil {
			return err
		}
		if err := to.WriteImage(img); err != nil {
			return fmt.Errorf("write %s: %w", p.Kind, err)
		}
		desc, err := partial.Descriptor(img)
		if err != nil {
			return err
		}
		desc.ArtifactType = p.Kind
		if err := to.AppendDescriptor(*desc); err != nil {
			return err
		}
	}
	return nil
}

// Opened is a layout that was read.
type Opened struct {
	Path    layout.Path
	Index   v1.ImageIndex
	Version string
	Digest  v1.Hash
	papers  []v1.Descriptor
}

// Open reads a layout that Write made.
func Open(dir string) (*Opened, error) {
	p, err := layout.FromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	all, err := p.ImageIndex()
	if err != nil {
		return nil, err
	}
	m, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	out := &Opened{Path: p}
	for _, d := range m.Manifests {
		if !d.MediaType.IsIndex() {
			out.papers = append(out.papers, d)
			continue
		}
		out.Digest, out.Version = d.Digest, d.Annotations[refName]
		out.Index, err = all.ImageIndex(d.Digest)
		if err != nil {
			return nil, err
		}
	}
	if out.Index == nil {
		return nil, fmt.Errorf("no image index in %s", dir)
	}
	return out, nil
}

// Papers returns what is said about the image and its parts, in the order in which it was written.
func (o *Opened) Papers() ([]Paper, error) {
	var out []Paper
	for _, d := range o.papers {
		raw, err := o.Path.Bytes(d.Digest)
		if err != nil {
			return nil, err
		}
		var m v1.Manifest
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		if m.Subject == nil || len(m.Layers) != 1 {
			return nil, fmt.Errorf("%s is about nothing, or about more than one thing", d.Digest)
		}
		body, err := o.Path.Bytes(m.Layers[0].Digest)
		if err != nil {
			return nil, err
		}
		out = append(out, Paper{
			Kind: d.ArtifactType, About: *m.Subject, Body: body,
			Signature: m.Layers[0].Annotations[signatureNote],
		})
	}
	return out, nil
}

// Push copies a layout to a registry: the image under its version, the papers as referrers, and the
// signature also under the tag where cosign looks in registries without referrers. It may be repeated.
func Push(o *Opened, repository string, opts ...remote.Option) error {
	repo, err := name.NewRepository(repository)
	if err != nil {
		return err
	}
	// The image comes first: a referrer without its subject is refused by some registries.
	if err := remote.WriteIndex(repo.Tag(o.Version), o.Index, opts...); err != nil {
		return fmt.Errorf("push %s: %w", repo.Tag(o.Version), err)
	}
	for _, d := range o.papers {
		img, err := o.Path.Image(d.Digest)
		if err != nil {
			return err
		}
		refs := []name.Reference{repo.Digest(d.Digest.String())}
		if d.ArtifactType == KindSignature {
			tag := strings.ReplaceAll(o.Digest.String(), ":", "-") + ".sig"
			refs = append(refs, repo.Tag(tag))
		}
		for _, ref := range refs {
			if err := remote.Write(ref, img, opts...); err != nil {
				return fmt.Errorf("push %s: %w", ref, err)
			}
		}
	}
	return nil
}
