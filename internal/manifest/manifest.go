// Package manifest answers: which documents are in this file, and may each be read?
//
// It splits a file at YAML's document markers, without reading what stands between them, and bounds what one document may hold before anybody
// decodes it: an object of Kubernetes is small, and a text of a few lines can stand for gigabytes. It knows nothing of kinds.
package manifest

import (
	"bytes"
	"fmt"

	yaml "go.yaml.in/yaml/v3"
)

// Bounds of what is read.
const (
	// MaxObject is the most bytes of one object, as written and with its aliases replaced by what they stand for. An API server reads no request above 3 MiB
	// (k8s.io/apiserver, MaxRequestBodyBytes), and as YAML an object may be somewhat longer.
	MaxObject = 4 << 20
	// MaxDepth is how many objects and lists may stand in one another. Kubernetes' own have some twenty.
	MaxDepth = 100
	// MaxDocuments is the most documents, or items of lists, of all files together: six times what a cluster may have pods.
	MaxDocuments = 1_000_000
)

// Document is one document of a file.
type Document struct {
	Line int    // where it begins, from 1
	Text []byte // from its marker, if it has one, to the next document's; of the file, not to be changed
	body int    // where what it holds begins
}

// Body is what the document holds, without its marker, and in which line that begins.
func (d Document) Body() (text []byte, line int) {
	return d.Text[d.body:], d.Line + bytes.Count(d.Text[:d.body], []byte("\n"))
}

// Documents splits a file at its document markers (YAML 1.2, 9.1.2 to 9.2). What is in a document is indented or quoted, so a marker is one
// wherever it begins a line. Documents with nothing in them are left out, and so are all after one more than MaxDocuments. O(size).
func Documents(text []byte) []Document {
	var out []Document
	from, at, first, n := 0, 0, 1, 0
	body, directives := 0, false
	said := 0 // where what it says begins: behind the marker, though directives stand before that
	begin := func(start, line, content int) { from, first, body, said = start, line, content, content }
	flush := func() {
		if len(trim(text[said:at])) > 0 {
			out = append(out, Document{Line: first, Text: text[from:at], body: body - from})
		}
	}
	for line := range bytes.Lines(text) {
		if len(out) > MaxDocuments {
			return out
		}
		n++
		end := at + len(line)
		switch {
		case line[0] == '%' && silent(text[said:at]):
			if body != said {
				begin(at, n, at) // the document before had directives too, and is empty
			}
			directives = true // of the document that the next marker begins
		case line[0] == '-' && marks(line, "---"):
			content := at + len("---")
			if rest := trim(line[len("---"):]); len(rest) == 0 || rest[0] == '#' {
				content = end
			}
			if directives {
				directives, said = false, content // they, the marker and what follows are one text
				break
			}
			flush()
			begin(at, n, content)
		case line[0] == '.' && marks(line, "..."):
			flush()
			begin(end, n+1, end)
			directives = false
		}
		at = end
	}
	flush()
	return out
}

// trim drops what is blank in YAML around a text. Unicode has more blanks (a no-break space is one), which are content there (YAML 1.2, 5.4 and 5.5).
func trim(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

// silent reports whether a text has nothing in it but blanks and comments.
func silent(text []byte) bool {
	for line := range bytes.Lines(text) {
		if rest := trim(line); len(rest) > 0 && rest[0] != '#' {
			return false
		}
	}
	return true
}

// marks reports whether the line begins with the marker, and not with a word that begins so.
func marks(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n')
}

// Fits says why an object, as written in YAML or JSON, is too large to be read; nil when it is not.
func Fits(object []byte) error {
	if len(object) > MaxObject {
		return fmt.Errorf("an object of %d MiB: an API server takes none above 3", len(object)>>20)
	}
	if bytes.IndexByte(object, '&') < 0 || bytes.IndexByte(object, '*') < 0 {
		return nil // nothing stands for something else
	}
	var doc yaml.Node
	if yaml.Unmarshal(object, &doc) != nil {
		return nil // whoever reads it says so
	}
	e := expansion{sizes: map[*yaml.Node]int{}}
	if e.size(&doc) > MaxObject {
		return fmt.Errorf("its aliases stand for more than %d MiB", MaxObject>>20)
	}
	return nil
}

// expansion is what nodes are long when aliases are replaced by what they stand for; at most a little more than MaxObject.
type expansion struct{ sizes map[*yaml.Node]int }

func (e *expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := e.sizes[n]; ok {
		return known
	}
	e.sizes[n] = 0 // one that contains itself is refused by who reads it
	sum := len(n.Value) + 1
	for _, c := range n.Content {
		sum = min(sum+e.size(c), MaxObject+1)
	}
	e.sizes[n] = sum
	return sum
}

// Shallow says why JSON, which is known to be sound, is nested too deeply; nil when it is not. O(size), without allocation.
func Shallow(object []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(object); i++ {
		switch c := object[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("objects and lists in one another, deeper than %d", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
