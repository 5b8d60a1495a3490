// Package crds answers: which custom resources does the product serve, byte for byte?
//
// It takes the schema generated from the Go types of AKSNodeClass and the published CRDs of karpenter.sh, adds the rules
// about Azure's labels to the latter, and renders both charts' copies. It installs nothing and talks to no cluster.
package crds

import (
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/yaml"
)

//go:generate env GOWORK=off go tool -modfile=../../tools.mod controller-gen object crd paths=../azure/... output:crd:dir=aks
//go:generate go run ./gen ../../deploy/charts

//go:embed aks/karpenter.azure.com_aksnodeclasses.yaml
var aksNodeClass []byte

// File is one CRD.
type File struct {
	Name string // file name, <group>_<plural>.yaml
	// Plain is the CRD as it is applied.
	Plain []byte
	// Template is the same as a chart template, with one hook for annotations that the installer wants on it.
	Template []byte
}

// Hook is the chart template line that stands first among a template's annotations.
const Hook = "    {{- with .Values.additionalAnnotations }}{{- toYaml . | nindent 4 }}{{- end }}\n"

// source is where one CRD comes from, and what becomes of it.
type source struct {
	name, group, kind string
	raw               []byte
	edit              func(schema any) int // returns how many places it changed
	want              int
}

func sources() []source {
	return []source{
		{"autoscaling.x-k8s.io_capacitybuffers.yaml", "autoscaling.x-k8s.io", "CapacityBuffer", apis.CapacityBufferCRD, nil, 0},
		{"karpenter.azure.com_aksnodeclasses.yaml", "karpenter.azure.com", "AKSNodeClass", aksNodeClass, relaxReasons, 2},
		{"karpenter.sh_nodeclaims.yaml", apis.Group, "NodeClaim", apis.NodeClaimCRD, restrictLabels, 1},
		{"karpenter.sh_nodeoverlays.yaml", apis.Group, "NodeOverlay", apis.NodeOverlayCRD, restrictLabels, 1},
		{"karpenter.sh_nodepools.yaml", apis.Group, "NodePool", apis.NodePoolCRD, restrictLabels, 2},
	}
}

// document is the CRD as served.
func (s source) document() (map[string]any, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(s.raw, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	if s.edit != nil {
		if got := s.edit(doc["spec"]); got != s.want {
			return nil, fmt.Errorf("edit %s: changed %d places, want %d", s.name, got, s.want)
		}
	}
	return doc, nil
}

// Definition returns the CRD of a kind, as the caller's own; nil when the product serves no such kind. It fails only when a source has
// lost the shape this package relies on.
func Definition(group, kind string) (map[string]any, error) {
	for _, s := range sources() {
		if s.group == group && s.kind == kind {
			return s.document()
		}
	}
	return nil, nil
}

// Files returns every CRD the product serves, sorted by name. It fails when Definition does.
func Files() ([]File, error) {
	var out []File
	for _, s := range sources() {
		doc, err := s.document()
		if err != nil {
			return nil, err
		}
		f, err := render(s.name, doc)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func render(name string, doc map[string]any) (File, error) {
	plain, err := yaml.Marshal(doc)
	if err != nil {
		return File{}, fmt.Errorf("render %s: %w", name, err)
	}
	const anchor = "metadata:\n  annotations:\n"
	text := string(plain)
	if strings.Contains(text, "{{") {
		return File{}, fmt.Errorf("render %s: contains %q, which a chart would read as a template", name, "{{")
	}
	if strings.Count(text, anchor) != 1 {
		return File{}, fmt.Errorf("render %s: no annotations to add to", name)
	}
	return File{
		Name:     name,
		Plain:    plain,
		Template: []byte(strings.Replace(text, anchor, anchor+Hook, 1)),
	}, nil
}

// walk calls f on every map below v, in no particular order.
func walk(v any, f func(map[string]any)) {
	switch t := v.(type) {
	case map[string]any:
		f(t)
		for _, c := range t {
			walk(c, f)
		}
	case []any:
		for _, c := range t {
			walk(c, f)
		}
	}
}

// relaxReasons lets a condition have an empty reason: clusters hold such conditions already, and a schema that refuses
// them would refuse every later status update.
func relaxReasons(spec any) int {
	n := 0
	walk(spec, func(m map[string]any) {
		props, _ := m["properties"].(map[string]any)
		reason, _ := props["reason"].(map[string]any)
		if _, is := props["lastTransitionTime"]; !is || reason == nil {
			return
		}
		delete(reason, "minLength")
		reason["pattern"] = `^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$`
		n++
	})
	return n
}
