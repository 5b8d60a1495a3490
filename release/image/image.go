// Package image answers: of which bytes is the controller's image made?
//
// One layer holds the static program and the root certificates that it trusts, and nothing else: no
// shell, no package manager, no user but a number. The same parts give the same bytes, wherever and
// whenever they are put together. It compiles nothing and talks to no registry.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// Program is where the controller is in the image: its entrypoint.
	Program = "/karpenter"
	// Certificates is where Go's crypto/x509 looks first on Linux.
	Certificates = "/etc/ssl/certs/ca-certificates.crt"
	// User is the number that the chart's security context names, too: nobody of any distribution.
	User = "65532:65532"
)

// Part is the program of one platform.
type Part struct {
	Platform v1.Platform
	Binary   []byte
}

// About is what an image says of itself.
type About struct {
	Version  string
	Revision string // commit
	Source   string // URL of the sources
	// Created is the commit's time, never the clock's: a build of today and one of tomorrow agree.
	Created time.Time
}

// Build makes an index with one image for each part, in the order of their platforms.
func Build(about About, parts []Part) (v1.ImageIndex, error) {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int {
		return strings.Compare(a.Platform.String(), b.Platform.String())
	})
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range parts {
		img, err := one(about, p)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &p.Platform},
		})
	}
	return mutate.Annotations(index, labels(about)).(v1.ImageIndex), nil
}

func one(about About, p Part) (v1.Image, error) {
	raw, err := layer(about.Created, p.Binary)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	l, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	created := v1.Time{Time: about.Created.UTC()}
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		Created: created, OS: p.Platform.OS, Architecture: p.Platform.Architecture,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: User, Entrypoint: []string{Program}, WorkingDir: "/",
			Env:    []string{"SSL_CERT_FILE=" + Certificates},
			Labels: labels(about),
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{
		Layer:   l,
		History: v1.History{Created: created, CreatedBy: "karpenter-release image"},
	})
}

// labels are the annotations that the OCI image specification names.
func labels(about About) map[string]string {
	const ns = "org.opencontainers.image."
	return map[string]string{
		ns + "title":       "karpenter",
		ns + "description": "Karpenter for AKS, a node autoscaler",
		ns + "licenses":    "Apache-2.0",
		ns + "source":      about.Source,
		ns + "version":     about.Version,
		ns + "revision":    about.Revision,
		ns + "created":     about.Created.UTC().Format(time.RFC3339),
	}
}

// layer is the image's file system as a tar archive. Everything belongs to root and nobody may write.
func layer(when time.Time, binary []byte) ([]byte, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, mode int64, body []byte) error {
		h := &tar.Header{
			Name: strings.TrimPrefix(name, "/"), Mode: mode, Size: int64(len(body)),
			Typeflag: tar.TypeReg, ModTime: when.UTC().Truncate(time.Second),
		}
		if body == nil {
			h.Name, h.Typeflag = h.Name+"/", tar.TypeDir
		}
		err := w.WriteHeader(h)
		if err != nil {
			return err
		}
		_, err = w.Write(body)
		return err
	}
	for dir := range strings.SplitSeq("/etc /etc/ssl "+path.Dir(Certificates), " ") {
		if err := add(dir, 0o755, nil); err != nil {
			return nil, err
		}
	}
	if err := add(Certificates, 0o444, roots); err != nil {
		return nil, err
	}
	if err := add(Program, 0o555, binary); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// certificates are Mozilla's root certificates, as the module golang.org/x/crypto/x509roots/fallback
// has them: which ones is decided by go.mod and not by the machine that builds. Roots that are only
// trusted for a time are left out, because a file of certificates cannot say so.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("root certificate: %w", err)
		}
		fmt.Fprintf(&out, "# %s\n", c.Subject)
		err = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
