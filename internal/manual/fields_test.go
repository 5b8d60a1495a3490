package manual

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/crds"
)

const fieldsHead = `# Fields

` + written + `
It shows the custom resource definitions that the charts install, in the version that is stored.
The API server fills in defaults, and refuses objects that break a rule. Fields of an AKSNodeClass
that the controller does not act on yet are named in its condition ` + "`ValidationSucceeded`" + `.
Descriptions are those of the definitions. In one place this controller does more than they say:
a budget's schedule may have a time zone ([when](../leaving.md)).
`

// A schema is a part of a definition, with what the page shows of it.
type schema struct {
	Description          string
	Type, Format         string
	Default              any
	Enum                 []any
	Minimum, Maximum     *float64
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	MaxProperties        *int
	Pattern              string
	IntOrString          bool `json:"x-kubernetes-int-or-string"`
	Rules                []struct {
		Rule, Message string
	} `json:"x-kubernetes-validations"`
	Required             []string
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties *schema
}

type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Scope    string
		Versions []struct {
			Name            string
			Served, Storage bool
			Schema          struct {
				OpenAPIV3Schema schema
			}
		}
	}
}

// fields writes the fields of our custom resources.
func fields(t *testing.T) string {
	files, err := crds.Files()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(fieldsHead)
	kinds := []string{}
	for _, kind := range []string{"nodepools", "nodeclaims", "aksnodeclasses", "nodeoverlays",
		"capacitybuffers"} {
		for _, f := range files {
			if strings.HasSuffix(f.Name, "_"+kind+".yaml") {
				var d definition
				if err := yaml.Unmarshal(f.Plain, &d); err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, kind)
				kindOf(&b, d)
			}
		}
	}
	if len(kinds) != len(files) {
		t.Errorf("of %d definitions only %v are on the page", len(files), kinds)
	}
	return b.String()
}

func kindOf(b *strings.Builder, d definition) {
	kind := d.Spec.Names.Kind
	fmt.Fprintf(b, "\n## %s\n\n", kind)
	for _, v := range d.Spec.Versions {
		if !v.Storage {
			continue
		}
		s := v.Schema.OpenAPIV3Schema
		fmt.Fprintf(b, "`%s/%s`, scope %s.", d.Spec.Group, v.Name, d.Spec.Scope)
		for _, other := range d.Spec.Versions {
			if other.Served && !other.Storage {
				fmt.Fprintf(b, " `%s` is served, too.", other.Name)
			}
		}
		b.WriteString("\n")
		for _, part := range []string{"spec", "status"} {
			if p := s.Properties[part]; p != nil {
				p.write(b, kind, part, slices.Contains(s.Required, part))
			}
		}
	}
}

// write puts down a field and all fields below it.
func (s *schema) write(b *strings.Builder, kind, path string, required bool) {
	fmt.Fprintf(b, "\n### %s %s\n\n", kind, code(path))
	facts := []string{s.kind()}
	if required {
		facts = append(facts, "required")
	}
	if s.Default != nil {
		facts = append(facts, "default "+code(inJSON(s.Default)))
	}
	facts = append(facts, s.bounds()...)
	if in := s.Items; in != nil && len(in.Properties) == 0 {
		if of := in.bounds(); len(of) > 0 {
			facts = append(facts, "each "+strings.Join(of, ", each "))
		}
	}
	fmt.Fprintf(b, "%s\n", strings.Join(facts, " · "))
	if s.Description != "" {
		fmt.Fprintf(b, "\n%s\n", prose(s.Description))
	}
	rules := s.Rules
	if s.Items != nil {
		rules = append(slices.Clip(rules), s.Items.Rules...)
	}
	if len(rules) > 0 {
		b.WriteString("\nRules:\n\n")
	}
	for _, r := range rules {
		if r.Message == "" {
			r.Message = r.Rule
		}
		fmt.Fprintf(b, "- %s\n", code(r.Message))
	}
	s.below(b, kind, path)
}

func (s *schema) below(b *strings.Builder, kind, path string) {
	in := s
	switch {
	case s.Items != nil:
		in, path = s.Items, path+"[]"
	case s.AdditionalProperties != nil:
		in, path = s.AdditionalProperties, path+".*"
	}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		must := slices.Contains(in.Required, name)
		in.Properties[name].write(b, kind, path+"."+name, must)
	}
}

// kind is the type in words.
func (s *schema) kind() string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.kind()
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	}
	return s.Type
}

// bounds are what values are allowed.
func (s *schema) bounds() []string {
	var out []string
	if len(s.Enum) > 0 {
		var list []string
		for _, e := range s.Enum {
			list = append(list, code(inJSON(e)))
		}
		out = append(out, "one of "+strings.Join(list, ", "))
	}
	if s.Minimum != nil {
		out = append(out, fmt.Sprintf("at least %v", *s.Minimum))
	}
	if s.Maximum != nil {
		out = append(out, fmt.Sprintf("at most %v", *s.Maximum))
	}
	for _, x := range []struct {
		n          *int
		form, unit string
	}{
		{s.MinLength, "at least %d %s", "characters"}, {s.MaxLength, "at most %d %s", "characters"},
		{s.MinItems, "at least %d %s", "items"}, {s.MaxItems, "at most %d %s", "items"},
		{s.MaxProperties, "at most %d %s", "keys"},
	} {
		if x.n != nil {
			out = append(out, fmt.Sprintf(x.form, *x.n, x.unit))
		}
	}
	if s.Pattern != "" {
		out = append(out, "matches "+code(s.Pattern))
	}
	return out
}

func inJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// prose is text in which nothing is markup, on one line.
func prose(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "[", "\\[",
		"]", "\\]").Replace(s)
}
