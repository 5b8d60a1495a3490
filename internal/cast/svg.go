package cast

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Of the drawing, in its own units: a letter of a monospaced face is 0.6 of its size wide.
const (
	letter   = 14.0
	column   = 8.4
	row      = 18.0
	margin   = 12.0
	keyShown = 1500 * time.Millisecond // how long a key that was pressed is named
	rest     = 3 * time.Second         // at the end, before it begins again
)

// palette are the colours of a terminal by number: the sixteen that have names, and those that top uses.
var palette = map[int]string{0: "#1c1f26", 1: "#e06c75", 2: "#98c379", 3: "#e5c07b",
	4: "#61afef", 5: "#c678dd", 6: "#56b6c2", 7: "#d7dae0", 75: "#5fafff", 214: "#ffaf00"}

const paper, ink, pale = "#1c1f26", "#d7dae0", "#8a919e"

// faces are monospaced, and have the letters that bars are drawn with.
const faces = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"

// SVG draws the session as one picture that moves and begins again at its end. It loads nothing, and each line that changes is an
// element with the time in which it is seen: its size grows with what changes. Where nothing moves, on paper for instance, the
// fullest of the frames is seen.
func (r Recording) SVG() []byte {
	end := rest
	if n := len(r.Frames); n > 0 {
		end += r.Frames[n-1].At
	}
	still := r.fullest()
	var b strings.Builder
	wide, high := margin*2+column*float64(r.Width), margin*2+row*float64(r.Height+1)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" `,
		number(wide), number(high))
	fmt.Fprintf(&b, `font-family="%s" font-size="%s" fill="%s">`+"\n", faces, number(letter), ink)
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(r.Title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paper)
	for i := range r.Height {
		for from := 0; from < len(r.Frames); {
			to := from + 1
			for to < len(r.Frames) && r.Frames[to].line(i) == r.Frames[from].line(i) {
				to++
			}
			until := end
			if to < len(r.Frames) {
				until = r.Frames[to].At
			}
			if text := line(r.Frames[from].line(i)); text != "" {
				fmt.Fprintf(&b, `<text y="%s" xml:space="preserve"%s%s</text>`+"\n", base(i),
					seen(r.Frames[from].At, until, end, still), text)
			}
			from = to
		}
	}
	for i, p := range r.Presses {
		until := p.At + keyShown
		if i+1 < len(r.Presses) {
			until = min(until, r.Presses[i+1].At)
		}
		fmt.Fprintf(&b, `<text y="%s" x="%s" fill="%s"%skey pressed: %s</text>`+"\n",
			base(r.Height), number(margin), palette[214],
			seen(p.At, min(until, end), end, still), escaped(p.Key))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// base is where the letters of a line stand.
func base(i int) string { return number(margin + row*float64(i) + letter) }

// fullest is the moment at which most is seen; the last of them.
func (r Recording) fullest() (at time.Duration) {
	most := 0
	for _, f := range r.Frames {
		n := 0
		for _, l := range f.Lines {
			n += min(1, len(strings.TrimSpace(l)))
		}
		if n >= most {
			most, at = n, f.At
		}
	}
	return at
}

// seen ends the tag of an element that is seen from one moment to another, again and again; without motion, if it is seen at still.
func seen(from, until, end, still time.Duration) string {
	if from <= 0 && until >= end {
		return ">"
	}
	tag := ">"
	if still < from || still >= until {
		tag = ` visibility="hidden">`
	}
	share := func(d time.Duration) string { return number(float64(d) / float64(end)) }
	values, times := "hidden;visible;hidden", "0;"+share(from)+";"+share(until)
	switch {
	case from <= 0:
		values, times = "visible;hidden", "0;"+share(until)
	case until >= end:
		values, times = "hidden;visible", "0;"+share(from)
	}
	return tag + fmt.Sprintf(`<animate attributeName="visibility" values="%s" keyTimes="%s" `+
		`calcMode="discrete" dur="%ss" repeatCount="indefinite"/>`, values, times,
		number(end.Seconds()))
}

func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}

// look is how letters are drawn.
type look struct {
	colour               int // -1 = as all
	bold, faint, reverse bool
	underline            bool
}

// line is the text of a line as spans, each in its column, so that no face shifts what comes after it.
func line(text string) string {
	var b strings.Builder
	now := look{colour: -1}
	at := 0
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexFunc(text[2:], unicode.IsLetter)
			if end < 0 {
				break
			}
			now = now.after(text[2 : 2+end])
			text = text[2+end+1:]
			continue
		}
		n := strings.IndexByte(text, 0x1b)
		if n < 0 {
			n = len(text)
		}
		if n == 0 { // a sequence of another kind
			text = text[1:]
			continue
		}
		b.WriteString(now.span(text[:n], at))
		at += len([]rune(text[:n]))
		text = text[n:]
	}
	return b.String()
}

// after is the look after a sequence for colours. Source: the Linux manual page console_codes(4), "ECMA-48 Select Graphic Rendition".
func (l look) after(codes string) look {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		n, _ := strconv.Atoi(list[i]) // "" is 0
		switch {
		case n == 0:
			l = look{colour: -1}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 4:
			l.underline = true
		case n == 7:
			l.reverse = true
		case n == 22:
			l.bold, l.faint = false, false
		case n == 24:
			l.underline = false
		case n == 27:
			l.reverse = false
		case n >= 30 && n <= 37:
			l.colour = n - 30
		case n == 38 && i+2 < len(list) && list[i+1] == "5":
			l.colour, _ = strconv.Atoi(list[i+2])
			i += 2
		case n == 39:
			l.colour = -1
		}
	}
	return l
}

// span draws text of one look from a column on.
func (l look) span(text string, at int) string {
	if !l.reverse { // blanks show nothing
		short := strings.TrimLeft(text, " ")
		at += len(text) - len(short)
		if text = strings.TrimRight(short, " "); text == "" {
			return ""
		}
	}
	wide := len([]rune(text))
	fill := ""
	switch {
	case l.reverse:
		fill = palette[75]
	case l.colour >= 0:
		fill = cmp.Or(palette[l.colour], ink)
	case l.faint:
		fill = pale
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<tspan x="%s" textLength="%s"`, number(margin+column*float64(at)),
		number(column*float64(wide)))
	if fill != "" {
		fmt.Fprintf(&b, ` fill="%s"`, fill)
	}
	if l.bold || l.reverse {
		b.WriteString(` font-weight="bold"`)
	}
	if l.underline {
		b.WriteString(` text-decoration="underline"`)
	}
	b.WriteString(">" + escaped(text) + "</tspan>")
	return b.String()
}
