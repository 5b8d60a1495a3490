package provision

import (
	"fmt"
	"strings"
)

// maxCustomData is the longest custom data Azure takes, in bytes after decoding (Virtual Machines REST API, osProfile.customData).
const maxCustomData = 65535

// entryPoint is what the AKS image runs to turn a machine into a node; the script must call it.
const entryPoint = "/opt/azure/containers/provision_start.sh"

// word is one word of a command after quotes are removed.
type word struct {
	text string
	// assign is the length of the NAME in front of an unquoted "NAME=", or 0 when the word is no assignment.
	assign int
}

// call is how a script called entryPoint.
type call struct {
	env    map[string]string // what the entry point, and its children, find in their environment
	unseen []string          // variables that the script set but did not export, sorted
}

// environment reads script as bash would, up to its first call of entryPoint. It understands what a boot script needs:
// comments, assignments, export, set -a, quotes, $NAME; it steps over plain commands, and over loops and conditions that
// change no variable. It refuses what bash would refuse, and also what would need a shell to know: variables that depend
// on the output or the success of a command. Errors name the line.
func environment(script []byte) (call, error) {
	if len(script) == 0 {
		return call{}, fmt.Errorf("there is no custom data")
	}
	if len(script) > maxCustomData {
		return call{}, fmt.Errorf("custom data is %d bytes long, the cloud takes %d", len(script), maxCustomData)
	}
	if !strings.HasPrefix(string(script), "#!") {
		return call{}, fmt.Errorf("custom data does not begin with #!: cloud-init would not run it")
	}
	sh := &shell{src: string(script), vars: map[string]string{}, exported: map[string]bool{}}
	before := "" // the operator that joins the command to the one before it
	for {
		line := 1 + strings.Count(sh.src[:sh.pos], "\n")
		words, after, err := sh.command()
		if err == nil && len(words) > 0 {
			err = joined(words, before, after)
		}
		if err != nil {
			return call{}, fmt.Errorf("line %d: %w", line, err)
		}
		env, called, err := sh.run(words)
		if err != nil {
			return call{}, fmt.Errorf("line %d: %w", line, err)
		}
		switch {
		case called:
			return call{env, sh.unseen(env)}, nil
		case after == "":
			return call{}, fmt.Errorf("the script never calls %s", entryPoint)
		case len(words) > 0:
			before = after
		}
	}
}

// shell reads one script. It is used once and by one goroutine.
type shell struct {
	src      string
	pos      int
	vars     map[string]string
	exported map[string]bool
	all      bool // set -a: every assignment exports
}

// command reads the words up to the end of a command, and the operator that ends it: a newline, one of ; & && | ||, or
// "" at the end of the script.
func (s *shell) command() (words []word, after string, err error) {
	if skipped, err := s.compound(); err != nil {
		return nil, "", err
	} else if skipped {
		words = []word{{text: ":"}}
	}
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r' && strings.HasPrefix(s.src[s.pos:], "\r\n"):
			if c == '\r' {
				return nil, "", fmt.Errorf("a carriage return before the end of the line becomes part of the last word")
			}
			s.pos++
		case strings.HasPrefix(s.src[s.pos:], "\\\n"):
			s.pos += 2
		case strings.IndexByte("\n;&|", c) >= 0:
			after = string(c)
			if rest := s.src[s.pos+1:]; (c == '&' || c == '|') && rest != "" && rest[0] == c {
				after += after
			}
			s.pos += len(after)
			if len(words) == 0 && c != '\n' {
				return nil, "", fmt.Errorf("syntax error near unexpected token %q", after)
			}
			return words, after, nil
		case c == '#':
			s.skipComment()
		case c == '(' || c == ')':
			return nil, "", fmt.Errorf("syntax error near unexpected token %q", c)
		case c == '<' || c == '>':
			if err := s.redirect(); err != nil {
				return nil, "", err
			}
		default:
			w, err := s.word()
			if err != nil {
				return nil, "", err
			}
			if isDigits(w.text) && s.pos < len(s.src) && (s.src[s.pos] == '>' || s.src[s.pos] == '<') {
				continue // the number of a redirected file
			}
			words = append(words, w)
		}
	}
	return words, "", nil
}

func (s *shell) skipComment() {
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		s.pos++
	}
}

// redirect steps over "> file", ">> file", "< file", "2>&1".
func (s *shell) redirect() error {
	if strings.HasPrefix(s.src[s.pos:], "<<") {
		return fmt.Errorf("here documents are beyond this image's reader")
	}
	reads := s.src[s.pos] == '<'
	for s.pos < len(s.src) && strings.IndexByte("<>&", s.src[s.pos]) >= 0 {
		s.pos++
	}
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
	w, err := s.word()
	if err == nil && w.text == "" {
		err = fmt.Errorf("syntax error: a redirection names no file")
	}
	if err == nil && reads && w.text != "/dev/null" {
		// The usual way to get here is an eviction threshold without quotes.
		err = fmt.Errorf("%s: No such file or directory (an unquoted < reads a file)", w.text)
	}
	return err
}

// word reads one word and removes its quotes.
func (s *shell) word() (word, error) {
	var w word
	var out strings.Builder
	plain := true // nothing was quoted so far: an assignment's name must be plain
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			w.text = out.String()
			return w, s.noArray(w)
		case c == '\'':
			n := strings.IndexByte(s.src[s.pos+1:], '\'')
			if n < 0 {
				return w, fmt.Errorf("unexpected end of file while looking for matching '")
			}
			out.WriteString(s.src[s.pos+1 : s.pos+1+n])
			s.pos += n + 2
			plain = false
		case c == '"':
			if err := s.doubleQuoted(&out); err != nil {
				return w, err
			}
			plain = false
		case c == '\\':
			if s.pos+1 < len(s.src) && s.src[s.pos+1] != '\n' {
				out.WriteByte(s.src[s.pos+1])
			}
			s.pos += 2
			plain = false
		case c == '$' || c == '`':
			if rest := s.src[s.pos+1:]; c == '$' && rest != "" && (rest[0] == '\'' || rest[0] == '"') {
				return w, fmt.Errorf("$%c quotes are beyond this image's reader", rest[0])
			}
			if err := s.expand(&out); err != nil {
				return w, err
			}
			plain = false
		case c == '~' && (out.Len() == 0 || w.assign > 0):
			return w, fmt.Errorf("an unquoted ~ is beyond this image's reader")
		default:
			if c == '=' && plain && w.assign == 0 && isName(out.String()) {
				w.assign = out.Len()
			}
			out.WriteByte(c)
			s.pos++
		}
	}
	w.text = out.String()
	return w, nil
}

func (s *shell) noArray(w word) error {
	if s.pos < len(s.src) && s.src[s.pos] == '(' {
		return fmt.Errorf("syntax error near unexpected token %q after %q", '(', w.text)
	}
	return nil
}

// doubleQuoted reads a "…" part of a word.
func (s *shell) doubleQuoted(out *strings.Builder) error {
	s.pos++
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case '"':
			s.pos++
			return nil
		case '\\':
			if s.pos+1 < len(s.src) && strings.IndexByte("\\\"$`\n", s.src[s.pos+1]) >= 0 {
				if s.src[s.pos+1] != '\n' {
					out.WriteByte(s.src[s.pos+1])
				}
				s.pos += 2
				continue
			}
			out.WriteByte(c)
			s.pos++
		case '$', '`':
			if err := s.expand(out); err != nil {
				return err
			}
		default:
			out.WriteByte(c)
			s.pos++
		}
	}
	return fmt.Errorf("unexpected end of file while looking for matching \"")
}

// expand reads $NAME or ${NAME}; a variable that is not set is empty, as in bash.
func (s *shell) expand(out *strings.Builder) error {
	if s.src[s.pos] == '`' || strings.HasPrefix(s.src[s.pos:], "$(") {
		return fmt.Errorf("the output of a command is beyond this image's reader")
	}
	s.pos++
	braced := s.pos < len(s.src) && s.src[s.pos] == '{'
	if braced {
		s.pos++
	}
	from := s.pos
	for s.pos < len(s.src) && isName(s.src[from:s.pos+1]) {
		s.pos++
	}
	name := s.src[from:s.pos]
	if strings.HasPrefix(s.src[s.pos:], "\\\n") {
		return fmt.Errorf("$%s goes on in the next line: only a whole $NAME is understood", name)
	}
	if braced {
		if name == "" || s.pos >= len(s.src) || s.src[s.pos] != '}' {
			return fmt.Errorf("${%s…: only ${NAME} is understood", name)
		}
		s.pos++
	}
	if name == "" {
		if s.pos < len(s.src) && strings.IndexByte("0123456789@*#?-$!", s.src[s.pos]) >= 0 {
			return fmt.Errorf("$%c is beyond this image's reader: only $NAME is understood", s.src[s.pos])
		}
		out.WriteByte('$')
		return nil
	}
	out.WriteString(s.vars[name])
	return nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// isName reports whether s may be the name of a variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
