package story

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/karpenter-aks/karpenter/plane/assemble"
	"github.com/karpenter-aks/karpenter/plane/helm"
)

// manifestsAreValid asks the API server, strictly, about every manifest of the repository: the examples, our definitions, the lab's
// DaemonSets, and what both charts render to. Those of older versions are refused, which is what convert is for; knobs are the lab's and no manifests.
func (l *lab) manifestsAreValid(h *helm.Helm) {
	l.t.Helper()
	strict := []string{"kubectl", "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f"}
	asked := 0
	ask := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "older" || d.Name() == "knobs") {
			return firstOf(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return nil
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		l.do(append(strict, full)...)
		asked++
		return nil
	}
	for _, root := range []string{"examples", "api/crds/aks", "lab/kubelet/manifests"} {
		before := asked
		if err := filepath.WalkDir(filepath.Join("..", "..", root), ask); err != nil || asked == before {
			l.t.Fatalf("%d manifests in %s, %v", asked-before, root, err)
		}
	}
	for _, name := range []string{assemble.Release, "karpenter-crd"} {
		history, err := h.History(name)
		if err != nil {
			l.t.Fatal(err)
		}
		file := filepath.Join(l.t.TempDir(), name+".yaml")
		manifest := history[len(history)-1].Manifest
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			l.t.Fatal(err)
		}
		l.do(append(strict, file)...)
	}
	wrong := filepath.Join(l.t.TempDir(), "wrong.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wrong, namespace: default}\nnothing: {}\n"
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if out, err := l.try(append(strict, wrong)...); err == nil {
		l.t.Errorf("a field that there is not is taken: nothing was checked\n%s", out)
	}
}

func firstOf(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
