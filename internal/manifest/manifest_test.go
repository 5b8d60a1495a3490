package manifest_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/karpenter-aks/karpenter/internal/manifest"
	"github.com/karpenter-aks/karpenter/internal/mutated"
)

func TestDocuments(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n\n", ""},
		{"a: 1", "1 a: 1|"},
		{"---\n---\n", ""},
		{"---\na: 1\n---\nb: 2\n", "2 a: 1|4 b: 2|"},
		{"a: 1\n--- # two\nb: 2\n", "1 a: 1|3 b: 2|"},
		{"a: 1\n--- {b: 2}\n", "1 a: 1|2 {b: 2}|"},
		{"a: 1\n...\nb: 2\n", "1 a: 1|3 b: 2|"},
		{"a: |\n  ---\n  x\n----\n", "1 a: |\n  ---\n  x\n----|"},
		{"%YAML 1.1\n---\na: 1\n---\nb: 2\n", "1 %YAML 1.1\n---\na: 1|5 b: 2|"},
		{"---\r\na: 1\r\n---\r\nb: 2", "2 a: 1|4 b: 2|"},
		{"# said\n---\na: 1\n", "1 # said|3 a: 1|"},
	} {
		var got strings.Builder
		for _, d := range manifest.Documents([]byte(c.text)) {
			text, line := d.Body()
			fmt.Fprintf(&got, "%d %s|", line, bytes.TrimSpace(text))
		}
		if got.String() != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.text, got.String(), c.want)
		}
	}
}

// lateDirective finds a directive behind other lines of its document.
var lateDirective = regexp.MustCompile(`\n%`)

// FuzzDocuments: what the parser finds in the whole file, it finds in the pieces.
func FuzzDocuments(f *testing.F) {
	seeds := []string{"a: 1\n---\nb: 2\n", "--- x\n...\n--- y\n", "%YAML 1.1\n---\na\n...\n%YAML 1.1\n--- b\n", "a: |\n  ---\n--- 'x\n  y'\n", "# a\n---\n# b\n",
		"%YAML 1.1\n---\n%YAML 1.1\n--- ", "# a\n%YAML 1.1\n---\nx: 1\n", "\u00a0", "--- \u00a0", "\u00a0\n%YAML 1.1\n---\nx: 1\n"}
	mutated.AddBytes(f, 2000, seeds...)
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, ok := all(text)
		if !ok {
			return
		}
		var parts []string
		for _, d := range manifest.Documents(text) {
			some, ok := all(d.Text)
			if !ok && lateDirective.Match(d.Text) {
				return // YAML wants a "..." before it (9.2), and readers differ in whether they insist
			}
			if !ok {
				t.Fatalf("%q can be read, its piece %q cannot", text, d.Text)
			}
			parts = append(parts, some...)
		}
		if strings.Join(parts, "|") != strings.Join(whole, "|") {
			t.Fatalf("%q holds %q, its pieces %q", text, whole, parts)
		}
	})
}

// all are the documents that are something, written anew.
func all(text []byte) (out []string, ok bool) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for range len(text) + 1 { // a document takes a byte at least
		var v any
		if err := dec.Decode(&v); err != nil {
			return out, err.Error() == "EOF"
		}
		if v != nil {
			out = append(out, fmt.Sprintf("%#v", v))
		}
	}
	return nil, false
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ text, want string }{
		{"a: 1", ""},
		{"a: " + strings.Repeat(long, 5), "an object of 5 MiB"},
		{"a: &x " + long + "\nb: [*x, *x]\n", ""},
		{"a: &x " + long + "\nb: [*x, *x, *x, *x]\n", "aliases stand for more than 4 MiB"},
		{"a: &a [x,x,x,x]\n" + nested(20), "aliases stand for more than 4 MiB"},
		{"a: &x {b: *x}\n", ""},
		{"a: && *", ""},
	} {
		err := manifest.Fits([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	for n, deep := range map[int]bool{manifest.MaxDepth: false, manifest.MaxDepth + 1: true} {
		if err := manifest.Shallow([]byte(strings.Repeat("[", n) + strings.Repeat("]", n))); (err != nil) != deep {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	if err := manifest.Shallow([]byte(`{"a":"` + strings.Repeat(`[\"{`, 200) + `"}`)); err != nil {
		t.Errorf("brackets in a text: %v", err)
	}
}

// nested are aliases of aliases: each line is three times the one before.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c: &%[1]c [*%[2]c, *%[2]c, *%[2]c]\n", 'b'+rune(i), 'a'+rune(i))
	}
	return b.String()
}
