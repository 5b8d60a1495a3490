package housetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/karpenter-aks/karpenter"

// A source is one Go file of the tree.
type source struct {
	path    string // from the root, with slashes
	dir     string // package directory, "." for the root
	test    bool
	imports []string
	raw     []byte
	file    *ast.File
	fset    *token.FileSet
}

// tree parses every Go file of the repository.
func tree(t *testing.T) []source {
	t.Helper()
	root := rootDir(t)
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, raw, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		s := source{path: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"), raw: raw, file: f, fset: fset}
		for _, i := range f.Imports {
			v, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, v)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found only %d Go files below %s: the walk is broken, no rule was checked", len(out), root)
	}
	return out
}

// rootDir is the directory of go.work, looked for upwards from here.
func rootDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.work above this package")
	return ""
}

// local returns the package directory of an import of ours.
func local(imp string) (string, bool) {
	rest, ok := strings.CutPrefix(imp, module+"/")
	return rest, ok
}

// under reports whether dir is p or lies below it.
func under(dir, p string) bool { return dir == p || strings.HasPrefix(dir, p+"/") }

func underAny(dir string, ps []string) bool {
	return slices.ContainsFunc(ps, func(p string) bool { return under(dir, p) })
}
