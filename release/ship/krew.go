package ship

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// archived is a program's archive, and where it runs.
type archived struct {
	file, os, arch string
	sum            string // SHA-256 in hex
}

// krew is the manifest with which Krew installs the program as "kubectl karpenter". The names of fields
// are those of krew.googlecontainertools.github.com/v1alpha2.
func (o Order) krew(base string, archives []archived) ([]byte, error) {
	type selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
	type file struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	type platform struct {
		Selector selector `json:"selector"`
		URI      string   `json:"uri"`
		Sum      string   `json:"sha256"`
		Bin      string   `json:"bin"`
		Files    []file   `json:"files"`
	}
	var platforms []platform
	for _, a := range archives {
		bin := "karpenter" + extension(a.os)
		platforms = append(platforms, platform{
			Selector: selector{map[string]string{"os": a.os, "arch": a.arch}},
			URI:      strings.TrimSuffix(base, "/") + "/" + a.file, Sum: a.sum, Bin: bin,
			Files: []file{{bin, "."}, {"LICENSE", "."}},
		})
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]any{"name": "karpenter"},
		"spec": map[string]any{
			"version":          "v" + o.Version,
			"homepage":         o.Source,
			"shortDescription": "Ask Karpenter for AKS what it would buy and why",
			"description": "Explains why a node stays or goes, says what would be bought " +
				"for a dump of a cluster and why, and converts manifests of older " +
				"versions. Needs no access to the cloud.",
			"platforms": platforms,
		},
	})
}

func extension(os string) string {
	if os == "windows" {
		return ".exe"
	}
	return ""
}
