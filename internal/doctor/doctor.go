// Package doctor answers: can Karpenter work here, and if not, what is to be done?
//
// Facts go in, findings come out, in a fixed order. It asks nobody: whoever gathers the facts says what could not be seen.
package doctor

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/palette"
)

// Level says how much a finding matters.
type Level string

// The levels of findings.
const (
	OK      Level = "ok"      // looked at, and well
	Note    Level = "note"    // worth knowing; Karpenter works
	Stop    Level = "stop"    // Karpenter does not work, or not as it should, until it is mended
	Unknown Level = "unknown" // a whole part could not be looked at
)

// Finding is what one check found.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	What  string `json:"what"`
	// Do says what to do about it; "" where all is well, and where a list of findings about settings
	// goes on: the last of them says it for all.
	Do string `json:"do,omitempty"`
}

// checks are in the order in which a person would mend things.
func checks() []struct {
	name string
	look func(*book, Facts)
} {
	return []struct {
		name string
		look func(*book, Facts)
	}{
		{"settings", settings}, {"cluster", cluster}, {"clock", clocks}, {"crds", definitions},
		{"rbac", access}, {"tokens", tokens}, {"controller", controller}, {"federation",
			federation},
		{"azure", azure}, {"aks", managed}, {"roles", roles}, {"subnet", subnet}, {"reach", reach},
		{"quota", quota}, {"sizes", sizes}, {"gallery", galleries}, {"prices", prices},
	}
}

// Examine looks at all facts. The findings come in the order of the checks; each check says something.
func Examine(f Facts) []Finding {
	var out []Finding
	for _, c := range checks() {
		b := &book{check: c.name}
		c.look(b, f)
		out = append(out, b.out...)
	}
	return out
}

// Code is the exit code for findings: 0 well, 1 something stops Karpenter, 2 nothing that was seen does, but a part could not be looked at.
func Code(all []Finding) int {
	code := 0
	for _, f := range all {
		switch f.Level {
		case Stop:
			return 1
		case Unknown:
			code = 2
		}
	}
	return code
}

// tone is how a terminal shows the level.
func (l Level) tone() palette.Tone {
	switch l {
	case OK:
		return palette.News
	case Stop:
		return palette.Bad
	}
	return palette.Attention
}

// Text prints findings for a person: level, check, what was found, and below that what to do; with
// the levels in colours if that is wished.
func Text(all []Finding, colour bool) string {
	var b strings.Builder
	for _, f := range all {
		level := fmt.Sprintf("%-8s", f.Level)
		if colour {
			level = f.Level.tone().Paint(string(f.Level)) + level[len(f.Level):]
		}
		fmt.Fprintf(&b, "%s%-12s%s\n", level, f.Check, f.What)
		for line := range strings.Lines(f.Do) {
			fmt.Fprintf(&b, "%20s%s\n", "", strings.TrimRight(line, "\n"))
		}
	}
	return b.String()
}

// book collects the findings of one check.
type book struct {
	check string
	out   []Finding
}

func (b *book) say(l Level, do, format string, args ...any) {
	b.out = append(b.out, Finding{Check: b.check, Level: l, What: fmt.Sprintf(format, args...),
		Do: do})
}

// well says that all is well unless the check found something that stops Karpenter.
func (b *book) well(format string, args ...any) {
	for _, f := range b.out {
		if f.Level == Stop || f.Level == Unknown {
			return
		}
	}
	b.say(OK, "", format, args...)
}
