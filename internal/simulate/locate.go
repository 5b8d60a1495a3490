package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
)

// maxCulprits bounds how many values of one object are told as wrong.
const maxCulprits = 10

// maxChecks bounds how often an object is decoded to find the values that are wrong: an object with very many fields would take
// hours otherwise.
const maxChecks = 2000

// misread says which values keep an object from being read, each with its line. The decoder names neither line nor always
// the field, so we ask it: the value without which it reads on, or complains about something else, is the culprit.
func (in *input) misread(c chunk, object []byte, err error) {
	var tree any
	if json.Unmarshal(object, &tree) != nil {
		in.bad(Problem{c.file, c.line, err.Error(), "correct it"})
		return
	}
	kind, name := "", ""
	if m, ok := tree.(map[string]any); ok {
		kind, _ = m["kind"].(string)
		if meta, ok := m["metadata"].(map[string]any); ok {
			name, _ = meta["name"].(string)
		}
	}
	what := cmp.Or(strings.TrimSpace(kind+" "+name), "an object")
	left := maxChecks
	check := func() error {
		if left--; left < 0 {
			return err // as before: nothing more is found
		}
		text, err := json.Marshal(tree)
		if err != nil {
			return err
		}
		_, err = in.reader.Check(text)
		return err
	}
	for range maxCulprits {
		p, value := culprit(spec(tree), err.Error(), check)
		if len(p) == 0 {
			in.bad(Problem{c.file, c.line, what + ": " + err.Error(), "correct it"})
			return
		}
		in.bad(Problem{c.file, in.lineOf(c, p), fmt.Sprintf("%s: %s: %s", what, p, plainly(err.Error(), value)), "correct the value, or take the field away"})
		if err = check(); err == nil {
			return
		}
	}
}

// spec is the object without what says which kind it is: without that, the decoder would say something else too.
func spec(tree any) any {
	all, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	return fields{all}
}

// fields are the fields of a whole object.
type fields struct{ all map[string]any }

// path leads to a value in an object.
type path []string

// String prints "spec.limits.cpu".
func (p path) String() string { return strings.Join(p, ".") }

// culprit finds the deepest value whose absence changes what the decoder says, and takes it away for good.
func culprit(tree any, said string, check func() error) (path, any) {
	changed := func() bool {
		err := check()
		return err == nil || err.Error() != said
	}
	root := false
	if f, ok := tree.(fields); ok {
		tree, root = f.all, true
	}
	switch t := tree.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			if root && (k == "apiVersion" || k == "kind") {
				continue
			}
			v := t[k]
			delete(t, k)
			if changed() {
				t[k] = v
				if deeper, value := culprit(v, said, check); deeper != nil {
					return append(path{k}, deeper...), value
				}
				delete(t, k)
				return path{k}, v
			}
			t[k] = v
		}
	case []any:
		for i, v := range t {
			t[i] = nil
			if changed() {
				t[i] = v
				if deeper, value := culprit(v, said, check); deeper != nil {
					return append(path{strconv.Itoa(i)}, deeper...), value
				}
				t[i] = nil
				return path{strconv.Itoa(i)}, v
			}
			t[i] = v
		}
	}
	return nil, nil
}

var goType = regexp.MustCompile(`cannot unmarshal .* of type (\S+)$`)

// plainly turns the decoder's words into those of people who do not write Go.
func plainly(said string, value any) string {
	shown, err := json.Marshal(value)
	if err != nil || len(shown) > 60 {
		shown = fmt.Appendf(nil, "a %T", value)
	}
	m := goType.FindStringSubmatch(said)
	switch {
	case strings.HasPrefix(said, "quantities must match"):
		return fmt.Sprintf("%s is not an amount such as 500m, 4 or 2Gi", shown)
	case m == nil:
		return fmt.Sprintf("%s cannot be: %s", shown, said)
	}
	want := "an object"
	switch t := m[1]; {
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"):
		want = "a whole number"
	case t == "bool":
		want = "true or false"
	case strings.HasPrefix(t, "[]"):
		want = "a list"
	case t == "string", strings.HasSuffix(t, "Operator"), strings.HasSuffix(t, "Effect"), strings.HasSuffix(t, "Policy"):
		want = "text, in quotes"
	}
	return fmt.Sprintf("%s is not %s", shown, want)
}

// fieldOf takes the path out of a strict decoder's complaint: unknown field "spec.limit".
func fieldOf(said string) []string {
	if m := unknownField.FindStringSubmatch(said); m != nil {
		return strings.FieldsFunc(m[1], func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	}
	return nil
}

// lineOf finds the line of a value, or of the deepest part of its path that is there.
func (in *input) lineOf(c chunk, p path) int {
	if !in.located.is(c) { // many are asked for in a row
		in.located.chunk, in.located.doc = c, yamlnode.Node{}
		if err := yamlnode.Unmarshal(c.yaml(), &in.located.doc); err != nil {
			in.located.doc = yamlnode.Node{}
		}
	}
	if len(in.located.doc.Content) == 0 {
		return c.line
	}
	node := in.located.doc.Content[0]
	line := node.Line
	for len(p) > 0 {
		next, used := child(node, p[0]), 1
		for next == nil && used < len(p) { // a key with dots in it
			used++
			next = child(node, strings.Join(p[:used], "."))
		}
		if next == nil {
			break
		}
		line, node, p = next.key.Line, next.value, p[used:]
	}
	return c.line + line - 1
}

// located is the chunk in which lines were looked for last.
type located struct {
	chunk
	doc yamlnode.Node
}

// is reports whether it is the chunk: the same place in memory.
func (l *located) is(c chunk) bool {
	return len(l.text) > 0 && len(l.text) == len(c.text) && &l.text[0] == &c.text[0]
}

type entry struct{ key, value *yamlnode.Node }

func child(n *yamlnode.Node, step string) *entry {
	switch n.Kind {
	case yamlnode.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return &entry{n.Content[i], n.Content[i+1]}
			}
		}
	case yamlnode.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return &entry{n.Content[i], n.Content[i]}
		}
	}
	return nil
}
