package housetest

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// An if or switch header asks; what it does beside that is overlooked. What can be seen without types: before
// the semicolon stands no call whose result is dropped, which is there for its effect alone, and nothing is sent.
// Names and fields may get values there; what a call changes that also answers is asked in review.
func TestHeadersOnlyAsk(t *testing.T) {
	for _, s := range tree(t) {
		if generated(s.file) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			var init ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				init = n.Init
			case *ast.SwitchStmt:
				init = n.Init
			case *ast.TypeSwitchStmt:
				init = n.Init
			}
			switch init.(type) {
			case *ast.ExprStmt, *ast.SendStmt:
				t.Errorf("%s: a header with an effect: give it a line of its own, so that who reads "+
					"the conditions sees it", s.fset.Position(init.Pos()))
			}
			return true
		})
	}
}

// wide are packages that are older than the rule about lines. The list only gets shorter.
func wide() []string {
	return []string{
		"api/admit", "api/azure/v1beta1", "api/crds", "api/crds/gen", "bench", "bench/cmd/ablate",
		"cloud", "cloud/azure", "cloud/cloudtest", "cloud/market", "cloud/memcloud", "cmd/karpenter",
		"compat/cmd/bench-compare", "compat/judge", "compat/objects", "compat/sidebyside",
		"compat/upstream", "internal/audit", "internal/bound", "internal/budget", "internal/buffer",
		"internal/config", "internal/control", "internal/convert", "internal/disrupt",
		"internal/drain", "internal/evidence", "internal/housetest", "internal/kube",
		"internal/kube/apikube", "internal/kube/guard", "internal/kube/memkube",
		"internal/kube/storetest", "internal/nomination", "internal/lifecycle", "internal/manifest",
		"internal/observe", "internal/overlay", "internal/place", "internal/plan/pack",
		"internal/plan/portfolio", "internal/ready", "internal/require", "internal/sim",
		"internal/simulate", "internal/spell", "internal/static", "internal/workload",
		"internal/world", "internal/worldgen", "internal/worldtext", "lab/arm", "lab/arm/gen",
		"lab/kubelet", "lab/provision", "lab/provision/provisiontest", "lab/skus", "model", "plane",
		"plane/assemble", "plane/chart", "plane/cmd/karpenter-lab", "plane/exam", "plane/story",
	}
}

const (
	// widest is how many columns a line of code may have.
	widest = 100
	// tab is how many columns a tab is taken for.
	tab = 4
)

func TestLinesOfCodeAreShort(t *testing.T) {
	found := map[string]bool{}
	for _, s := range tree(t) {
		if generated(s.file) {
			continue
		}
		for _, line := range long(s) {
			found[s.dir] = true
			if !slices.Contains(wide(), s.dir) {
				t.Errorf("%s:%d: more than %d columns: two files stand beside each other on a screen",
					s.path, line, widest)
			}
		}
	}
	for _, dir := range wide() {
		if !found[dir] {
			t.Errorf("the lines of %s are short enough: take it out of the list", dir)
		}
	}
}

// long are the numbers of lines with code that are too wide. Comments count for nothing: they are filled by editors.
func long(s source) []int {
	code := map[int]bool{}
	file := token.NewFileSet().AddFile(s.path, -1, len(s.raw))
	var sc scanner.Scanner
	sc.Init(file, s.raw, nil, 0)
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		for i := range strings.Count(lit, "\n") + 1 {
			code[file.Line(pos)+i] = true
		}
	}
	var out []int
	n := 0
	for text := range strings.Lines(string(s.raw)) {
		n++
		text = strings.TrimRight(text, "\n")
		if code[n] && utf8.RuneCountInString(text)+(tab-1)*strings.Count(text, "\t") > widest {
			out = append(out, n)
		}
	}
	return out
}
