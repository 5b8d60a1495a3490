package provision

import (
	"fmt"
	"slices"
	"strings"
)

// compound steps over a loop or a condition that begins here and reports whether there was one. Such commands wait for
// files or test for them; on an image all of it is there, so they are taken to end well. One that could change a variable,
// or call the entry point, is refused: whether it does so is not known without a shell.
func (s *shell) compound() (bool, error) {
	at := s.pos
	for at < len(s.src) && strings.IndexByte(" \t\n", s.src[at]) >= 0 {
		at++
	}
	word, end := plainWord(s.src, at)
	if !opens(word) {
		return false, nil
	}
	c := compoundReader{src: s.src, pos: at, command: true}
	for c.pos < len(c.src) {
		if err := c.token(); err != nil {
			return false, fmt.Errorf("in %q: %w", s.src[at:end], err)
		}
		if c.depth == 0 {
			s.pos = c.pos
			return true, nil
		}
	}
	return false, fmt.Errorf("syntax error: unexpected end of file in %q", word)
}

func opens(word string) bool {
	return slices.Contains([]string{"if", "for", "while", "until", "case", "select", "{"}, word)
}

func closes(word string) bool { return slices.Contains([]string{"fi", "done", "esac", "}"}, word) }

// plainWord is the word at a position up to the next blank or operator.
func plainWord(src string, at int) (word string, end int) {
	end = at
	for end < len(src) && strings.IndexByte(" \t\n;&|()<>\"'`\\", src[end]) < 0 {
		end++
	}
	return src[at:end], end
}

// compoundReader walks through a compound command token by token. Each token takes at least one byte.
type compoundReader struct {
	src     string
	pos     int
	depth   int
	command bool // a command may begin here
}

func (c *compoundReader) token() error {
	switch b := c.src[c.pos]; {
	case b == ' ' || b == '\t':
		c.pos++
	case strings.HasPrefix(c.src[c.pos:], "\\\n"):
		c.pos += 2
	case strings.IndexByte("\n;&|()", b) >= 0:
		c.pos++
		c.command = true
	case b == '#':
		for c.pos < len(c.src) && c.src[c.pos] != '\n' {
			c.pos++
		}
	case b == '<' || b == '>':
		c.pos++
	default:
		return c.word()
	}
	return nil
}

// word reads one word, with whatever is quoted or substituted in it.
func (c *compoundReader) word() error {
	plain, _ := plainWord(c.src, c.pos)
	begins := c.command
	text, err := c.skipWord()
	if err != nil {
		return err
	}
	if strings.Contains(text, entryPoint) {
		return fmt.Errorf("%s is called or named where only a shell knows whether it runs", entryPoint)
	}
	c.command = begins && slices.Contains([]string{"if", "then", "else", "elif", "while", "until", "do", "{", "!"}, text)
	if !begins {
		return nil
	}
	name, _, assigns := strings.Cut(plain, "=")
	switch {
	case assigns && isName(name), slices.Contains([]string{"export", "unset", "set", "eval", "source", ".", "read", "declare", "local", "function"}, text):
		return fmt.Errorf("%q may change variables, which is beyond this image's reader", text)
	case opens(text):
		c.depth++
	case closes(text):
		c.depth--
	}
	return nil
}

// skipWord moves to the end of the word and returns it as it was written.
func (c *compoundReader) skipWord() (string, error) {
	from := c.pos
	nested := 0 // of $( … )
	for c.pos < len(c.src) {
		b := c.src[c.pos]
		switch {
		case b == '\\':
			c.pos = min(c.pos+2, len(c.src))
			continue
		case b == '\'' || b == '"' || b == '`':
			if err := c.quoted(b); err != nil {
				return "", err
			}
			continue
		case strings.HasPrefix(c.src[c.pos:], "$("):
			nested++
			c.pos++
		case b == ')' && nested > 0:
			nested--
		case nested == 0 && strings.IndexByte(" \t\n;&|()<>", b) >= 0:
			return c.src[from:c.pos], nil
		}
		c.pos++
	}
	return c.src[from:c.pos], nil
}

func (c *compoundReader) quoted(q byte) error {
	for i := c.pos + 1; i < len(c.src); i++ {
		if c.src[i] == '\\' && q != '\'' {
			i++
			continue
		}
		if c.src[i] == q {
			c.pos = i + 1
			return nil
		}
	}
	return fmt.Errorf("unexpected end of file while looking for matching %c", q)
}
