package ship

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
)

// Charts are those of deploy/charts, in the order in which they are installed.
func Charts() []string { return []string{"karpenter-crd", "karpenter"} }

// chart packages a chart of the release: its version is the release's, and the controller's chart names
// the image by digest, so that what is installed is what was released, whatever becomes of the tag.
func (o Order) chart(name, digest string) ([]byte, error) {
	entries, err := entriesOf(filepath.Join(o.Root, "deploy", "charts", name), name)
	if err != nil {
		return nil, err
	}
	set := func(file, from, to string) error {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name+"/"+file })
		if i < 0 || bytes.Count(entries[i].body, []byte(from)) != 1 {
			return fmt.Errorf("chart %s: %s does not say %q once", name, file, from)
		}
		entries[i].body = bytes.Replace(entries[i].body, []byte(from), []byte(to), 1)
		return nil
	}
	type change struct{ file, from, to string }
	changes := []change{
		{"Chart.yaml", "\nversion: 0.1.0\n", "\nversion: " + o.Version + "\n"},
		{"Chart.yaml", "\nappVersion: 0.1.0\n", "\nappVersion: " + o.Version + "\n"},
	}
	if name == "karpenter" {
		changes = append(changes,
			change{"values.yaml", "repository: ghcr.io/karpenter-aks/karpenter\n",
				"repository: " + o.Repository + "\n"},
			change{"values.yaml", "digest: \"\"\n", "digest: " + digest + "\n"})
	}
	for _, c := range changes {
		if err := set(c.file, c.from, c.to); err != nil {
			return nil, err
		}
	}
	return tgzOf(o.When, entries)
}

// crds are the custom resource definitions as one file for "kubectl apply --server-side".
func (o Order) crds() ([]byte, error) {
	dir := filepath.Join(o.Root, "deploy", "charts", "karpenter", "crds")
	entries, err := entriesOf(dir, "")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, e := range inOrder(entries) {
		body := bytes.TrimPrefix(bytes.TrimSpace(e.body), []byte("---\n"))
		fmt.Fprintf(&out, "---\n%s\n", body)
	}
	return out.Bytes(), nil
}
