package simulate

import "bytes"

// chunk is a piece of a file that holds one object (or a list of them), with the line it begins in. Large dumps are read
// chunk by chunk: a mistake in one object does not hide those in the next, and only a few objects are in memory twice.
type chunk struct {
	file string
	line int
	text []byte // of the file, not to be changed
	// dashed is set for an item of a list: the first that it says is the dash.
	dashed bool
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

// documents splits a file at its document markers. Text inside of a document is indented, so a marker is one wherever
// it begins a line.
func documents(f File) []chunk {
	text := withoutSayings(f.Text)
	var out []chunk
	from, at, first, n := 0, 0, 1, 0
	flush := func() {
		if doc := text[from:at]; len(bytes.TrimSpace(doc)) > 0 {
			out = append(out, chunk{file: f.Name, line: first, text: doc})
		}
	}
	for line := range bytes.Lines(text) {
		n++
		if (line[0] == '-' || line[0] == '.') && marker(line) {
			flush()
			from, first = at+len(line), n+1
		}
		at += len(line)
	}
	flush()
	return out
}

// marker reports whether the line ends or begins a document.
func marker(line []byte) bool {
	s := bytes.TrimRight(line, " \t\r\n")
	return string(s) == "---" || bytes.HasPrefix(s, []byte("--- #")) || string(s) == "..."
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
// dash, so that the next dash in this column begins the next item.
func items(doc chunk) (list []chunk, frame chunk) {
	frame = chunk{file: doc.file, line: doc.line}
	column, inside, n, at := -1, false, 0, 0
	begun := -1 // where the item that is being read begins
	line1 := 0  // in which line
	flush := func() {
		if begun >= 0 {
			list = append(list, chunk{doc.file, line1, doc.text[begun:at], true})
		}
		begun = -1
	}
	for line := range bytes.Lines(doc.text) {
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
