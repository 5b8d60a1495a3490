package housetest

import (
	"bytes"
	"go/ast"
	"testing"
)

const (
	// longest is how many lines a stage of the engine may have, tests aside.
	longest = 2_500
	// mostMethods is how many methods a type of the engine may have.
	mostMethods = 25
)

// larger are stages and types of the engine that are older than the rule, with what they have. The
// list only gets shorter, and its numbers smaller.
func larger() map[string]int {
	return map[string]int{
		"internal/plan/portfolio.Packer": 41,
		"internal/plan/pack.packer":      29,
	}
}

// The engine stays a row of small rooms, each of which can be read at one sitting, and no type
// knows everything.
func TestStagesOfTheEngineAreSmall(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	for _, s := range tree(t) {
		if s.test || !under(s.dir, "internal/plan") && !under(s.dir, "internal/place") {
			continue
		}
		lines[s.dir] += bytes.Count(s.raw, []byte("\n"))
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	check := func(sizes map[string]int, most int, what string) {
		for name, n := range sizes {
			old, excepted := larger()[name]
			switch {
			case excepted && n <= most:
				t.Errorf("%s has %d %s: take it out of the list", name, n, what)
			case excepted && n > old:
				t.Errorf("%s has %d %s, and had %d: it only gets smaller", name, n, what, old)
			case !excepted && n > most:
				t.Errorf("%s has %d %s, more than %d: what it does can be told apart", name, n, what, most)
			}
		}
	}
	check(lines, longest, "lines")
	check(methods, mostMethods, "methods")
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
