package simulate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// maxStrange bounds how many unknown fields are told one by one; the others are counted. A cluster that is newer than we are has some in
// every object.
const maxStrange = 5

// strange is a field of one kind of object that we do not know: a mistake, or newer than we are.
type strange struct {
	at   Problem // where it stands first
	more int     // objects that have it as well
}

var index = regexp.MustCompile(`\[\d+\]`)

// unknownFields notes fields of an object that we do not know. Of a status nobody but machines writes, and what we read of it we know.
func (in *input) unknownFields(c chunk, kind, name string, said []string) {
	seen := map[string]bool{}
	for _, u := range said {
		path := fieldOf(u)
		if len(path) == 0 || path[0] == "status" {
			continue
		}
		key := kind + " " + index.ReplaceAllString(u, "")
		if seen[key] {
			continue
		}
		seen[key] = true
		i, known := in.strangeAt[key]
		switch {
		case known:
			in.strange[i].more++
		case len(in.strange) < maxStrange:
			in.strangeAt[key] = len(in.strange)
			in.strange = append(in.strange, strange{at: Problem{c.file, in.lineOf(c, path), name + ": " + u,
				"it has no effect: is it a mistake, or newer than this program?"}})
		default:
			in.strangers[key] = true
		}
	}
}

// noteStrange adds the notes about them.
func (in *input) noteStrange() {
	file := func(s strange) int {
		return slices.IndexFunc(in.files, func(f File) bool { return f.Name == s.at.File })
	}
	slices.SortStableFunc(in.strange, func(a, b strange) int {
		return cmp.Or(cmp.Compare(file(a), file(b)), cmp.Compare(a.at.Line, b.at.Line))
	})
	for _, s := range in.strange {
		text := s.at.String()
		if s.more > 0 {
			text += fmt.Sprintf(" (%d more of this kind have it)", s.more)
		}
		in.note(text)
	}
	if n := len(in.strangers); n > 0 {
		in.note(fmt.Sprintf("%s more that this program does not know", count(n, "field")))
	}
}
