package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is what one module says.
type source struct {
	ops     []operation
	structs map[string]*ast.StructType
	json    map[string]map[string]string // by type and Go field: the member's JSON name
	enums   map[string][]string
	consts  map[string]string
}

// operation is one request that a client can make.
type operation struct{ method, path, version, body string }

func read(dir string, clients []string) (*source, error) {
	s := &source{structs: map[string]*ast.StructType{}, json: map[string]map[string]string{}, enums: map[string][]string{}, consts: map[string]string{}}
	fset := token.NewFileSet()
	parse := func(name string) (*ast.File, error) {
		return parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
	}
	for _, name := range []string{"constants.go", "models.go", "models_serde.go"} {
		f, err := parse(name)
		if err != nil {
			return nil, err
		}
		s.types(f)
	}
	for _, c := range clients {
		f, err := parse(strings.TrimPrefix(c+"_client.go", "_"))
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(fn.Name.Name, "CreateRequest") {
				s.ops = append(s.ops, s.operation(fn))
			}
		}
	}
	slices.SortFunc(s.ops, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	return s, nil
}

// types takes structs, constants with their types, and the JSON names out of marshalling methods.
func (s *source) types(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if st, ok := spec.Type.(*ast.StructType); ok {
						s.structs[spec.Name.Name] = st
					}
				case *ast.ValueSpec:
					s.constant(spec)
				}
			}
		case *ast.FuncDecl:
			if d.Recv != nil && (d.Name.Name == "MarshalJSON" || d.Name.Name == "UnmarshalJSON") {
				s.names(d)
			}
		}
	}
}

func (s *source) constant(spec *ast.ValueSpec) {
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		return
	}
	v, ok := text(spec.Values[0])
	if !ok {
		return
	}
	s.consts[spec.Names[0].Name] = v
	if t, ok := spec.Type.(*ast.Ident); ok {
		s.enums[t.Name] = append(s.enums[t.Name], v)
	}
}

// names reads populate(objectMap, "json", v.Field) and unpopulate(val, "Field", &v.Field) under case "json".
func (s *source) names(fn *ast.FuncDecl) {
	recv := fn.Recv.List[0].Type
	if p, ok := recv.(*ast.StarExpr); ok {
		recv = p.X
	}
	typ := recv.(*ast.Ident).Name
	if s.json[typ] == nil {
		s.json[typ] = map[string]string{}
	}
	put := func(field ast.Expr, name string) {
		if u, ok := field.(*ast.UnaryExpr); ok {
			field = u.X
		}
		if sel, ok := field.(*ast.SelectorExpr); ok {
			s.json[typ][sel.Sel.Name] = name
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && strings.HasPrefix(id.Name, "populate") && len(n.Args) >= 3 {
				if name, ok := text(n.Args[1]); ok {
					put(n.Args[2], name)
				}
			}
		case *ast.CaseClause:
			if len(n.List) != 1 || len(n.Body) == 0 {
				return true
			}
			name, ok := text(n.List[0])
			as, isAs := n.Body[0].(*ast.AssignStmt)
			if !ok || !isAs {
				return true
			}
			if call, isCall := as.Rhs[0].(*ast.CallExpr); isCall && len(call.Args) >= 3 {
				put(call.Args[2], name)
			}
		}
		return true
	})
}

// operation reads one function that builds a request.
func (s *source) operation(fn *ast.FuncDecl) operation {
	var op operation
	params := map[string]string{}
	for _, p := range fn.Type.Params.List {
		if t, ok := p.Type.(*ast.Ident); ok {
			for _, n := range p.Names {
				params[n.Name] = t.Name
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "urlPath" && op.path == "" {
				op.path, _ = text(n.Rhs[0])
				op.path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(op.path, "{}")
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "http" && strings.HasPrefix(n.Sel.Name, "Method") && op.method == "" {
				op.method = strings.ToUpper(strings.TrimPrefix(n.Sel.Name, "Method"))
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) != 2 {
				return true
			}
			if key, _ := text(n.Args[0]); sel.Sel.Name == "Set" && key == "api-version" {
				op.version, _ = s.value(n.Args[1])
			}
			if id, isID := n.Args[1].(*ast.Ident); isID && sel.Sel.Name == "MarshalAsJSON" {
				op.body = params[id.Name]
			}
		}
		return true
	})
	return op
}

// text is the value of a string literal.
func text(e ast.Expr) (string, bool) {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		v, err := strconv.Unquote(l.Value)
		return v, err == nil
	}
	return "", false
}

func (s *source) value(e ast.Expr) (string, bool) {
	if id, ok := e.(*ast.Ident); ok {
		v, known := s.consts[id.Name]
		return v, known
	}
	return text(e)
}

// write prints operations, then every type that the bodies can hold, by name.
func (s *source) write(w io.Writer, bodies []string) error {
	for _, op := range s.ops {
		if op.method == "" || op.path == "" || op.version == "" {
			return fmt.Errorf("an operation could not be read: %+v", op)
		}
		body := "-"
		if slices.Contains(bodies, op.body) {
			body = op.body
		}
		fmt.Fprintf(w, "op %s %s %s %s\n", op.method, op.path, op.version, body)
	}
	kinds := map[string]string{}
	for queue := slices.Clone(bodies); len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if _, done := kinds[name]; done {
			continue
		}
		lines, more, err := s.members(name)
		if err != nil {
			return err
		}
		kinds[name] = lines
		queue = append(queue, more...)
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		io.WriteString(w, kinds[name])
	}
	return nil
}

// since is how the SDK's comments tell the first api-version that has a member.
var since = regexp.MustCompile(`(?i)minimum\s+api-version:?\s*(\d{4}-\d{2}-\d{2})`)

// members prints one type, and names those that it needs.
func (s *source) members(name string) (lines string, more []string, err error) {
	if values, ok := s.enums[name]; ok {
		return "enum " + name + " " + strings.Join(values, "|") + "\n", nil, nil
	}
	st, ok := s.structs[name]
	if !ok {
		return "", nil, fmt.Errorf("type %s is neither a struct nor an enumeration", name)
	}
	var list []string
	for _, f := range st.Fields.List {
		jsonName, known := s.json[name][f.Names[0].Name]
		if !known {
			return "", nil, fmt.Errorf("member %s.%s has no JSON name", name, f.Names[0].Name)
		}
		kind, needs := s.kind(f.Type)
		doc := f.Doc.Text()
		if strings.HasPrefix(doc, "READ-ONLY") {
			kind, needs = "any", "" // requests may carry it, and nobody reads it
		}
		if needs != "" {
			more = append(more, needs)
		}
		line := "  " + jsonName + " " + kind
		if strings.HasPrefix(doc, "REQUIRED") {
			line += " required"
		}
		if strings.HasPrefix(doc, "READ-ONLY") {
			line += " readonly"
		}
		if m := since.FindStringSubmatch(strings.Join(strings.Fields(doc), " ")); m != nil {
			line += " since=" + m[1]
		}
		list = append(list, line+"\n")
	}
	slices.Sort(list)
	return "type " + name + "\n" + strings.Join(list, ""), more, nil
}

// kind is a Go type in the table's words: a scalar, a named type, or either behind [] (list) or {} (map).
func (s *source) kind(e ast.Expr) (kind, needs string) {
	switch t := e.(type) {
	case *ast.StarExpr:
		return s.kind(t.X)
	case *ast.ArrayType:
		if id, ok := t.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return "string", ""
		}
		k, n := s.kind(t.Elt)
		return "[]" + k, n
	case *ast.MapType:
		k, n := s.kind(t.Value)
		return "{}" + k, n
	case *ast.SelectorExpr:
		return "time", "" // time.Time is the only one
	case *ast.Ident:
		switch t.Name {
		case "string", "bool", "any":
			return t.Name, ""
		case "int32", "int64":
			return "int", ""
		case "float32", "float64":
			return "number", ""
		}
		if strings.HasSuffix(t.Name, "Classification") {
			return "any", "" // one of several types: the SDK's interface
		}
		return t.Name, t.Name
	}
	return "any", ""
}
