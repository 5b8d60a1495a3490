package top

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/karpenter-aks/karpenter/internal/palette"
)

// style is how a piece of text looks; what it says does not depend on it: signs and words stand beside.
type style = palette.Tone

const (
	plain     = palette.Plain
	faint     = palette.Faint
	strong    = palette.Strong
	news      = palette.News
	attention = palette.Attention
	bad       = palette.Bad
	heading   = palette.Heading
	chosen    = palette.Chosen
)

// span is text of one style.
type span struct {
	text  string
	style style
}

// clean makes text harmless for a terminal: what is no letter, sign or space becomes a dot, and a line break a space.
func clean(s string) string {
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case odd(r):
			return '.'
		}
		return r
	}, s)
}

// odd reports whether a rune does something else on a terminal than to stand in its place: control characters, those that
// join the one before, and those that change the direction of writing.
func odd(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return r == utf8.RuneError || !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc)
}

// wide is how many columns a rune takes.
func wide(r rune) int {
	if r < 0x1100 {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// columns is how many columns clean text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += wide(r)
	}
	return n
}

// cut shortens clean text to so many columns; what was left out is marked.
func (l look) cut(s string, most int) string {
	if len(s) <= most || columns(s) <= most {
		return s
	}
	if most <= 0 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n+wide(r) > most-1 {
			return s[:i] + l.more()
		}
		n += wide(r)
	}
	return s
}

// pad makes text exactly so many columns wide.
func (l look) pad(s string, to int, right bool) string {
	s = l.cut(clean(s), to)
	gap := strings.Repeat(" ", max(0, to-columns(s)))
	if right {
		return gap + s
	}
	return s + gap
}

// look is what the terminal can show.
type look struct{ colour, ascii bool }

func (l look) more() string {
	if l.ascii {
		return ">"
	}
	return "…"
}

// bar draws a share of so many columns.
func (l look) bar(share int64, size int) string {
	full := int(min(max(share, 0), 100)) * size / 100
	if share > 0 && full == 0 {
		full = 1
	}
	on, off := "█", "░"
	if l.ascii {
		on, off = "#", "."
	}
	return strings.Repeat(on, full) + strings.Repeat(off, size-full)
}

// write appends a line of at most so many columns.
func (l look) write(b *strings.Builder, line []span, most int) {
	for _, s := range line {
		text := l.cut(clean(s.text), most)
		most -= columns(text)
		if l.colour {
			text = s.style.Paint(text)
		}
		b.WriteString(text)
	}
}
