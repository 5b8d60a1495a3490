// Package cast answers: how does a recorded terminal session stand in a page of the manual?
//
// A Recording is what a screen showed and when, line by line, and which keys were pressed. It is written as an asciicast, which
// players of terminal sessions read, and drawn as one SVG that moves by itself and loads nothing. It records nothing: who has
// a terminal does.
package cast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recording is a session, of letters that take one column each. Frames and presses are in the order of their time.
type Recording struct {
	Width, Height int // columns and lines
	Title         string
	Frames        []Frame
	Presses       []Press
}

// Frame is what the screen shows from a moment on: at most Height lines, with sequences for colours (SGR) and no others.
type Frame struct {
	At    time.Duration
	Lines []string
}

// Press is a key that was pressed, as the terminal sent it.
type Press struct {
	At  time.Duration
	Key string
}

// header is the first line of an asciicast. Source: docs.asciinema.org, "asciicast v2".
type header struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Title   string `json:"title"`
}

// Cast writes an asciicast, version 2: of each frame the lines that changed, and keys as input.
func (r Recording) Cast() []byte {
	var b bytes.Buffer
	write := func(v any) {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // strings and numbers
	}
	write(header{2, r.Width, r.Height, r.Title})
	presses := r.Presses
	before := make([]string, r.Height)
	for _, f := range r.Frames {
		for len(presses) > 0 && presses[0].At <= f.At {
			write([]any{seconds(presses[0].At), "i", presses[0].Key})
			presses = presses[1:]
		}
		var out strings.Builder
		for i := range before {
			if now := f.line(i); now != before[i] {
				fmt.Fprintf(&out, "\x1b[%d;1H\x1b[2K%s", i+1, now)
				before[i] = now
			}
		}
		write([]any{seconds(f.At), "o", out.String()})
	}
	for _, p := range presses {
		write([]any{seconds(p.At), "i", p.Key})
	}
	return b.Bytes()
}

func (f Frame) line(i int) string {
	if i < len(f.Lines) {
		return f.Lines[i]
	}
	return ""
}

// seconds has three digits: a player needs no more.
func seconds(d time.Duration) json.Number {
	return json.Number(strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
}

// What is read is bounded: an hour of a busy screen.
const (
	most       = 64 << 20 // bytes
	mostFrames = 20000
	mostSide   = 300 // columns or lines
)

// changed is how Cast writes a line that changed.
var changed = regexp.MustCompile(`^\x1b\[(\d+);1H\x1b\[2K`)

// Read reads what Cast wrote. It knows no asciicast of others: these move the cursor as they like.
func Read(text []byte) (r Recording, err error) {
	if len(text) > most {
		return r, fmt.Errorf("%d bytes are more than any recording of ours", len(text))
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var h header
	if err := json.Unmarshal(lines[0], &h); err != nil {
		return r, fmt.Errorf("line 1: %w", err)
	}
	if h.Version != 2 || h.Width <= 0 || h.Height <= 0 ||
		h.Width > mostSide || h.Height > mostSide {
		return r, errors.New("line 1: it is no header of an asciicast, version 2")
	}
	r = Recording{Width: h.Width, Height: h.Height, Title: h.Title}
	screen := make([]string, h.Height)
	last := time.Duration(0)
	for i, line := range lines[1:] {
		var e []any
		if err := json.Unmarshal(line, &e); err != nil {
			return r, fmt.Errorf("line %d: %w", i+2, err)
		}
		if len(e) != 3 {
			return r, fmt.Errorf("line %d: it is no time, kind and text", i+2)
		}
		at, isTime := e[0].(float64)
		kind, _ := e[1].(string)
		data, isText := e[2].(string)
		when := time.Duration(at*1000+0.5) * time.Millisecond
		switch {
		case !isTime || !isText || at < 0 || at > 3600 || when < last:
			return r, fmt.Errorf("line %d: it is no event that comes after the one before", i+2)
		case kind == "i":
			r.Presses = append(r.Presses, Press{when, data})
		case kind == "o" && len(r.Frames) == mostFrames:
			return r, fmt.Errorf("line %d: more than %d frames", i+2, mostFrames)
		case kind == "o":
			if err := apply(screen, data); err != nil {
				return r, fmt.Errorf("line %d: %w", i+2, err)
			}
			r.Frames = append(r.Frames, Frame{when, slices.Clone(screen)})
		default:
			return r, fmt.Errorf("line %d: unknown kind %q", i+2, kind)
		}
		last = when
	}
	return r, nil
}

// apply writes changed lines onto a screen.
func apply(screen []string, data string) error {
	for data != "" {
		m := changed.FindStringSubmatch(data)
		if m == nil {
			return errors.New("it does more than to write lines anew")
		}
		row, err := strconv.Atoi(m[1])
		if err != nil || row < 1 || row > len(screen) {
			return fmt.Errorf("row %s is not on the screen", m[1])
		}
		data = data[len(m[0]):]
		end := len(data)
		if next := strings.Index(data, "H\x1b[2K"); next >= 0 {
			end = strings.LastIndex(data[:next], "\x1b[")
		}
		if end < 0 {
			return errors.New("it does more than to write lines anew")
		}
		screen[row-1] = data[:end]
		data = data[end:]
	}
	return nil
}
