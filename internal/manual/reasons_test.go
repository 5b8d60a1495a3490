package manual

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

const reasonsHead = `# Reasons

` + written + `
Every pod left over, every node kept and every step of a NodeClaim carries a reason from this closed
list. The same word stands in events, in the labels of metrics (some with ` + "`_` for `-`" + `),
in the log, and in the answers of ` + "`karpenter explain` and `karpenter simulate`" + `. The last
column says what a person can do; where it is empty, there is nothing to do but wait.
`

// A constant is a name with a value, as the source has it.
type constant struct {
	name, value, words string
	// group is the comment above its block, with the block's number where there is none.
	group string
}

// constants are those of a file of the model that are strings, in order.
func constants(t *testing.T, file string) []constant {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "model", file), nil,
		parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []constant
	for i, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		group := strings.TrimSpace(block.Doc.Text())
		if group == "" {
			group = strconv.Itoa(i)
		}
		for _, s := range block.Specs {
			v := s.(*ast.ValueSpec)
			lit, ok := v.Values[0].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				t.Fatalf("%s: %s is no text", file, v.Names[0].Name)
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.TrimSpace(v.Comment.Text())
			out = append(out, constant{v.Names[0].Name, value, words, group})
		}
	}
	return out
}

// reasons writes the closed list.
func reasons(t *testing.T) string {
	var b strings.Builder
	b.WriteString(reasonsHead)
	group := ""
	for _, c := range constants(t, "why.go") {
		if c.group != group {
			group = c.group
			title, _, _ := strings.Cut(group, " (")
			b.WriteString("\n## " + strings.TrimSuffix(title, ".") + "\n\n" +
				"| reason | meaning | what to do |\n|---|---|---|\n")
		}
		if c.words == "" {
			t.Errorf("model/why.go: %s says nothing beside its name", c.name)
		}
		row(&b, code(c.value), c.words, model.Why(c.value).Remedy())
	}
	return b.String()
}

// The list holds no reason that nobody gives.
func TestReasonsAreGiven(t *testing.T) {
	given := map[string]bool{}
	name := regexp.MustCompile(`\bWhy\w+`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "model" {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, m := range name.FindAllString(string(raw), -1) {
			given[m] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range constants(t, "why.go") {
		if !given[c.name] {
			t.Errorf("model/why.go: nobody gives %s", c.name)
		}
	}
}
