package top

import (
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// column is one column of a table.
type column struct {
	title string
	width int
	// rank says what goes first where there is little room: the highest.
	rank  int
	right bool
	cell  func(p *Picture, l look, r row) (string, style)
}

// Frame draws a screen of at most so many lines and columns, each line with its line break but the last. It walks the rows
// that are shown, and their pods where blockers are shown, and no others.
func Frame(s *State, width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	lines := s.head()
	foot := s.foot(height - len(lines))
	room := height - len(lines) - len(foot)
	if cols := s.columns(width); cols != nil {
		lines = append(lines, heads(s.look, cols))
		room--
		lines = append(lines, s.table(cols, room)...)
	} else {
		lines = append(lines, s.prose(width, room)...)
	}
	for len(lines)+len(foot) < height {
		lines = append(lines, nil)
	}
	lines = append(lines, foot...)
	var b strings.Builder
	for i, line := range lines[:min(len(lines), height)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		s.look.write(&b, line, width)
	}
	return b.String()
}

// Once draws the screen as a whole, without keys to press and cursor: for files and pipes.
func Once(s *State) string {
	lines := s.head()
	lines[len(lines)-1] = s.where(false)
	cols := s.columns(whole)
	lines = append(lines, heads(s.look, cols))
	for i := range s.rows {
		lines = append(lines, s.row(cols, &s.rows[i], false))
	}
	if len(s.rows) == 0 {
		text, st := s.nothing()
		lines = append(lines, []span{{"  " + text, st}})
	}
	var b strings.Builder
	for _, line := range lines {
		var one strings.Builder
		s.look.write(&one, line, whole)
		b.WriteString(strings.TrimRight(one.String(), " ") + "\n")
	}
	return b.String()
}

// whole is wider than any line that says something.
const whole = 1000

// head is what is always said: the source, the sums, and what is looked at.
func (s *State) head() [][]span {
	p, t := s.picture, &s.picture.total
	title := []span{{"karpenter top", strong}, {"  " + s.opt.Source, plain}}
	if s.trouble != "" {
		title = append(title, span{"   ! " + s.trouble, bad})
	}
	sums := []span{{model.Count(t.machines, "node"), strong}}
	if t.unready > 0 {
		sums = append(sums, span{fmt.Sprintf(", ! %d not ready", t.unready), bad})
	}
	if t.leaving > 0 {
		sums = append(sums, span{fmt.Sprintf(", - %d leaving", t.leaving), attention})
	}
	sums = append(sums, span{"   " + model.Count(p.running, "pod") + " on nodes", plain})
	if n := len(p.pending); n > 0 {
		sums = append(sums, span{fmt.Sprintf(", ! %d waiting", n), bad})
	}
	sums = append(sums, span{fmt.Sprintf("   $%.4f/h, $%.0f a month", t.price.Float(),
		t.price.Month()), strong})
	if t.unpriced > 0 && t.machines > 0 {
		unpriced := model.Count(t.unpriced, "node")
		sums = append(sums, span{" and " + unpriced + " of unknown price", faint})
	}
	fill := []span{{"cpu ", plain}}
	fill = append(fill, s.fill(t.used.CPU, t.allocatable.CPU)...)
	fill = append(fill, span{"   memory ", plain})
	fill = append(fill, s.fill(t.used.Memory, t.allocatable.Memory)...)
	return [][]span{title, sums, fill, s.where(true)}
}

func (s *State) fill(used, of int64) []span {
	x := percent(used, of)
	return []span{{s.look.bar(x, 20), news}, {fmt.Sprintf(" %d%%", x), strong}}
}

// where says what is looked at, how it is sorted and filtered, and where the cursor is.
func (s *State) where(cursor bool) []span {
	c := s.shown()
	text := [...]string{"pools", "nodes", "pods that wait", "decisions", "pods of ", "why ",
		"help"}[c.kind]
	switch {
	case c.kind == nodes && c.of != "":
		text += " of pool " + c.of
	case c.kind == pods:
		text += strings.TrimPrefix(strings.TrimPrefix(c.of, "node/"), "claim/")
		if m := s.picture.find(c.of); m != nil {
			text = "pods of " + m.name
		} else {
			text += ", which is gone"
		}
	case c.kind == why:
		text += c.asked.Kind + " " + c.asked.Name
	}
	line := []span{{text, strong}}
	if list := orders(c.kind); len(list) > 0 {
		by := "   by " + list[c.order%len(list)].name
		if c.back {
			by += ", the other way round"
		}
		line = append(line, span{by, faint})
	}
	if c.filter != "" || s.typing {
		line = append(line, span{"   with: " + c.filter, attention})
	}
	if s.typing {
		line = append(line, span{"_", strong})
	}
	if n := len(s.rows); cursor && n > 0 && c.kind != help {
		line = append(line, span{fmt.Sprintf("   %d of %d", c.at+1, n), faint})
	}
	return line
}

// foot is the newest decisions, where there is room, and the keys.
func (s *State) foot(room int) [][]span {
	var out [][]span
	if k := s.shown().kind; room >= 16 && len(s.events) > 0 && k != decisions {
		out = append(out, []span{{"decisions", heading}})
		for i := max(0, len(s.events)-3); i < len(s.events); i++ {
			e := &s.events[i]
			out = append(out, []span{{fmt.Sprintf("%4s  ", age(e.At, s.picture.Now)), faint},
				{e.Reason, s.event(e)}, {"  " + e.Kind + " " + e.Name + ": " + e.Message, plain}})
		}
	}
	if line := s.went(); line != nil {
		out = append(out, line)
	}
	if line := s.commands(); line != nil {
		out = append(out, line)
	}
	keys := "enter in  esc back  w why  s sort  r reverse  / filter  1-4 views  ? help  q quit"
	return append(out, []span{{keys, faint}})
}

func (s *State) event(e *Event) style {
	if e.Warning {
		return attention
	}
	return news
}

// nothing says why the screen is empty; more than one line is a welcome.
func (s *State) nothing() (string, style) {
	switch c := s.shown(); {
	case c.filter != "":
		return "nothing has these words; esc shows all", faint
	case c.kind == pending:
		return "no pod waits", faint
	case c.kind == decisions:
		return "nothing was decided since this began", faint
	case s.welcome() != "" && s.picture.total.machines == 0:
		return s.welcome(), plain
	case c.kind == pools:
		return "there is no NodePool", faint
	}
	return "there is nothing", faint
}

// window is which rows are shown: the cursor stays in the middle as far as can be.
func (s *State) window(room int) (from, to int) {
	from = min(max(0, s.shown().at-room/2), max(0, len(s.rows)-room))
	return from, min(len(s.rows), from+max(room, 0))
}

func (s *State) table(cols []column, room int) (out [][]span) {
	from, to := s.window(room)
	for i := from; i < to; i++ {
		out = append(out, s.row(cols, &s.rows[i], i == s.shown().at))
	}
	if len(s.rows) == 0 {
		text, st := s.nothing()
		for line := range strings.SplitSeq(text, "\n") {
			if len(out) < room {
				out = append(out, []span{{"  " + line, st}})
			}
		}
	}
	return out
}

func (s *State) row(cols []column, r *row, here bool) []span {
	mark := "  "
	if here {
		mark = "> "
	}
	line := make([]span, 1, 2*len(cols)+1)
	line[0] = span{mark, strong}
	for i, c := range cols {
		text, st := c.cell(s.picture, s.look, *r)
		if here && i == 0 {
			st = chosen
		}
		line = append(line, span{s.look.pad(text, c.width, c.right), st}, span{" ", plain})
	}
	return line
}

func heads(l look, cols []column) []span {
	line := []span{{"  ", plain}}
	for _, c := range cols {
		line = append(line, span{l.pad(c.title, c.width, c.right), heading}, span{" ", plain})
	}
	return line
}

// prose shows lines of text, broken where they are too long: all if there is room, else those from the cursor on.
func (s *State) prose(width, room int) [][]span {
	var out [][]span
	from := 0
	for i := range s.rows {
		if i == s.shown().at {
			from = len(out)
		}
		for _, line := range broken(clean(s.rows[i].text), width) {
			out = append(out, []span{{line, plain}})
		}
	}
	if room = max(room, 0); len(out) > room {
		out = out[from:]
		out = out[:min(room, len(out))]
	}
	return out
}

// broken breaks clean text between words; the lines but the first begin as far in as the text does, and a bit.
func broken(text string, width int) (out []string) {
	deep := len(text) - len(strings.TrimLeft(text, " ")) + 2
	for columns(text) > width && width > 2*deep {
		at, n := 0, 0 // at is where the last word ends that fits
		for i, r := range text {
			if r == ' ' && strings.TrimSpace(text[:i]) != "" {
				at = i
			}
			if n += wide(r); n > width {
				break
			}
		}
		if at == 0 {
			break
		}
		out = append(out, text[:at])
		text = strings.Repeat(" ", deep) + strings.TrimLeft(text[at:], " ")
	}
	return append(out, text)
}

// cores and bytes write amounts shortly.
func cores(milli int64) string {
	if milli%1000 == 0 {
		return fmt.Sprint(milli / 1000)
	}
	return fmt.Sprintf("%dm", milli)
}

func bytes10(n int64) string {
	const mi, gi = 1 << 20, 1 << 30
	switch {
	case n >= 10*gi || n >= gi && n%gi == 0:
		return fmt.Sprintf("%dGi", n/gi)
	case n >= mi:
		return fmt.Sprintf("%dMi", n/mi)
	case n == 0:
		return "0"
	}
	return fmt.Sprint(n)
}
