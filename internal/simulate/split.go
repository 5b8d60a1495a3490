package simulate

import (
	"bytes"

	"github.com/karpenter-aks/karpenter/internal/manifest"
)

// chunk is a piece of a file that holds one object (or a list of them), with the line it begins in. Large dumps are read
// chunk by chunk: a mistake in one object does not hide those in the next, and only a few objects are in memory twice.
type chunk struct {
	file string
	line int
	text []byte // of the file, not to be changed
	// dashed is set for an item of a list: the first that it says is the dash.
	dashed bool
	// ahead is what was read of it already; nil = nothing.
	ahead *ahead
}

// yaml is the chunk as a document of its own: an item's dash is blank, so that the rest keeps its columns.
func (c chunk) yaml() []byte {
	if !c.dashed {
		return c.text
	}
	out := bytes.Clone(c.text)
	out[bytes.IndexByte(out, '-')] = ' '
	return out
}

// documents splits a file at its document markers.
func documents(f File) []chunk {
	var out []chunk
	for _, d := range manifest.Documents(withoutSayings(f.Text)) {
		text, line := d.Body()
		out = append(out, chunk{file: f.Name, line: line, text: text})
	}
	return out
}

// withoutSayings is the text with blank lines for what kubectl said in between. Mostly it said nothing, and the text is not copied.
func withoutSayings(text []byte) []byte {
	owned := false
	at := 0
	for line := range bytes.Lines(text) {
		if c := line[0]; (c == 'W' || c == 'I' || c == 'E') && sayings.Match(line) {
			if !owned {
				text, owned = bytes.Clone(text), true
			}
			for i := range bytes.TrimRight(line, "\n") {
				text[at+i] = ' '
			}
		}
		at += len(line)
	}
	return text
}

// items splits a document that is a block of the form "items:" and dashes, as kubectl prints lists, into the items and what is left
// of the document around them, line for line. Other documents are one chunk, and no frame. What an item holds is indented more than its
// dash, so that the next dash in this column begins the next item. Nothing is read after one more than manifest.MaxDocuments.
func items(doc chunk) (list []chunk, frame chunk) {
	frame = chunk{file: doc.file, line: doc.line}
	column, inside, n, at := -1, false, 0, 0
	begun := -1 // where the item that is being read begins
	line1 := 0  // in which line
	flush := func() {
		if begun >= 0 {
			list = append(list, chunk{file: doc.file, line: line1, text: doc.text[begun:at], dashed: true})
		}
		begun = -1
	}
	for line := range bytes.Lines(doc.text) {
		if len(list) > manifest.MaxDocuments {
			break // it will be told
		}
		n++
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		blank := len(bytes.TrimSpace(body)) == 0 || body[0] == '#' && indent == 0
		outside := false
		switch {
		case !inside:
			inside = column < 0 && indent == 0 && bytes.Equal(bytes.TrimSpace(line), []byte("items:"))
			outside = true
		case blank:
		case column < 0 && bytes.HasPrefix(body, []byte("- ")):
			column = indent
			begun, line1 = at, doc.line+n-1
		case indent == column && bytes.HasPrefix(body, []byte("- ")):
			flush()
			begun, line1 = at, doc.line+n-1
		case indent <= column || column < 0:
			flush()
			inside, outside = false, true
		}
		if outside {
			frame.text = append(frame.text, line...)
		} else {
			frame.text = append(frame.text, '\n')
		}
		at += len(line)
	}
	flush()
	if list == nil {
		return []chunk{doc}, chunk{}
	}
	return list, frame
}
