package top

import (
	"bytes"
	"unicode/utf8"
)

// Key is a key that was pressed: a letter as itself, others below zero.
type Key rune

// The keys that are no letters.
const (
	Up Key = -1 - iota
	Down
	PageUp
	PageDown
	Home
	End
	Enter
	Escape
	Tab
	BackTab
	Backspace
	Interrupt // Ctrl-C
)

// sequences are what terminals send for keys that are no letters, after ESC. Source: the Linux manual page console_codes(4)
// and xterm's list of control sequences.
func sequences() map[string]Key {
	return map[string]Key{
		"[A": Up, "[B": Down, "[C": Enter, "[D": Escape, "[H": Home, "[F": End, "[Z": BackTab,
		"OA": Up, "OB": Down, "OC": Enter, "OD": Escape, "OH": Home, "OF": End,
		"[1~": Home, "[4~": End, "[7~": Home, "[8~": End, "[5~": PageUp, "[6~": PageDown,
	}
}

// Keys reads what a terminal sent in one piece. A sequence that means nothing here is left out, and so is one that a piece
// breaks off: terminals send them whole. ESC alone is Escape.
func Keys(sent []byte) (out []Key) {
	known := sequences()
	for len(sent) > 0 {
		if sent[0] == 0x1b {
			n := sequence(sent)
			if n == 1 {
				out = append(out, Escape)
			} else if k, ok := known[string(sent[1:n])]; ok {
				out = append(out, k)
			}
			sent = sent[n:]
			continue
		}
		r, n := utf8.DecodeRune(sent)
		sent = sent[n:]
		switch {
		case r == '\r' || r == '\n':
			out = append(out, Enter)
		case r == '\t':
			out = append(out, Tab)
		case r == 0x7f || r == '\b':
			out = append(out, Backspace)
		case r == 3:
			out = append(out, Interrupt)
		case r >= ' ' && r != utf8.RuneError:
			out = append(out, Key(r))
		}
	}
	return out
}

// sequence is how long the sequence is that begins here.
func sequence(b []byte) int {
	switch {
	case len(b) < 2 || b[1] != '[' && b[1] != 'O':
		return 1
	case b[1] == 'O':
		return min(3, len(b))
	}
	end := bytes.IndexFunc(b[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e || r < ' ' })
	if end < 0 {
		return len(b)
	}
	return end + 3
}
