package config

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/spell"
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

// nearest returns the name that looks most like s, the first of equals.
func nearest(s string, names []string) string {
	best, _ := spell.Nearest(s, names)
	return best
}
