package convert

import yaml "go.yaml.in/yaml/v3"

// The functions below read and change mappings. A nil node is an empty one.

func scalar(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// index is where the key stands in the mapping's content, or -1.
func index(m *yaml.Node, key string) int {
	if m == nil || m.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// get returns the value of the key, or nil.
func get(m *yaml.Node, key string) *yaml.Node {
	if i := index(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

// text returns the value of the key when it is a scalar.
func text(m *yaml.Node, key string) string {
	if n := get(m, key); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

// set puts the value at the key: in its place when there is one, which keeps its comments, else at the end.
func set(m *yaml.Node, key string, value *yaml.Node) {
	if i := index(m, key); i >= 0 {
		old := m.Content[i+1]
		value.HeadComment, value.LineComment, value.FootComment = old.HeadComment, old.LineComment, old.FootComment
		m.Content[i+1] = value
		return
	}
	m.Content = append(m.Content, scalar(key), value)
}

// first puts a new key at the beginning.
func first(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append([]*yaml.Node{scalar(key), value}, m.Content...)
}

// cut takes the key out and returns its value, or nil.
func cut(m *yaml.Node, key string) *yaml.Node {
	i := index(m, key)
	if i < 0 {
		return nil
	}
	value := m.Content[i+1]
	m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
	return value
}

// child returns the mapping at the key, which it makes when there is none.
func child(m *yaml.Node, key string) *yaml.Node {
	if n := get(m, key); n != nil && n.Kind == yaml.MappingNode {
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	set(m, key, n)
	return n
}
