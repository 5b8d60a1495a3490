package simulate

import (
	"strings"

	"github.com/karpenter-aks/karpenter/internal/palette"
)

// Painted is a text of explain in colours, for a terminal: what it is about, what comes, what wants a
// look, and what could be done stand out.
func Painted(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if b.Len() == 0 {
			line = palette.Strong.Paint(line)
		} else {
			line = paintedLine(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// paintedLine paints the word that a line begins with, or the line where that is a sentence.
func paintedLine(line string) string {
	for _, x := range []struct {
		begins string
		tone   palette.Tone
		whole  bool
	}{
		{"note: ", palette.Faint, true},
		{"as of ", palette.Faint, true},
		{"  it is left over", palette.Bad, true},
		{"  no one change lets it in", palette.Attention, true},
		{"  it gets ", palette.News, true},
		{"  it fits on ", palette.News, true},
		{"  it runs on ", palette.News, true},
		{"  nothing is done for it", palette.Faint, true},
		{"  the cheapest change", palette.Strong, false},
		{"  to change ", palette.Strong, false},
		{"  stays ", palette.News, false},
		{"  next ", palette.News, false},
		{"  leave ", palette.Attention, false},
		{"  leaves ", palette.Attention, false},
		{"  drifted ", palette.Attention, false},
		{"  waits ", palette.Attention, false},
		{"  held by ", palette.Attention, false},
		{"  ignored ", palette.Attention, false},
		{"  not ready ", palette.Bad, false},
	} {
		switch {
		case !strings.HasPrefix(line, x.begins):
		case x.whole:
			return x.tone.Paint(line)
		default:
			word := strings.TrimSpace(x.begins)
			return "  " + x.tone.Paint(word) + line[2+len(word):]
		}
	}
	return line
}
