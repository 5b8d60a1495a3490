package config

import (
	"fmt"
	"strings"
)

// Usage returns the help text: every option by group, with its environment names and default.
func Usage() string {
	var b strings.Builder
	b.WriteString("Every flag can be given as the environment variable beside it; a flag wins.\n")
	group := ""
	for _, o := range options() {
		if o.group != group {
			group = o.group
			fmt.Fprintf(&b, "\n%s:\n", group)
		}
		head := strings.Join(o.env, ", ")
		if o.flag != "" {
			head = "--" + o.flag + "  " + head
		}
		fmt.Fprintf(&b, "  %s\n      %s", head, o.usage)
		switch {
		case o.need != "":
			b.WriteString(" (required)")
		case o.def != "":
			fmt.Fprintf(&b, " (default %s)", o.def)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// nearest returns the name with the smallest edit distance to s, the first of equals.
func nearest(s string, names []string) string {
	best, least := "", -1
	for _, n := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(n)); least < 0 || d < least {
			best, least = n, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between two strings. O(len(a)·len(b)).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
