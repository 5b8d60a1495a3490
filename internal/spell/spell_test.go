package spell

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		word    string
		list    []string
		best    string
		changes int
	}{
		{"memmory", []string{"cpu", "memory", "pods"}, "memory", 1},
		{"CPU", []string{"pods", "cpu"}, "cpu", 0},
		{"x", []string{"b", "a"}, "b", 1}, // the first of equals
		{"x", nil, "", -1},
		{"", []string{"abc"}, "abc", 3},
	} {
		if best, changes := Nearest(c.word, c.list); best != c.best || changes != c.changes {
			t.Errorf("%q among %q: %q with %d changes, want %q with %d", c.word, c.list, best, changes, c.best, c.changes)
		}
	}
}

// slow is the definition, without a table.
func slow(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return slow(a[1:], b[1:])
	}
	return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
}

func TestDistanceIsTheFewestChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := Distance(a, b), slow(a, b); got != want {
			t.Fatalf("%q to %q: %d changes, want %d", a, b, got, want)
		}
	})
}
