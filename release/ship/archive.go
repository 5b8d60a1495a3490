package ship

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // with slashes
	mode int64
	body []byte
}

// tarOf is a tar archive of the entries, in the order of their names. Nothing in it depends on who
// packs, and when.
func tarOf(when time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range inOrder(entries) {
		h := &tar.Header{
			Name: e.name, Mode: e.mode, Size: int64(len(e.body)), Typeflag: tar.TypeReg,
			ModTime: when.UTC().Truncate(time.Second),
		}
		err := w.WriteHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// tgzOf is the same, compressed. The header of gzip carries no name and no time.
func tgzOf(when time.Time, entries []entry) ([]byte, error) {
	raw, err := tarOf(when, entries)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// zipOf is a zip archive, which is what Windows opens.
func zipOf(when time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range inOrder(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(fs.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func inOrder(in []entry) []entry {
	return slices.SortedFunc(slices.Values(in), func(a, b entry) int {
		return strings.Compare(a.name, b.name)
	})
}

// entriesOf reads the files below a directory, under another name.
func entriesOf(dir, as string) ([]entry, error) {
	var out []entry
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, p)
		out = append(out, entry{name: path.Join(as, p), mode: 0o644, body: body})
		return err
	})
	return out, err
}
