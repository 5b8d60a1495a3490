package values

import (
	"encoding/json"
	"fmt"
	"strings"
)

// YAML prints a values file. Each value stands with its source, and what is missing stands as a comment where it belongs.
func (f File) YAML() string {
	var b strings.Builder
	found := map[string]Value{}
	for _, v := range f.Values {
		found[v.Path] = v
	}
	missing := map[string]Missing{}
	for _, m := range f.Missing {
		missing[m.Path] = m
	}
	section := ""
	for _, path := range append(Keys(), "serviceAccount.name") {
		v, have := found[path]
		m, lacks := missing[path]
		if !have && !lacks {
			continue
		}
		parts := strings.Split(path, ".")
		section = heads(&b, section, parts[:len(parts)-1])
		indent := strings.Repeat("  ", len(parts)-1)
		name := parts[len(parts)-1]
		if lacks {
			fmt.Fprintf(&b, "%s# %s is missing: %s\n", indent, name, m.Need)
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s # %s\n", indent, name, v.yaml(), v.From)
	}
	return b.String()
}

// heads opens the sections that a value stands in, beside those that are open.
func heads(b *strings.Builder, open string, want []string) string {
	for i := range want {
		head := strings.Join(want[:i+1], ".")
		if open != head && !strings.HasPrefix(open, head+".") {
			fmt.Fprintf(b, "%s%s:\n", strings.Repeat("  ", i), want[i])
		}
	}
	return strings.Join(want, ".")
}

// yaml is the value as JSON, which is YAML.
func (v Value) yaml() string {
	var out any = v.Text
	if listed(v.Path) {
		out = strings.Split(v.Text, ",")
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic("values: text is not JSON: " + err.Error())
	}
	return strings.ReplaceAll(string(raw), `","`, `", "`)
}

func listed(path string) bool {
	for _, k := range keys() {
		if k.path == path {
			return k.list
		}
	}
	return false
}

// Told are the lines for a person beside the file: what is missing and how it is found, what sources say differently, notes.
func (f File) Told() []string {
	var out []string
	for _, m := range f.Missing {
		out = append(out, fmt.Sprintf("missing: %s: %s\n  find it: %s\n  or: --set %s=…",
			m.Path, m.Need, m.Ask, m.Path))
	}
	for _, d := range f.Disputes {
		out = append(out, fmt.Sprintf("disputed: %s is %q for %s and %q for %s: the first was "+
			"taken",
			d.Path, d.Taken.Text, d.Taken.From, d.Other.Text, d.Other.From))
	}
	for _, n := range f.Notes {
		out = append(out, "note: "+n)
	}
	return out
}
