package arm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The lab knows as much of the Kusto query language as listing resources takes (documentation "Understanding the Azure
// Resource Graph query language"):
//
//	resources
//	| where  <expression of and, or, not(), ==, !=, =~, !~, has, has_cs, contains, contains_cs, startswith, in, in~>
//	| project a, b | order by a [asc|desc] | take n
//
// with strings, numbers, columns (tags["k"], properties.a.b) and the functions isempty, isnotempty, isnull, isnotnull,
// tostring, tolower and toupper. Anything else is refused, not guessed.

// kql is a parsed query: steps over rows.
type kql struct{ steps []func([]object) []object }

func (k *kql) run(rows []object) []object {
	for _, s := range k.steps {
		rows = s(rows)
	}
	return rows
}

// value computes something from a row.
type value func(row object) any

// kqlTokens finds strings, numbers, names and signs.
var kqlTokens = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+(?:\.\d+)?|[A-Za-z_$][A-Za-z0-9_$]*[~]?|==|!=|=~|!~|[|(),.\[\]])`)

// maxKQL bounds a query's length, in bytes.
const maxKQL = 16 << 10

type kqlParser struct {
	toks []string
	err  error
}

func parseKQL(text string) (*kql, error) {
	if len(text) > maxKQL {
		return nil, errors.New("the query is too long")
	}
	p := &kqlParser{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		t := kqlTokens.FindString(rest)
		if t == "" {
			return nil, fmt.Errorf("cannot read the query at %.20q", rest)
		}
		p.toks = append(p.toks, t)
		rest = rest[len(t):]
	}
	if t := p.next(); !strings.EqualFold(t, "resources") {
		return nil, fmt.Errorf("the lab has the table resources only, not %q", t)
	}
	k := &kql{}
	for p.err == nil && len(p.toks) > 0 {
		p.expect("|")
		switch op := strings.ToLower(p.next()); op {
		case "where":
			k.where(p.or())
		case "project":
			k.project(p.names())
		case "order", "sort":
			p.expect("by")
			k.order(p.next(), p.descending())
		case "take", "limit":
			n, err := strconv.Atoi(p.next())
			if err != nil {
				p.fail("take wants a number")
			}
			k.steps = append(k.steps, func(r []object) []object { return r[:min(n, len(r))] })
		default:
			p.fail(fmt.Sprintf("the lab does not know the operator %q", op))
		}
	}
	return k, p.err
}

func (k *kql) where(v value) {
	k.steps = append(k.steps, func(rows []object) []object {
		var out []object
		for _, r := range rows {
			if yes, _ := v(r).(bool); yes {
				out = append(out, r)
			}
		}
		return out
	})
}

func (k *kql) project(names []string) {
	k.steps = append(k.steps, func(rows []object) []object {
		out := make([]object, len(rows))
		for i, r := range rows {
			out[i] = object{}
			for _, n := range names {
				out[i][n] = r[n]
			}
		}
		return out
	})
}

func (k *kql) order(name string, desc bool) {
	k.steps = append(k.steps, func(rows []object) []object {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b object) int {
			n := strings.Compare(text(a[name]), text(b[name]))
			if desc {
				return -n
			}
			return n
		})
		return rows
	})
}

func (p *kqlParser) fail(msg string) {
	if p.err == nil {
		p.err = errors.New(msg)
	}
	p.toks = nil
}

func (p *kqlParser) peek() string {
	if len(p.toks) == 0 {
		return ""
	}
	return p.toks[0]
}

func (p *kqlParser) next() string {
	t := p.peek()
	if t == "" {
		p.fail("the query ends too early")
		return ""
	}
	p.toks = p.toks[1:]
	return t
}

func (p *kqlParser) expect(want string) {
	if t := p.next(); p.err == nil && !strings.EqualFold(t, want) {
		p.fail(fmt.Sprintf("want %q, have %q", want, t))
	}
}

func (p *kqlParser) accept(want string) bool {
	if strings.EqualFold(p.peek(), want) {
		p.toks = p.toks[1:]
		return true
	}
	return false
}

func (p *kqlParser) names() []string {
	out := []string{p.next()}
	for p.accept(",") {
		out = append(out, p.next())
	}
	return out
}

// descending is the default of order by, as in Kusto.
func (p *kqlParser) descending() bool { return !p.accept("asc") && (p.accept("desc") || true) }

func (p *kqlParser) or() value {
	v := p.and()
	for p.accept("or") {
		a, b := v, p.and()
		v = func(r object) any { return truth(a(r)) || truth(b(r)) }
	}
	return v
}

func (p *kqlParser) and() value {
	v := p.compare()
	for p.accept("and") {
		a, b := v, p.compare()
		v = func(r object) any { return truth(a(r)) && truth(b(r)) }
	}
	return v
}

func (p *kqlParser) compare() value {
	a := p.operand()
	switch op := strings.ToLower(p.peek()); op {
	case "==", "!=", "=~", "!~", "has", "has_cs", "contains", "contains_cs", "startswith":
		p.next()
		b := p.operand()
		return func(r object) any { return compareKQL(op, text(a(r)), text(b(r))) }
	case "in", "in~":
		p.next()
		p.expect("(")
		list := []value{p.operand()}
		for p.accept(",") {
			list = append(list, p.operand())
		}
		p.expect(")")
		eq := map[string]string{"in": "==", "in~": "=~"}[op]
		return func(r object) any {
			return slices.ContainsFunc(list, func(b value) bool { return compareKQL(eq, text(a(r)), text(b(r))) })
		}
	}
	return a
}

func (p *kqlParser) operand() value {
	t := p.next()
	switch {
	case t == "":
		return func(object) any { return nil }
	case t == "(":
		v := p.or()
		p.expect(")")
		return v
	case t[0] == '"' || t[0] == '\'':
		s := unquote(t)
		return func(object) any { return s }
	case t[0] >= '0' && t[0] <= '9':
		return func(object) any { return json.Number(t) }
	case strings.EqualFold(t, "true") || strings.EqualFold(t, "false"):
		return func(object) any { return strings.EqualFold(t, "true") }
	case p.peek() == "(":
		return p.function(strings.ToLower(t))
	}
	path := []string{t}
	for {
		switch {
		case p.accept("."):
			path = append(path, p.next())
		case p.accept("["):
			path = append(path, unquote(p.next()))
			p.expect("]")
		default:
			if !slices.Contains(graphColumns(), path[0]) {
				p.fail(fmt.Sprintf("there is no column %q", path[0]))
			}
			return func(r object) any { return dig(r, path...) }
		}
	}
}

func graphColumns() []string {
	return []string{"id", "name", "type", "tenantId", "kind", "location", "resourceGroup", "subscriptionId", "managedBy", "sku", "plan",
		"properties", "tags", "identity", "zones", "extendedLocation"}
}

func (p *kqlParser) function(name string) value {
	p.expect("(")
	v := p.or()
	p.expect(")")
	empty := func(x any) bool { return text(x) == "" }
	switch name {
	case "not":
		return func(r object) any { return !truth(v(r)) }
	case "isempty":
		return func(r object) any { return empty(v(r)) }
	case "isnotempty":
		return func(r object) any { return !empty(v(r)) }
	case "isnull":
		return func(r object) any { return v(r) == nil }
	case "isnotnull":
		return func(r object) any { return v(r) != nil }
	case "tostring":
		return func(r object) any { return text(v(r)) }
	case "tolower":
		return func(r object) any { return strings.ToLower(text(v(r))) }
	case "toupper":
		return func(r object) any { return strings.ToUpper(text(v(r))) }
	}
	p.fail(fmt.Sprintf("the lab does not know the function %q", name))
	return v
}

func unquote(t string) string {
	if len(t) < 2 {
		return t
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(t[1 : len(t)-1])
}

func truth(v any) bool { b, _ := v.(bool); return b }

// text is a value as Kusto's tostring prints it: dynamic values as JSON, null as nothing.
func text(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func compareKQL(op, a, b string) bool {
	la, lb := strings.ToLower(a), strings.ToLower(b)
	switch op {
	case "==":
		return a == b
	case "!=":
		return a != b
	case "=~":
		return la == lb
	case "!~":
		return la != lb
	case "has":
		return hasTerm(la, lb)
	case "has_cs":
		return hasTerm(a, b)
	case "contains":
		return strings.Contains(la, lb)
	case "contains_cs":
		return strings.Contains(a, b)
	}
	return strings.HasPrefix(la, lb) // startswith
}

// hasTerm finds whole terms: what stands before and after is no letter or digit (documentation "String operators",
// understanding string terms).
func hasTerm(s, term string) bool {
	word := func(b byte) bool {
		return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for i := 0; i+len(term) <= len(s); i++ {
		end := i + len(term)
		if s[i:end] == term && (i == 0 || !word(s[i-1])) && (end == len(s) || !word(s[end])) {
			return true
		}
	}
	return false
}
