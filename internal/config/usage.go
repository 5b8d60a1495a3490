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

// Option is one row of what can be said, as the manual has it.
type Option struct {
	Group string
	Flag  string   // without dashes; "" for what only the environment can set
	Env   []string // never empty; any of them may be used
	// Default is "" where there is none; what it is then says Usage.
	Default, Usage string
	Required       bool
	// Unused says why a value other than the default changes nothing; "" for options that are acted on.
	Unused string
}

// Options lists every option in the order of the help.
func Options() []Option {
	var out []Option
	for _, o := range options() {
		out = append(out, Option{Group: o.group, Flag: o.flag, Env: o.env, Default: o.def, Usage: o.usage, Required: o.need != "", Unused: o.unused})
	}
	return out
}

// Features lists every feature gate with its default, and whether it changes anything.
func Features() (defaults, acts map[string]bool) {
	acts = map[string]bool{}
	for _, name := range acting {
		acts[name] = true
	}
	return defaultGates(), acts
}
