package provision

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// This file reads values as systemd does. Sources: systemd's src/basic/env-file.c (EnvironmentFile=),
// src/basic/env-util.c (variables in ExecStart=) and src/basic/extract-word.c (splitting), and systemd.exec(5).

const blanks = " \t\n\r" // systemd's WHITESPACE

// environmentFile reads a file named by EnvironmentFile=: NAME=value lines. A later assignment of a name wins. Lines that
// assign nothing valid are dropped; an error means that the whole file is refused, and with it the start of the unit.
//
// A value ends at its line, so a newline inside a value that someone wrote there makes the rest another assignment, or
// junk. A backslash takes the next character as it is, and eats a newline. A quote is special only where a value, or a
// quoted part of it, begins; quoted parts may span lines. Nothing expands: $, % and ` stand for themselves.
func environmentFile(text string) (map[string]string, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not UTF-8: systemd refuses the whole file")
	}
	r := envReader{env: map[string]string{}}
	for i := range len(text) {
		r.take(text[i])
	}
	if r.state >= envPreValue {
		r.push()
	}
	return r.env, nil
}

type envState int

const (
	envPreKey envState = iota
	envKey
	envComment
	envCommentEscape
	envPreValue // from here on there is a value, if only an empty one
	envValue
	envValueEscape
	envSingle
	envDouble
	envDoubleEscape
)

// envReader is systemd's state machine, fed byte by byte.
//
//	preKey ─▶ key ─=▶ preValue ─▶ value ◀─▶ valueEscape
//	  │ # ;             ▲  │ ' "              newline, outside quotes: the assignment is done ─▶ preKey
//	  ▼                 │  ▼
//	comment          single, double ◀─▶ doubleEscape
type envReader struct {
	state      envState
	key, value []byte
	solid      int // length of value up to its last byte that trailing blanks may not be cut before
	env        map[string]string
}

func (r *envReader) take(c byte) {
	newline, blank := c == '\n' || c == '\r', strings.IndexByte(blanks, c) >= 0
	switch r.state {
	case envPreKey:
		if c == '#' || c == ';' {
			r.state = envComment
		} else if !blank {
			r.state, r.key = envKey, append(r.key, c)
		}
	case envKey:
		switch {
		case newline: // a line without "=" is dropped
			r.reset()
		case c == '=':
			r.state = envPreValue
		default:
			r.key = append(r.key, c)
		}
	case envPreValue:
		switch {
		case newline:
			r.push()
		case c == '\'':
			r.state = envSingle
		case c == '"':
			r.state = envDouble
		case c == '\\':
			r.state = envValueEscape
		case !blank:
			r.state = envValue
			r.add(c)
		}
	case envValue:
		switch {
		case newline:
			r.push()
		case c == '\\':
			r.state, r.solid = envValueEscape, len(r.value)
		default:
			r.value = append(r.value, c)
			if !blank {
				r.solid = len(r.value)
			}
		}
	case envValueEscape:
		r.state = envValue
		if !newline {
			r.add(c) // an escaped blank is no trailing blank
		}
	default:
		r.takeQuoted(c, newline)
	}
}

// takeQuoted reads inside quotes and comments.
func (r *envReader) takeQuoted(c byte, newline bool) {
	switch r.state {
	case envSingle:
		if c == '\'' {
			r.state = envPreValue
		} else {
			r.add(c)
		}
	case envDouble:
		switch c {
		case '"':
			r.state = envPreValue
		case '\\':
			r.state = envDoubleEscape
		default:
			r.add(c)
		}
	case envDoubleEscape:
		r.state = envDouble
		if strings.IndexByte("\"\\`$", c) >= 0 {
			r.add(c)
		} else if c != '\n' {
			r.add('\\')
			r.add(c)
		}
	case envComment:
		if c == '\\' {
			r.state = envCommentEscape
		} else if newline {
			r.reset()
		}
	case envCommentEscape: // since systemd 254 an escaped newline ends a comment, too
		r.state = envComment
		if newline {
			r.reset()
		}
	}
}

func (r *envReader) add(c byte) {
	r.value = append(r.value, c)
	r.solid = len(r.value)
}

// push ends an assignment. Blanks at the end are cut only from what was read plain, and only if the value ended there.
func (r *envReader) push() {
	if r.state == envValue {
		r.value = r.value[:r.solid]
	}
	if key := strings.TrimRight(string(r.key), blanks); isName(key) {
		r.env[key] = string(r.value)
	}
	r.reset()
}

func (r *envReader) reset() {
	r.state, r.key, r.value, r.solid = envPreKey, r.key[:0], nil, 0
}

// commandLine expands the words of an ExecStart= line. A word that is $NAME is replaced by the words of the value, none
// when it is empty or not set; ${NAME} inside a word by the value as it is, blanks and all.
func commandLine(words []string, env map[string]string) []string {
	var out []string
	for _, w := range words {
		if name, whole := strings.CutPrefix(w, "$"); whole && isName(name) {
			out = append(out, splitUnquoted(env[name])...)
			continue
		}
		out = append(out, expandBraces(w, env))
	}
	return out
}

// expandBraces replaces every ${NAME}.
func expandBraces(w string, env map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(w, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed || !isName(name) {
			b.WriteString(w)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(env[name])
		w = after
	}
}

// splitUnquoted splits a value at blanks. Quotes, anywhere in a word, hold blanks together and are removed; a backslash
// takes the next character as it is, inside quotes too. A quote that is never closed, and a backslash at the end, are
// forgiven (EXTRACT_RELAX).
func splitUnquoted(value string) []string {
	var out []string
	var word []byte
	inWord, quote := false, byte(0)
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\':
			inWord = true
			if i++; i < len(value) {
				word = append(word, value[i])
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case strings.IndexByte(blanks, c) >= 0:
			if inWord {
				out, word, inWord = append(out, string(word)), nil, false
			}
		default:
			inWord, word = true, append(word, c)
		}
	}
	if inWord {
		out = append(out, string(word))
	}
	return out
}

// unitEnvironment is what the unit's process finds: Environment= lines first, EnvironmentFile= over them.
func unitEnvironment(dropIns map[string]string, file string) (map[string]string, error) {
	env := maps.Clone(dropIns)
	read, err := environmentFile(file)
	maps.Copy(env, read)
	return env, err
}
