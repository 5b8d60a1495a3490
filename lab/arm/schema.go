package arm

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:generate go run ./gen schema.txt

// schemaText is what the SDK says of requests and bodies. It is the contract of one api-version for each operation: that
// of the SDK in go.mod. Older versions that are accepted (see versions.go) differ by the members of which the SDK's own
// comments tell the first version; a member that is newer and that no comment dates would be let through there.
//
//go:embed schema.txt
var schemaText string

// schema is schemaText, read. It does not change.
type schema struct {
	ops   map[string]contract   // by "METHOD /path/{}", lower case
	types map[string]*bodyType  // by module and name: compute.VirtualMachine
	enums map[string]enumValues // likewise
}

// contract is what one operation takes.
type contract struct {
	version string
	body    string // a key of types; "" = the body is not checked
}

type bodyType struct {
	name    string
	members map[string]member // by lower-case name: Azure's readers do not mind the case
	require []string          // names, in order
}

type member struct {
	name, kind string
	readonly   bool   // what a caller sends there is ignored
	since      string // the first api-version that has it; "" = not known
}

type enumValues map[string]string // by lower-case value

// readSchema fails only when the text in this package is wrong.
func readSchema() (*schema, error) {
	s := &schema{ops: map[string]contract{}, types: map[string]*bodyType{}, enums: map[string]enumValues{}}
	module, now := "", (*bodyType)(nil)
	for n, line := range strings.Split(schemaText, "\n") {
		w := strings.Fields(line)
		switch {
		case len(w) == 0 || w[0] == "#":
		case line[0] == ' ' && now != nil && len(w) >= 2:
			now.add(module, w)
		case w[0] == "module" && len(w) == 4:
			module = w[1]
		case w[0] == "op" && len(w) == 5:
			k := contract{version: w[3]}
			if w[4] != "-" {
				k.body = module + "." + w[4]
			}
			s.ops[strings.ToLower(w[1]+" "+w[2])] = k
		case w[0] == "type" && len(w) == 2:
			now = &bodyType{name: w[1], members: map[string]member{}}
			s.types[module+"."+w[1]] = now
		case w[0] == "enum" && len(w) >= 3:
			values := enumValues{}
			for _, v := range strings.Split(strings.Join(w[2:], " "), "|") {
				values[strings.ToLower(v)] = v
			}
			s.enums[module+"."+w[1]] = values
		default:
			return nil, fmt.Errorf("schema.txt line %d cannot be read: %q", n+1, line)
		}
	}
	return s, nil
}

func (t *bodyType) add(module string, w []string) {
	m := member{name: w[0]}
	prefix, kind := "", w[1]
	for strings.HasPrefix(kind, "[]") || strings.HasPrefix(kind, "{}") {
		prefix, kind = prefix+kind[:2], kind[2:]
	}
	switch kind {
	case "string", "bool", "int", "number", "time", "any":
	default:
		kind = module + "." + kind
	}
	m.kind = prefix + kind
	for _, flag := range w[2:] {
		switch v, dated := strings.CutPrefix(flag, "since="); {
		case dated:
			m.since = v
		case flag == "readonly":
			m.readonly = true
		case flag == "required":
			t.require = append(t.require, m.name)
		}
	}
	t.members[strings.ToLower(m.name)] = m
}

// openEnums are lists of values that Azure extends without a new api-version: each has a check of its own.
func openEnums() []string { return []string{"compute.VirtualMachineSizeTypes"} }

// reader reads one body as the provider of that type does.
type reader struct {
	schema  *schema
	version string
	raw     []byte // for positions in messages
	network bool   // the network provider wraps what it says
}

// read checks a body against its type and returns it in the provider's own spelling, without members that are null or
// read-only. Unknown members, wrong types and unknown values are refused as Json.NET's reader, which the providers use,
// words it.
func (s *schema) read(typ, version string, raw []byte, body object) (object, *apiError) {
	r := &reader{schema: s, version: version, raw: raw, network: strings.HasPrefix(typ, "network.")}
	v, e := r.value(typ, "", body)
	if e != nil {
		return nil, e
	}
	return v.(object), nil
}

func (r *reader) value(kind, path string, v any) (any, *apiError) {
	if rest, isList := strings.CutPrefix(kind, "[]"); isList {
		list, ok := v.([]any)
		if !ok {
			return nil, r.wrongType(v, kind, path)
		}
		out := make([]any, len(list))
		for i, x := range list {
			y, e := r.value(rest, fmt.Sprintf("%s[%d]", path, i), x)
			if e != nil {
				return nil, e
			}
			out[i] = y
		}
		return out, nil
	}
	if rest, isMap := strings.CutPrefix(kind, "{}"); isMap {
		m, ok := v.(object)
		if !ok {
			return nil, r.wrongType(v, kind, path)
		}
		out := object{}
		for _, k := range sortedKeys(m) {
			if m[k] == nil {
				out[k] = nil // in a PATCH this takes the entry away
				continue
			}
			y, e := r.value(rest, path+"."+k, m[k])
			if e != nil {
				return nil, e
			}
			out[k] = y
		}
		return out, nil
	}
	if t := r.schema.types[kind]; t != nil {
		m, ok := v.(object)
		if !ok {
			return nil, r.wrongType(v, kind, path)
		}
		return r.object(t, path, m)
	}
	if values := r.schema.enums[kind]; values != nil {
		return r.enum(kind, values, path, v)
	}
	return r.scalar(kind, path, v)
}

func (r *reader) object(t *bodyType, path string, m object) (object, *apiError) {
	out := object{}
	for _, k := range sortedKeys(m) {
		x, known := t.members[strings.ToLower(k)]
		at := strings.TrimPrefix(path+"."+k, ".")
		if !known || x.since > r.version {
			return nil, r.unreadable("Could not find member '%s' on object of type '%s'. Path '%s', line 1, position %d.", k, t.name, at, r.position(k))
		}
		if x.readonly || m[k] == nil {
			continue
		}
		if _, twice := out[x.name]; twice {
			return nil, r.unreadable("Can not add property %s to Newtonsoft.Json.Linq.JObject. Property with the same name already exists on object. Path '%s', line 1, position %d.", k, at, r.position(k))
		}
		v, e := r.value(x.kind, strings.TrimPrefix(path+"."+x.name, "."), m[k])
		if e != nil {
			return nil, e
		}
		out[x.name] = v
	}
	for _, name := range t.require {
		if out[name] == nil {
			target := targetOf(strings.TrimPrefix(path+"."+name, "."))
			return nil, invalid(target, "Required parameter '%s' is missing (null).", target)
		}
	}
	return out, nil
}

// targetOf is a path in the provider's own model: it has no "properties".
func targetOf(path string) string {
	path = strings.ReplaceAll("."+path, ".properties.", ".")
	return strings.TrimPrefix(path, ".")
}

func (r *reader) enum(kind string, values enumValues, path string, v any) (any, *apiError) {
	s, ok := v.(string)
	if !ok {
		return nil, r.wrongType(v, kind, path)
	}
	if own, known := values[strings.ToLower(s)]; known {
		return own, nil
	}
	for _, open := range openEnums() {
		if kind == open {
			return s, nil
		}
	}
	if r.network {
		return nil, r.wrongType(v, kind, path)
	}
	return nil, invalid(targetOf(path), "The value of parameter %s is invalid.", targetOf(path))
}

// scalar reads numbers and truth values out of strings, too, and the other way round, as Json.NET does.
func (r *reader) scalar(kind, path string, v any) (any, *apiError) {
	s, isString := v.(string)
	n, isNumber := v.(json.Number)
	if isString && kind != "string" {
		n = json.Number(s)
	}
	switch kind {
	case "any":
		return v, nil
	case "string":
		if isString {
			return s, nil
		}
		if isNumber {
			return n.String(), nil
		}
	case "time":
		if _, err := time.Parse(time.RFC3339, s); isString && err == nil {
			return s, nil
		}
	case "bool":
		if b, ok := v.(bool); ok {
			return b, nil
		}
		if b, err := strconv.ParseBool(strings.ToLower(s)); isString && err == nil && len(s) > 1 {
			return b, nil
		}
	case "int":
		if _, err := n.Int64(); (isString || isNumber) && err == nil {
			return n, nil
		}
	case "number":
		if _, err := n.Float64(); (isString || isNumber) && err == nil {
			return n, nil
		}
	}
	return nil, r.wrongType(v, kind, path)
}

func (r *reader) wrongType(v any, kind, path string) *apiError {
	b, _ := json.Marshal(v) // it was read from JSON
	return r.unreadable("Error converting value %.80s to type '%s'. Path '%s', line 1, position %d.", b, kind, path, r.position(path[strings.LastIndexByte(path, '.')+1:]))
}

// unreadable is a refusal by the provider's reader. Compute answers with BadRequest and the reader's own words; the
// network provider says InvalidRequestFormat and puts the words into the details. Both stand so in public reports, for
// instance in the threads about "Could not find member" of the Azure SDKs.
func (r *reader) unreadable(format string, args ...any) *apiError {
	e := refuse(http.StatusBadRequest, "BadRequest", format, args...)
	if r.network {
		inner := apiError{Code: "InvalidJson", Message: e.Message}
		e = refuse(http.StatusBadRequest, "InvalidRequestFormat", "Cannot parse the request.")
		e.Details = []apiError{inner}
	}
	return e
}

// position is where a member's name first ends in the body: what the reader has read when it complains, or near it.
func (r *reader) position(name string) int {
	name, _, _ = strings.Cut(name, "[")
	quoted, _ := json.Marshal(name)
	return bytes.Index(r.raw, quoted) + len(quoted)
}
