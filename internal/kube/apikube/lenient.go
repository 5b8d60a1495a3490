package apikube

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The API server checks custom resources against their CRD only, and a CRD's patterns let pass what the published Go types cannot
// hold: "9999999h" matches the pattern of a duration and overflows time.Duration; "1e999999" matches that of a quantity, and one
// comparison of it computes a million digits. Here such a value is found, named and left out, and the rest of the object is read.

// Limits of what is read.
const (
	// quantityLength and quantityExponent bound a quantity: by far more than any machine has, by far less than what takes time.
	quantityLength   = 64
	quantityExponent = 99
	// saidValues bounds how many unreadable values of one object are named, and saidLength how much of each is shown.
	saidValues = 5
	saidLength = 64
)

// readLeniently decodes an object, written as JSON, into the struct that into points to. Values that cannot be read are left out and
// named: unreadable is "" when there are none. The error is for text that is no object at all.
func readLeniently(data []byte, into any) (unreadable string, err error) {
	if !longNumber(data) && utiljson.Unmarshal(data, into) == nil {
		return "", nil
	}
	reflect.ValueOf(into).Elem().SetZero() // what was read so far may be half of a value
	var fields map[string]any
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	var s sieve
	kept, _ := s.value(reflect.TypeOf(into).Elem(), fields, "")
	err = decodeAgain(kept, into)
	if err != nil { // no value alone is to blame; who it is can be read of every object that an API server keeps
		s.blame("", err)
		reflect.ValueOf(into).Elem().SetZero()
		err = decodeAgain(map[string]any{"metadata": fields["metadata"]}, into)
	}
	return s.String(), err
}

func decodeAgain(fields, into any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(data, into)
}

// longNumber reports whether the text may hold a number with an exponent of three digits or more, or one of very many digits: a cheap
// look at the bytes, which also finds parts of names and of UIDs.
func longNumber(data []byte) bool {
	run, exponent := 0, 0 // digits in a row; of them, those after an "e"
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case '0' <= c && c <= '9' || c == '.':
			if run++; exponent > 0 {
				exponent++
			}
		case (c == 'e' || c == 'E') && run > 0:
			run, exponent = run+1, 1
		case (c == '+' || c == '-') && exponent == 1:
		default:
			run, exponent = 0, 0
		}
		if exponent > 3 || run > quantityLength {
			return true
		}
	}
	return false
}

// boundedQuantity says what makes a quantity too long to compute with. It looks at the text only: parsing may already be what takes
// the time. Source of the syntax: k8s.io/apimachinery/pkg/api/resource.
func boundedQuantity(text string) error {
	if len(text) > quantityLength {
		return fmt.Errorf("a quantity of %d characters; at most %d are read", len(text), quantityLength)
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 || i == len(text)-1 || text[i+1:] == "i" { // exa and exbi
		return nil
	}
	n, err := strconv.ParseInt(text[i+1:], 10, 32)
	if err != nil || n < -quantityExponent || n > quantityExponent {
		return fmt.Errorf("an exponent of %s; it must be a whole number from -%d to %[2]d", text[i+1:], quantityExponent)
	}
	return nil
}

// sieve goes through a value beside the Go type that it is to be read into, and leaves out what that cannot hold.
type sieve struct {
	said []string
	more int
}

func (s *sieve) blame(path string, err error) {
	if len(s.said) >= saidValues {
		s.more++
		return
	}
	s.said = append(s.said, strings.TrimPrefix(path+": "+clip(err.Error(), 2*saidLength), ": "))
}

// String says what was left out; "" when nothing was.
func (s *sieve) String() string {
	out := strings.Join(s.said, "; ")
	if s.more > 0 {
		out += fmt.Sprintf("; and %d more", s.more)
	}
	return out
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value returns what of v can be read into a t; false when nothing can.
func (s *sieve) value(t reflect.Type, v any, path string) (any, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		return nil, true
	}
	own := reflect.PointerTo(t).Implements(unmarshalerType) || reflect.PointerTo(t).Implements(textType)
	switch fields, isObject := v.(map[string]any); {
	case own:
	case t.Kind() == reflect.Struct && isObject:
		return s.object(t, fields, path), true
	case t.Kind() == reflect.Map && isObject:
		out := make(map[string]any, len(fields))
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			if kept, ok := s.value(t.Elem(), fields[k], path+"["+clip(k, saidLength)+"]"); ok {
				out[k] = kept
			}
		}
		return out, true
	case t.Kind() == reflect.Slice:
		if list, ok := v.([]any); ok {
			out := make([]any, 0, len(list))
			for i, x := range list {
				if kept, ok := s.value(t.Elem(), x, fmt.Sprintf("%s[%d]", path, i)); ok {
					out = append(out, kept)
				}
			}
			return out, true
		}
	}
	return v, s.leaf(t, v, path)
}

func (s *sieve) object(t reflect.Type, fields map[string]any, path string) map[string]any {
	out := maps.Clone(fields) // with the fields that the type does not know: they do no harm
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if inner := deref(f.Type); inner.Kind() == reflect.Struct {
				out = s.object(inner, out, path)
			}
			continue
		}
		v, ok := out[name]
		if !ok || name == "" || name == "-" {
			continue
		}
		kept, ok := s.value(f.Type, v, strings.TrimPrefix(path+"."+name, "."))
		if out[name] = kept; !ok {
			delete(out, name)
		}
	}
	return out
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// leaf reports whether v can be read as a t.
func (s *sieve) leaf(t reflect.Type, v any, path string) bool {
	raw, err := json.Marshal(v)
	if err == nil && t == quantityType {
		err = boundedQuantity(string(bytes.Trim(raw, `"`)))
	}
	if err == nil {
		err = utiljson.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		s.blame(path, fmt.Errorf("%s: %w", clip(string(raw), saidLength), err))
	}
	return err == nil
}
