// Package crddiff answers: how do a cluster's custom resource definitions differ from ours?
//
// It compares definitions as values and says who takes care of one. Descriptions do not count, nor what an API server fills in. It reads no
// cluster and changes none.
package crddiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind says on which side something is.
type Kind string

// The kinds of differences.
const (
	// Absent is in ours and not in the cluster's: what people or the controller write there is lost or refused.
	Absent Kind = "absent"
	// Extra is in the cluster's and not in ours.
	Extra Kind = "extra"
	// Other is in both and not the same.
	Other Kind = "other"
)

// Change is one difference.
type Change struct {
	// Where is a version and a field of its objects, "v1 spec.template.spec.expireAfter", or a part of the definition, "scope".
	Where string `json:"where"`
	Kind  Kind   `json:"kind"`
	// What is "field", "version", or the keyword of the schema that differs, such as "enum".
	What string `json:"what"`
	// Have and Want are the cluster's and our value, each at most 80 characters of JSON; "" where there is none.
	Have string `json:"have,omitempty"`
	Want string `json:"want,omitempty"`
}

// Severe reports whether objects that are valid with our definition lose fields or are refused by the cluster's: a version or a field is absent, or
// another kind is named.
func (c Change) Severe() bool {
	return c.Kind == Absent && (c.What == "field" || c.What == "version") || c.What == "definition"
}

// String is one line about the change.
func (c Change) String() string {
	switch {
	case c.What == "field" && c.Kind == Absent:
		return c.Where + ": the cluster has no such field"
	case c.What == "field":
		return c.Where + ": ours has no such field"
	case c.What == "version" && c.Kind == Absent:
		return c.Where + ": the cluster has no such version"
	case c.What == "version":
		return c.Where + ": ours has no such version"
	case c.Kind == Absent:
		return fmt.Sprintf("%s: %s %s is only in ours", c.Where, c.What, c.Want)
	case c.Kind == Extra:
		return fmt.Sprintf("%s: %s %s is only in the cluster", c.Where, c.What, c.Have)
	}
	return fmt.Sprintf("%s: %s is %s in the cluster and %s in ours", c.Where, c.What, c.Have,
		c.Want)
}

// Compare lists the differences between two definitions (apiextensions.k8s.io/v1) as JSON values, in the order of their fields. Its cost grows
// with the size of both.
func Compare(have, want map[string]any) []Change {
	d := &differ{}
	h, w := object(have["spec"]), object(want["spec"])
	for _, path := range [][]string{{"group"}, {"names", "kind"}, {"names", "plural"}, {"scope"}} {
		if a, b := text(dig(h, path...)), text(dig(w, path...)); a != b {
			d.add(strings.Join(path, "."), Other, "definition", a, b)
		}
	}
	for _, key := range []string{"shortNames", "categories"} {
		d.sets("names", key, dig(h, "names", key), dig(w, "names", key))
	}
	strategy := func(spec map[string]any) string {
		if s := dig(spec, "conversion", "strategy"); s != nil {
			return text(s)
		}
		return `"None"` // what an API server fills in
	}
	if a, b := strategy(h), strategy(w); a != b {
		d.add("conversion", Other, "strategy", a, b)
	}
	d.versions(byName(h["versions"]), byName(w["versions"]))
	return d.out
}

type differ struct{ out []Change }

func (d *differ) add(where string, k Kind, what, have, want string) {
	d.out = append(d.out, Change{Where: where, Kind: k, What: what, Have: have, Want: want})
}

func (d *differ) versions(have, want map[string]map[string]any) {
	for _, name := range union(have, want) {
		h, w := have[name], want[name]
		switch {
		case h == nil:
			d.add(name, Absent, "version", "", "")
			continue
		case w == nil:
			d.add(name, Extra, "version", "", "")
			continue
		}
		for _, flag := range []string{"served", "storage", "deprecated"} {
			a, _ := h[flag].(bool)
			b, _ := w[flag].(bool)
			if a != b {
				d.add(name, Other, flag, fmt.Sprint(a), fmt.Sprint(b))
			}
		}
		d.value(name, "subresources", h["subresources"], w["subresources"])
		d.columns(name, byName(h["additionalPrinterColumns"]),
			byName(w["additionalPrinterColumns"]))
		d.schema(name+" ", object(dig(h, "schema", "openAPIV3Schema")), object(dig(w, "schema",
			"openAPIV3Schema")))
	}
}

func (d *differ) columns(version string, have, want map[string]map[string]any) {
	for _, name := range union(have, want) {
		h, w := have[name], want[name]
		for _, c := range []map[string]any{h, w} {
			delete(c, "description")
		}
		d.value(version, "column "+name, whole(h), whole(w))
	}
}

// whole keeps an absent object apart from an empty one.
func whole(o map[string]any) any {
	if o == nil {
		return nil
	}
	return o
}

// schema walks two schemas of the same field side by side. path ends where a field's name goes.
func (d *differ) schema(path string, have, want map[string]any) {
	where := strings.TrimSuffix(path, ".")
	for _, key := range union(have, want) {
		h, w := have[key], want[key]
		switch key {
		case "description", "example", "externalDocs", "title":
		case "properties":
			d.properties(path, object(h), object(w))
		case "enum", "required", "x-kubernetes-list-map-keys":
			d.sets(strings.TrimSpace(where), key, h, w)
		case "x-kubernetes-validations":
			d.sets(strings.TrimSpace(where), "rule", rules(h), rules(w))
		case "items", "additionalProperties", "not":
			a, okA := h.(map[string]any)
			b, okB := w.(map[string]any)
			if !okA || !okB {
				d.value(strings.TrimSpace(where), key, h, w)
				continue
			}
			d.schema(where+map[string]string{"items": "[]", "additionalProperties": "{}",
				"not": " not"}[key]+".", a, b)
		default:
			d.value(strings.TrimSpace(where), key, h, w)
		}
	}
}

func (d *differ) properties(path string, have, want map[string]any) {
	for _, name := range union(have, want) {
		h, inH := have[name]
		w, inW := want[name]
		switch {
		case !inH:
			d.add(path+name, Absent, "field", "", "")
		case !inW:
			d.add(path+name, Extra, "field", "", "")
		default:
			d.schema(path+name+".", object(h), object(w))
		}
	}
}

func (d *differ) value(where, what string, have, want any) {
	a, b := text(have), text(want)
	switch {
	case a == b:
	case have == nil:
		d.add(where, Absent, what, "", short(b))
	case want == nil:
		d.add(where, Extra, what, short(a), "")
	default:
		d.add(where, Other, what, short(a), short(b))
	}
}

// sets compares lists whose order means nothing.
func (d *differ) sets(where, what string, have, want any) {
	a, b := set(have), set(want)
	for _, x := range union(a, b) {
		switch {
		case !a[x]:
			d.add(where, Absent, what, "", short(x))
		case !b[x]:
			d.add(where, Extra, what, short(x), "")
		}
	}
}

func set(list any) map[string]bool {
	out := map[string]bool{}
	l, _ := list.([]any)
	for _, x := range l {
		out[text(x)] = true
	}
	return out
}

// rules are the CEL expressions alone: their messages are words.
func rules(list any) any {
	var out []any
	l, _ := list.([]any)
	for _, x := range l {
		out = append(out, object(x)["rule"])
	}
	return out
}

func byName(list any) map[string]map[string]any {
	out := map[string]map[string]any{}
	l, _ := list.([]any)
	for _, x := range l {
		o := maps.Clone(object(x))
		name, _ := o["name"].(string)
		out[name] = o
	}
	return out
}

func union[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

func dig(o map[string]any, path ...string) any {
	for _, p := range path[:len(path)-1] {
		o = object(o[p])
	}
	return o[path[len(path)-1]]
}

// text is a value's JSON, in which the kinds of numbers that decoders make are alike.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("crddiff: not a JSON value: " + err.Error())
	}
	return string(b)
}

// shown is how many characters of a value are.
const shown = 80

func short(s string) string {
	if r := []rune(s); len(r) > shown {
		return string(r[:shown-1]) + "…"
	}
	return s
}
