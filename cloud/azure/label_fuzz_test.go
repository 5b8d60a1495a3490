package azure

import (
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// FuzzLabels compares what machines are given as labels with what Kubernetes' documentation says of their syntax, in plain arithmetic.
func FuzzLabels(f *testing.F) {
	seeds := []string{"", "a", "a-b_c.D", "-a", "a.", "é", "a\n", "example.com/a", "Example.com/a", "a/b/c", "/a", "a/", strings.Repeat("a", 63), strings.Repeat("a", 64),
		strings.Repeat("a", 253) + "/a", strings.Repeat("a", 254) + "/a", "a..b/c", "a.-b/c"}
	mutated.Add(f, 2000, seeds...)
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := labelValue.takes(s), s == "" || isName(s, 63, "-_."); got != want {
			t.Errorf("value %q: taken %t, want %t", s, got, want)
		}
		prefix, name, both := strings.Cut(s, "/")
		want := isName(s, 63, "-_.")
		if both {
			want = isName(name, 63, "-_.") && len(prefix) <= 253 && prefix == strings.ToLower(prefix)
			for part := range strings.SplitSeq(prefix, ".") {
				want = want && isName(part, 253, "-")
			}
		}
		if got := badKey(s) == ""; got != want {
			t.Errorf("key %q: taken %t, want %t", s, got, want)
		}
	})
}

// isName reports whether s has 1 to most letters and digits, and between them also those in inside.
func isName(s string, most int, inside string) bool {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= most && strings.Trim(s, alphanumeric+inside) == "" &&
		strings.Contains(alphanumeric, s[:1]) && strings.Contains(alphanumeric, s[len(s)-1:])
}
