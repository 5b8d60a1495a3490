package housetest

import (
	"go/ast"
	"slices"
	"testing"
)

// written are the packages whose worlds somebody wrote down, with all pods in their lists; those of all others are pictures of the mirror.
var written = []string{"internal/simulate", "internal/bound", "internal/sim", "internal/scenario", "internal/housetest"}

// TestNobodyReadsTheListOfPodsOfAPicture: a picture of the mirror has no list of its pods, so whoever reads World.Pods in the product sees none of
// them, and no test of a world that is written down notices. Index finds pods, and Flat lists them.
func TestNobodyReadsTheListOfPodsOfAPicture(t *testing.T) {
	seen := 0
	for _, s := range tree(t) {
		floor, _, known := floorOf(s.dir)
		if s.test || !known || floor < 0.9 || floor > 4 || underAny(s.dir, written) || !underAny(s.dir, []string{"internal", "cmd"}) {
			continue
		}
		seen++
		for _, at := range podListsRead(s) {
			t.Errorf("%s reads World.Pods, which is empty in a picture of the mirror: ask w.Indexed().Index, or take w.Flat()", s.fset.Position(at.Pos()))
		}
	}
	if seen < 100 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// podListsRead finds x.Pods where x is called w or world, or is a field of that name, but for where it is set.
func podListsRead(s source) (out []*ast.SelectorExpr) {
	set := map[ast.Expr]bool{}
	pkg := slices.ContainsFunc(s.imports, func(i string) bool { dir, ok := local(i); return ok && dir == "internal/world" })
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				set[x] = true
			}
		case *ast.SelectorExpr:
			name := ""
			switch x := n.X.(type) {
			case *ast.Ident:
				if name = x.Name; name == "world" && pkg {
					name = ""
				}
			case *ast.SelectorExpr:
				name = x.Sel.Name
			}
			if n.Sel.Name == "Pods" && (name == "w" || name == "world" || name == "World") && !set[n] {
				out = append(out, n)
			}
		}
		return true
	})
	return out
}
