// Package blocks answers: what does YAML say that is written as kubectl writes it?
//
// That is block style: a key or an item a line, lists and objects told by how far they are indented.
// It is read some ten times as fast as YAML in general, with few allocations. It never guesses: what
// is written in another way it leaves to the library for YAML, and what a scalar means it asks that
// library, but for those that are words or quoted beyond doubt. So an answer is the library's, byte
// for byte; a test compares them.
package blocks

import (
	"bytes"
	"slices"

	"sigs.k8s.io/yaml"
)

const (
	// deepest is how many objects and lists may stand in one another.
	deepest = 100
	// mostKnown bounds how many scalars are remembered: a dump has some hundred that come again.
	mostKnown = 1 << 14
	// longestWord is how long the longest word is that YAML takes for something else than text: false.
	longestWord = 5
)

// Reader reads documents. It remembers what the library said of scalars. The zero value works. It is
// not for concurrent use.
type Reader struct {
	keys, values map[string][]byte
}

// JSON is what yaml.YAMLToJSONStrict makes of a document. ok is false when the document is not
// written in plain block style, or is wrong: then that function is to be asked. O(size).
func (r *Reader) JSON(text []byte) (out []byte, ok bool) {
	if r.keys == nil {
		r.keys, r.values = map[string][]byte{}, map[string][]byte{}
	}
	for _, c := range text {
		if c < ' ' && c != '\n' || c > '~' {
			return nil, false // tabs, and letters outside of ASCII, have rules of their own
		}
	}
	p := parser{Reader: r, text: text, out: make([]byte, 0, len(text)+len(text)/8)}
	if !p.next() || !p.mapping(p.indent, 0) || !p.ended {
		return nil, false
	}
	return p.out, true
}

// parser goes through a document line by line.
type parser struct {
	*Reader
	text []byte
	out  []byte

	at     int    // where the line behind this one begins
	from   int    // where this line begins
	indent int    // of what this line has left
	line   []byte // what it has left, without its indentation
	ended  bool   // there is no line any more
}

// next goes to the next line. False for a line that is not looked at here.
func (p *parser) next() bool {
	if p.at >= len(p.text) {
		p.ended = true
		return true
	}
	p.from = p.at
	line := p.text[p.at:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	p.at += len(line) + 1
	p.line = bytes.TrimLeft(line, " ")
	p.indent = len(line) - len(p.line)
	// Blank lines and comments may stand everywhere, and blanks at the end may mean something.
	return len(p.line) > 0 && p.line[0] != '#' && p.line[len(p.line)-1] != ' '
}

// inside reports whether this line is one of the block whose lines are indented so far.
func (p *parser) inside(indent int) bool { return !p.ended && p.indent == indent }

// item reports whether this line begins an item of a list.
func (p *parser) item() bool { return len(p.line) > 1 && p.line[0] == '-' && p.line[1] == ' ' }

// entry is what one key says, in the output.
type entry struct {
	key      []byte
	from, to int
}

// mapping reads the object whose keys are indented so far.
func (p *parser) mapping(indent, depth int) bool {
	if depth > deepest || p.ended {
		return false
	}
	var few [16]entry
	list, sorted := few[:0], true
	begin := len(p.out)
	p.out = append(p.out, '{')
	for p.inside(indent) && !p.item() {
		key, value, ok := p.cut()
		if !ok {
			return false
		}
		if n := len(list); n > 0 {
			p.out = append(p.out, ',')
			sorted = sorted && bytes.Compare(list[n-1].key, key) < 0
		}
		from := len(p.out)
		p.out = append(append(p.out, key...), ':')
		if !p.value(value, indent, depth) {
			return false
		}
		list = append(list, entry{key, from, len(p.out)})
	}
	p.out = append(p.out, '}')
	if len(list) == 0 || !p.ended && p.indent > indent {
		return false
	}
	return sorted || p.sort(begin, list)
}

// sort puts the entries of an object that begins there in order. False when a key is there twice.
func (p *parser) sort(begin int, list []entry) bool {
	slices.SortFunc(list, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	was := bytes.Clone(p.out[begin:])
	at := begin + 1
	for i, e := range list {
		if i > 0 {
			if bytes.Equal(list[i-1].key, e.key) {
				return false
			}
			p.out[at] = ','
			at++
		}
		at += copy(p.out[at:], was[e.from-begin:e.to-begin])
	}
	return true
}

// value reads what a key says: on its line, else below it.
func (p *parser) value(value []byte, indent, depth int) bool {
	if len(value) > 0 {
		return p.scalar(value, indent)
	}
	if !p.next() {
		return false
	}
	switch {
	case !p.ended && p.indent > indent && p.item(), p.inside(indent) && p.item():
		return p.list(p.indent, depth+1)
	case !p.ended && p.indent > indent:
		return p.mapping(p.indent, depth+1)
	}
	p.out = append(p.out, "null"...)
	return true
}

// list reads the list whose dashes are indented so far.
func (p *parser) list(indent, depth int) bool {
	if depth > deepest {
		return false
	}
	p.out = append(p.out, '[')
	for n := 0; p.inside(indent) && p.item(); n++ {
		if n > 0 {
			p.out = append(p.out, ',')
		}
		p.line = p.line[2:]
		if p.line[0] == ' ' || p.item() {
			return false
		}
		if _, _, ok := p.cut(); ok {
			p.indent += 2
			if !p.mapping(p.indent, depth+1) {
				return false
			}
			continue
		}
		if !p.scalar(p.line, indent) {
			return false
		}
	}
	p.out = append(p.out, ']')
	return p.ended || p.indent <= indent
}

// cut splits this line at the end of its key. ok is false when it has none, or one that is not plain.
func (p *parser) cut() (key, value []byte, ok bool) {
	if c := p.line[0]; !letter(c) && !digit(c) && c != '_' {
		return nil, nil, false
	}
	end := bytes.Index(p.line, []byte(": "))
	switch {
	case end >= 0:
		value = p.line[end+2:]
		if value[0] == ' ' {
			return nil, nil, false
		}
	case p.line[len(p.line)-1] == ':':
		end = len(p.line) - 1
	default:
		return nil, nil, false
	}
	name := p.line[:end]
	for _, c := range name {
		if !letter(c) && !digit(c) && bytes.IndexByte([]byte("_-./:~"), c) < 0 {
			return nil, nil, false
		}
	}
	key, known := p.keys[string(name)]
	if !known {
		key = ask(string(name)+": 0", "{", ":0}")
		if len(key) == 0 || key[0] != '"' {
			return nil, nil, false
		}
		if len(p.keys) < mostKnown {
			p.keys[string(name)] = key
		}
	}
	return key, value, true
}

// scalar writes a value that stands on this line, of a key or dash that is indented so far, and goes
// to the line behind it. What takes several lines the library reads.
func (p *parser) scalar(value []byte, indent int) bool {
	from := p.from
	several := value[0] == '|' || value[0] == '>'
	if !several && p.at < len(p.text) {
		more := p.text[p.at:]
		blank := len(more) - len(bytes.TrimLeft(more, " "))
		several = blank > indent || blank < len(more) && more[blank] == '\n'
	}
	if several {
		return p.several(value, from, indent)
	}
	if plainly(value) {
		p.out = append(append(append(p.out, '"'), bytes.Trim(value, `"'`)...), '"')
		return p.next()
	}
	text, known := p.values[string(value)]
	if !known {
		text = ask("k: "+string(value), `{"k":`, "}")
		nothing := string(value) == "{}" || string(value) == "[]"
		if len(text) == 0 || (text[0] == '{' || text[0] == '[') && !nothing {
			return false
		}
		if len(p.values) < mostKnown {
			p.values[string(value)] = text
		}
	}
	p.out = append(p.out, text...)
	return p.next()
}

// several has the library read a scalar of several lines: this one and all below that are indented more.
func (p *parser) several(value []byte, from, indent int) bool {
	if c := value[0]; c != '|' && c != '>' && c != '"' && c != '\'' && !letter(c) && !digit(c) {
		return false
	}
	for !p.ended {
		if p.at < len(p.text) && p.text[p.at] == '\n' {
			p.at++ // a blank line inside
			continue
		}
		p.next()
		if !p.ended && p.indent <= indent {
			break
		}
	}
	if !p.ended && (len(p.line) == 0 || p.line[0] == '#' || p.line[len(p.line)-1] == ' ') {
		return false
	}
	end := len(p.text)
	if !p.ended {
		end = p.from
	}
	first := bytes.IndexByte(p.text[from:], '\n') + from // there is one: several lines
	if first < from {
		return false
	}
	// The same lines, less indented: as a key's value at the beginning of the line.
	var b bytes.Buffer
	b.WriteString("k: ")
	b.Write(value)
	for line := range bytes.Lines(p.text[first:end]) {
		if len(line) > indent && len(bytes.TrimSpace(line)) > 0 {
			line = line[indent:]
		}
		b.Write(line)
	}
	text := ask(b.String(), `{"k":`, "}")
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return false
	}
	p.out = append(p.out, text...)
	return true
}

// plainly reports whether a scalar is text beyond doubt, and the same in JSON.
func plainly(s []byte) bool {
	c := s[0]
	if n := len(s); c == '"' || c == '\'' {
		return n > 2 && s[n-1] == c && same(s[1:n-1])
	}
	switch {
	case !same(s) || bytes.Contains(s, []byte(": ")) || bytes.Contains(s, []byte(" #")) ||
		s[len(s)-1] == ':':
		return false
	case letter(c):
		return len(s) > longestWord
	case digit(c):
		return uuid(s) || address(s)
	}
	return false
}

// same reports whether the letters stand for themselves in JSON and in both kinds of quotes.
func same(s []byte) bool {
	for _, c := range s {
		switch c {
		case '"', '\'', '\\', '<', '>', '&', '\n':
			return false
		}
	}
	return true
}

// uuid reports whether the text has the form of one, which is no number and no time.
func uuid(s []byte) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}

// address reports whether the text is digits with three dots.
func address(s []byte) bool {
	for _, c := range s {
		if !digit(c) && c != '.' {
			return false
		}
	}
	return bytes.Count(s, []byte{'.'}) == 3
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// ask has the library read a text, and returns what stands between head and tail; nothing when that
// is not what it says.
func ask(text, head, tail string) []byte {
	got, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil || !bytes.HasPrefix(got, []byte(head)) || !bytes.HasSuffix(got, []byte(tail)) {
		return nil
	}
	return got[len(head) : len(got)-len(tail)]
}
