package simulate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/manifest"
)

// Whatever a file holds: it is refused in words, and what reading it takes of memory is in proportion to its size.
func TestTooMuchIsRefusedInWords(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"
	mega := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ name, text, want string }{
		{"alias.yaml", pod + "  annotations:\n    a: &x " + mega + "\n" + many(2000, "    k%d: *x\n"), "alias.yaml:1: this is not read: its aliases stand for more than 4 MiB"},
		{"large.yaml", pod + "  annotations: {a: " + strings.Repeat(mega, 5) + "}\n---\n" + pod + "spec: 7\n", "large.yaml:1: this is not read: an object of 5 MiB: an API server takes none above 3; is it a Kubernetes object?\nlarge.yaml:11: Pod a: spec: 7 is not an object"},
		{"large.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + strings.Repeat(mega, 5) + `"}}`, "large.json:1: this is not read: an object of 5 MiB"},
		{"items.yaml", "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- 7\n", manifest.MaxDocuments+2), fmt.Sprintf("there are more than %d objects", manifest.MaxDocuments)},
		{"wrong.yaml", "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- 7\n", 20000), "what comes after the first 1000 problems was not read"},
		{"documents.yaml", strings.Repeat("---\nkind: X\n", 20000), "what comes after the first 1000 problems was not read"},
		{"objects.json", strings.Repeat("{}\n", 20000), "what comes after the first 1000 problems was not read"},
		{"objects.yaml", strings.Repeat("---\n#\n", manifest.MaxDocuments+2), fmt.Sprintf("there are more than %d objects", manifest.MaxDocuments)},
		{"line.txt", "pod a " + mega + "\npod b cpu=x\n", "line.txt:1: a line of more than 1024 KiB"},
		{"lines.txt", strings.Repeat("nonsense here\n", 20000), "what comes after the first 1000 problems was not read"},
		{"deep.yaml", pod + "spec: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deep.yaml:1: this is not read: objects and lists in one another, deeper than 100"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := read([]File{{Name: c.name, Text: []byte(c.text)}})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, p := range in.problems {
			said = append(said, p.String())
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, c.want) || len(in.problems) > enough+blockOf+1 {
			t.Errorf("%s: %d problems: %.2000s", c.name, len(in.problems), all)
		}
		if used := int(after.TotalAlloc-before.TotalAlloc) >> 20; used > 100+400*len(c.text)>>20 {
			t.Errorf("%s: %d MiB were allocated for %d KiB", c.name, used, len(c.text)>>10)
		}
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
