package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed is what the go command says of a package.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	Module          *struct{ Main bool }
}

// madeOf lists the packages of ours that the program is made of on a system. It fails when a package
// has no file for that system, be it ours or another's.
func madeOf(t *testing.T, system string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-json=Dir,ImportPath,GoFiles,Module", ".")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", system, err)
	}
	var out []listed
	for d := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && p.Module.Main {
			out = append(out, p)
		}
	}
}

// absent lists where a file names something of package syscall that is not in it.
func absent(set *token.FileSet, f *ast.File, has *types.Scope) (out []string) {
	for _, i := range f.Imports {
		if i.Path.Value == `"golang.org/x/sys/unix"` {
			out = append(out, set.Position(i.Pos()).String()+" imports golang.org/x/sys/unix")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if ok && x.Name == "syscall" && has.Lookup(s.Sel.Name) == nil {
			out = append(out, fmt.Sprintf("%s: syscall.%s", set.Position(s.Pos()), s.Sel.Name))
		}
		return true
	})
	return out
}

// Releases have the program for these systems. That all of it compiles is seen when one is made, which
// takes minutes; what of our own sources differs between systems is package syscall.
func TestTheProgramIsForOtherSystemsToo(t *testing.T) {
	was := gobuild.Default
	t.Cleanup(func() { gobuild.Default = was })
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	gobuild.Default.GOROOT = strings.TrimSpace(string(root)) // -trimpath leaves it out of us
	const bad = "package p\nimport \"syscall\"\nvar _ = syscall.Kill\n"
	for _, system := range []string{"windows", "darwin"} {
		gobuild.Default.GOOS = system // what the importer goes by
		set := token.NewFileSet()
		std, err := importer.ForCompiler(set, "source", nil).Import("syscall")
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, p := range madeOf(t, system) {
			for _, name := range p.GoFiles {
				f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				asked++
				for _, what := range absent(set, f, std.Scope()) {
					t.Errorf("not on %s: %s", system, what)
				}
			}
		}
		if asked < 200 {
			t.Errorf("%s: only %d files were read", system, asked)
		}
		f, err := parser.ParseFile(set, "bad.go", bad, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := len(absent(set, f, std.Scope())) > 0
		if found != (system == "windows") {
			t.Errorf("%s: the check sees syscall.Kill: %v", system, found)
		}
	}
}

// Kinds that are not stable come and go with versions of Kubernetes; docs/compatibility.md says that we
// ask for none of them.
func TestOnlyStableKindsOfKubernetesAreAsked(t *testing.T) {
	unstable := regexp.MustCompile(`^"k8s\.io/api/\w+/v\d+(alpha|beta)\d+"$`)
	if !unstable.MatchString(`"k8s.io/api/policy/v1beta1"`) {
		t.Fatal("the check sees nothing")
	}
	set, asked := token.NewFileSet(), 0
	for _, p := range madeOf(t, "linux") {
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				if strings.HasPrefix(i.Path.Value, `"k8s.io/api/`) {
					asked++
				}
				if unstable.MatchString(i.Path.Value) {
					t.Errorf("%s imports %s", set.Position(i.Pos()), i.Path.Value)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d imports of Kubernetes' kinds were seen", asked)
	}
}
