package assemble

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	imagespec "github.com/opencontainers/image-spec/specs-go/v1"
)

// maxManifest bounds what is read of an image's indexes, manifests and configurations; ours have a few KB.
const maxManifest = 4 << 20

// An Image is an OCI layout on disk, as "make image" writes it.
type Image struct{ Dir string }

// Digest is that of the image's index: what a chart names.
func (i Image) Digest() (string, error) {
	d, err := i.index()
	return string(d.Digest), err
}

func (i Image) index() (imagespec.Descriptor, error) {
	raw, err := os.ReadFile(filepath.Join(i.Dir, imagespec.ImageIndexFile))
	if err != nil {
		return imagespec.Descriptor{}, fmt.Errorf("read the image: %w (make image writes one)", err)
	}
	var all imagespec.Index
	if err := json.Unmarshal(raw, &all); err != nil {
		return imagespec.Descriptor{}, fmt.Errorf("read %s: %w", i.Dir, err)
	}
	for _, d := range all.Manifests {
		if d.MediaType == imagespec.MediaTypeImageIndex {
			return d, nil
		}
	}
	return imagespec.Descriptor{}, fmt.Errorf("no image index in %s", i.Dir)
}

// Unpack writes the program that a container of this image would run on this machine to a file, and
// returns what the image's configuration adds to its environment. Every digest on the way is checked,
// from the index down to the layer, as a container runtime does.
func (i Image) Unpack(file string) (env []string, err error) {
	top, err := i.index()
	if err != nil {
		return nil, err
	}
	var index imagespec.Index
	if err := i.document(top, &index); err != nil {
		return nil, err
	}
	for _, d := range index.Manifests {
		if d.Platform == nil || d.Platform.OS != runtime.GOOS || d.Platform.Architecture != runtime.GOARCH {
			continue
		}
		var m imagespec.Manifest
		if err := i.document(d, &m); err != nil {
			return nil, err
		}
		var c imagespec.Image
		if err := i.document(m.Config, &c); err != nil {
			return nil, err
		}
		if len(c.Config.Entrypoint) != 1 {
			return nil, fmt.Errorf("the image's entrypoint is %q: want one program", c.Config.Entrypoint)
		}
		for _, l := range m.Layers {
			found, err := i.extract(l, strings.TrimPrefix(c.Config.Entrypoint[0], "/"), file)
			if err != nil {
				return nil, err
			}
			if found {
				return c.Config.Env, nil
			}
		}
		return nil, fmt.Errorf("no layer of the image has its entrypoint %s", c.Config.Entrypoint[0])
	}
	return nil, fmt.Errorf("the image in %s is not for %s/%s", i.Dir, runtime.GOOS, runtime.GOARCH)
}

// blob opens a blob for reading; sum is its digest once everything was read.
func (i Image) blob(d imagespec.Descriptor) (*os.File, error) {
	sum, ok := strings.CutPrefix(string(d.Digest), "sha256:")
	if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size {
		return nil, fmt.Errorf("digest %q: want sha256", d.Digest)
	}
	return os.Open(filepath.Join(i.Dir, imagespec.ImageBlobsDir, "sha256", sum))
}

func (i Image) document(d imagespec.Descriptor, into any) error {
	f, err := i.blob(d)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(raw)); got != string(d.Digest) {
		return fmt.Errorf("the image is damaged: %s is %s", d.Digest, got)
	}
	return json.Unmarshal(raw, into)
}

// extract writes a file of a layer, and reports whether the layer has it.
func (i Image) extract(d imagespec.Descriptor, name, to string) (bool, error) {
	f, err := i.blob(d)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum := sha256.New()
	read := io.TeeReader(f, sum)
	z, err := gzip.NewReader(read)
	if err != nil {
		return false, fmt.Errorf("layer %s: %w", d.Digest, err)
	}
	found := false
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("layer %s: %w", d.Digest, err)
		}
		if h.Name != name || h.Typeflag != tar.TypeReg {
			continue
		}
		found = true
		if err := write(to, r, os.FileMode(h.Mode).Perm()); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, z); err != nil {
		return false, fmt.Errorf("layer %s: %w", d.Digest, err)
	}
	if _, err := io.Copy(io.Discard, read); err != nil { // what stands behind the archive counts, too
		return false, err
	}
	if got := fmt.Sprintf("sha256:%x", sum.Sum(nil)); got != string(d.Digest) {
		_ = os.Remove(to) // what we cannot vouch for is not left to be run
		return false, fmt.Errorf("the image is damaged: %s is %s", d.Digest, got)
	}
	return found, nil
}

func write(file string, from io.Reader, mode os.FileMode) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
