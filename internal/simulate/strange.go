package simulate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// maxStrange bounds how many oddities are told one by one; the others are counted. A cluster that is newer than we are has some in
// every object.
const maxStrange = 5

// strange is something odd about one kind of object, of which it is not sure that it is a mistake.
type strange struct {
	at   Problem // where it stands first
	more int     // objects that have it as well
}

// oddities are told once for each kind of object. The zero value is none.
type oddities struct {
	list   []strange
	at     map[string]int  // by kind and what, where it is in list
	beyond map[string]bool // those that the list has no room for
}

var index = regexp.MustCompile(`\[\d+\]`)

// add takes an oddity of one object. key is the same for objects that have the same.
func (o *oddities) add(key string, p func() Problem) {
	if o.at == nil {
		o.at, o.beyond = map[string]int{}, map[string]bool{}
	}
	i, known := o.at[key]
	switch {
	case known:
		o.list[i].more++
	case len(o.list) < maxStrange:
		o.at[key] = len(o.list)
		o.list = append(o.list, strange{at: p()})
	default:
		o.beyond[key] = true
	}
}

// notes are one per oddity, in the order of the files, and one for the others; what names these.
func (o *oddities) notes(files []File, what string) []string {
	file := func(s strange) int {
		return slices.IndexFunc(files, func(f File) bool { return f.Name == s.at.File })
	}
	slices.SortStableFunc(o.list, func(a, b strange) int {
		return cmp.Or(cmp.Compare(file(a), file(b)), cmp.Compare(a.at.Line, b.at.Line))
	})
	var out []string
	for _, s := range o.list {
		text := s.at.String()
		if s.more > 0 {
			text += fmt.Sprintf(" (%d more of this kind have it)", s.more)
		}
		out = append(out, text)
	}
	if n := len(o.beyond); n > 0 {
		out = append(out, model.Count(n, "field")+" more "+what)
	}
	return out
}

// unknownFields notes fields of an object that we do not know. Of a status nobody but machines writes, and what we read of it we know.
func (in *input) unknownFields(c chunk, head header, said []string) {
	name := head.Kind + " " + head.Metadata.Name
	if head.Kind == "NodePool" || head.Kind == "AKSNodeClass" { // people write these
		for _, u := range said {
			in.doubts = append(in.doubts, Problem{c.file, in.lineOf(c, fieldOf(u)), name + ": " + u, "it has no effect"})
		}
		return
	}
	seen := map[string]bool{}
	for _, u := range said {
		path := fieldOf(u)
		if len(path) == 0 || path[0] == "status" {
			continue
		}
		key := head.Kind + " " + index.ReplaceAllString(u, "")
		if seen[key] {
			continue
		}
		seen[key] = true
		in.unknown.add(key, func() Problem {
			return Problem{c.file, in.lineOf(c, path), name + ": " + u, "it has no effect: is it a mistake, or newer than this program?"}
		})
	}
}
