package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// object is a mapping in the order in which people write it.
type object []field

type field struct {
	name  string
	value any // string, int64, bool, object, inline, []any
}

// inline is a mapping on one line.
type inline object

// put adds a field, unless there is nothing in it.
func (o *object) put(name string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case object:
		if len(v) == 0 {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	}
	*o = append(*o, field{name, value})
}

func node(v any) *yaml.Node {
	n := &yaml.Node{}
	switch v := v.(type) {
	case object:
		n.Kind = yaml.MappingNode
		for _, f := range v {
			n.Content = append(n.Content, node(f.name), node(f.value))
		}
	case inline:
		n = node(object(v))
		n.Style = yaml.FlowStyle
	case []any:
		n.Kind = yaml.SequenceNode
		for _, x := range v {
			n.Content = append(n.Content, node(x))
		}
		if !slices.ContainsFunc(v, composed) {
			n.Style = yaml.FlowStyle
		}
	case string:
		n.SetString(v)
	default:
		n.Kind, n.Value = yaml.ScalarNode, fmt.Sprint(v)
	}
	return n
}

func composed(v any) bool {
	switch v.(type) {
	case object, inline, []any:
		return true
	}
	return false
}

// sorted is a map of texts as an object.
func sorted(m map[string]string) object {
	var out object
	for k, v := range m {
		out = append(out, field{k, v})
	}
	slices.SortFunc(out, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return out
}

// text prints all that was written. What a person should know of a pool stands above it.
func (w *writer) text() []byte {
	var b bytes.Buffer
	for _, x := range w.written {
		fmt.Fprintf(&b, "---\n# %s\n", x.from)
		for _, n := range w.notes {
			if slices.Contains(n.Pools, x.name) {
				n.Pools = nil
				fmt.Fprintf(&b, "# note: %s\n", strings.TrimPrefix(n.String(), "cluster: "))
			}
		}
		b.Write(document(x.pool))
		b.WriteString("---\n")
		b.Write(document(x.class))
	}
	return bytes.TrimPrefix(b.Bytes(), []byte("---\n"))
}

func document(o object) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(node(o)); err != nil {
		panic("migrate: what was made is no YAML: " + err.Error()) // nodes are made above
	}
	return b.Bytes()
}
