package simulate

import (
	"bytes"
	"encoding/json"

	"github.com/karpenter-aks/karpenter/internal/manifest"
)

// jsonPart is one value of a JSON text, and where it begins.
type jsonPart struct {
	raw    []byte // of the text, not to be changed
	offset int64
}

// jsonItems returns the items of a list, at most one more than manifest.MaxDocuments, or the value
// itself. The value is sound JSON.
func jsonItems(raw []byte) []jsonPart {
	s := scanner{text: raw}
	if !s.list() || s.items == nil {
		return []jsonPart{{raw: raw}}
	}
	return s.items
}

// soundList returns the items of a text that is one list as kubectl prints it: what stands around
// the items is sound JSON. The items themselves are not judged. False for every other text. It
// looks at each byte once and copies none of the items.
func soundList(text []byte) ([]jsonPart, bool) {
	s := scanner{text: text}
	if !s.list() || s.items == nil || len(bytes.TrimSpace(text[s.at:])) > 0 {
		return nil, false
	}
	first, last := s.items[0], s.items[len(s.items)-1]
	end := last.offset + int64(len(last.raw))
	return s.items, json.Valid(bytes.Join([][]byte{text[:first.offset], text[end:]}, nil))
}

// scanner goes through JSON by its brackets and quotes.
type scanner struct {
	text  []byte
	at    int
	items []jsonPart
}

// list goes through an object, and notes the items of its list, if there are some. It reports
// whether the object ends.
func (s *scanner) list() bool {
	if s.next() != '{' {
		return false
	}
	s.at++
	for key := []byte(nil); ; {
		switch c := s.next(); c {
		case 0:
			return false
		case '}':
			s.at++
			return true
		case '"':
			from := s.at
			if !s.value() {
				return false
			}
			key = nil
			if s.next() == ':' {
				key = s.text[from:s.at]
				if end := bytes.IndexByte(key[1:], '"'); end >= 0 {
					key = key[1 : 1+end]
				}
			}
		case '[':
			if string(key) == "items" {
				if s.items != nil || !s.each() { // of two lists the last would count
					return false
				}
				break
			}
			if !s.value() {
				return false
			}
		case '{':
			if !s.value() {
				return false
			}
		default:
			s.at++
		}
	}
}

// each notes the items of the list that begins here, and goes behind it.
func (s *scanner) each() bool {
	s.at++
	for len(s.items) <= manifest.MaxDocuments {
		if c := s.next(); c == 0 || c == ']' || c == ',' {
			return false // an empty list, or none: others say what is wrong with it
		}
		from := s.at
		if !s.value() {
			return false
		}
		s.items = append(s.items, jsonPart{s.text[from:s.at:s.at], int64(from)})
		switch s.next() {
		case ',':
			s.at++
		case ']':
			s.at++
			return true
		default:
			return false
		}
	}
	return true
}

// next skips blanks and returns what stands there; 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value goes behind the value that begins here. It reports whether there is an end.
func (s *scanner) value() bool {
	depth := 0
	if c := s.text[s.at]; c != '"' && c != '{' && c != '[' {
		if n := bytes.IndexAny(s.text[s.at:], ",]} \t\r\n"); n > 0 {
			s.at += n
			return true
		}
		return false
	}
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			if !s.quoted() {
				return false
			}
			s.at--
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.at++; depth == 0 {
			return true
		}
	}
	return false
}

// quoted goes behind the text in quotes that begins here.
func (s *scanner) quoted() bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return true
		}
	}
	return false
}
