package housetest

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	dirs := map[string]bool{}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		dirs[s.dir] = true
		if s.file.Doc != nil {
			comments[s.dir] = append(comments[s.dir], s.path)
		}
	}
	for d := range dirs {
		if len(comments[d]) != 1 {
			t.Errorf("package %s has %d package comments (%v), want exactly one: it says which question the package answers", d, len(comments[d]), comments[d])
		}
	}
}

func TestNoDrawerPackages(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "types", "consts", "misc", "shared"}
	for _, s := range tree(t) {
		if slices.Contains(banned, s.file.Name.Name) {
			t.Errorf("%s: package %s: a package answers a question; a drawer answers none", s.path, s.file.Name.Name)
		}
	}
}

func TestExportedNamesHaveComments(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || s.file.Name.Name == "main" || generated(s.file) {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !wellKnownMethod(d) {
					t.Errorf("%s: %s has no comment", s.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no comment", s.fset.Position(ts.Pos()), ts.Name.Name)
					}
				}
			}
		}
	}
}

func generated(f *ast.File) bool {
	for _, c := range f.Comments {
		if c.Pos() < f.Package && strings.Contains(c.Text(), "DO NOT EDIT") {
			return true
		}
	}
	return false
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}

// wellKnownMethod names methods whose meaning the language or the interface they implement gives.
func wellKnownMethod(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "String", "ObjectKey", "ServeHTTP", "Len", "Less", "Swap",
		"DeepCopyObject", "MarshalJSON", "UnmarshalJSON"}, d.Name.Name)
}

func TestNoInitAndNoChangingPackageVariables(t *testing.T) {
	vars := map[string]map[string]bool{} // by package
	var files []source
	for _, s := range tree(t) {
		if s.test || generated(s.file) {
			continue
		}
		files = append(files, s)
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" && !under(s.dir, "api") {
					t.Errorf("%s: init: nothing happens before someone asks for it", s.fset.Position(d.Pos()))
				}
			case *ast.GenDecl:
				if d.Tok != token.VAR || linked(d.Doc) {
					continue
				}
				for _, spec := range d.Specs {
					for _, n := range spec.(*ast.ValueSpec).Names {
						if n.Name == "_" {
							continue
						}
						if vars[s.dir] == nil {
							vars[s.dir] = map[string]bool{}
						}
						vars[s.dir][n.Name] = true
					}
				}
			}
		}
	}
	for _, s := range files {
		for _, id := range changed(s.file) {
			if vars[s.dir][id.Name] && (id.Obj == nil || s.file.Scope.Lookup(id.Name) == id.Obj) {
				t.Errorf("%s: package variable %s is changed, or can be: two users in one process would meet", s.fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// linked reports whether a comment makes the variable one of another module's: that is changed where its owner says so.
func linked(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:linkname ") })
}

// changed are the names that a file assigns to, whole or in part, takes the address of, or empties.
func changed(f *ast.File) []*ast.Ident {
	var out []*ast.Ident
	add := func(list ...ast.Expr) {
		for _, x := range list {
			if id := root(x); id != nil {
				out = append(out, id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				add(n.Key, n.Value)
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") {
				add(n.Args[0])
			}
		}
		return true
	})
	return out
}

// root is the variable of which an expression is a part; nil when it is none.
func root(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.SliceExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return nil
		}
	}
}

func TestTestsAreNeverSkipped(t *testing.T) {
	for _, s := range tree(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if ok && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow") {
				if id, ok := sel.X.(*ast.Ident); ok && (id.Name == "t" || id.Name == "b" || id.Name == "tb") {
					t.Errorf("%s: a test that is skipped proves nothing; make it run or delete it", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// TestNothingLeftLying looks for what may not stand in any tracked file: unfinished work and traces of one machine.
func TestNothingLeftLying(t *testing.T) {
	root := rootDir(t)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	banned := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b|not ` + `implemented|/ro` + `ot/|/wo` + `rk/|proxy\.gol` + `ang|registry\.np` + `mjs|deb\.deb` + `ian`)
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.HasSuffix(name, ".sum") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			if os.IsNotExist(err) {
				continue // deleted in the work tree, not yet in the index
			}
			t.Fatal(err)
		}
		if bytes.IndexByte(data, 0) >= 0 {
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if m := banned.Find(line); m != nil {
				t.Errorf("%s:%d: %q may not stand in the project", name, i+1, m)
			}
		}
	}
}
