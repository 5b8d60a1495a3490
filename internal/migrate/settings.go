package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settings are the fields of one object as Azure says it. The same field has several names: the API
// calls it osDiskSizeGB or scan-interval, and Azure's command line osDiskSizeGb or scanInterval, so
// they are found without case and dashes. What was read is remembered.
type settings struct {
	values map[string]any
	names  map[string]string // as they were written
	read   map[string]bool
}

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// newSettings takes an object, with the fields under its "properties" as its own.
func newSettings(v any) *settings {
	s := &settings{values: map[string]any{}, names: map[string]string{}, read: map[string]bool{}}
	object, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "properties" {
			inner := newSettings(object[name])
			maps.Copy(s.values, inner.values)
			maps.Copy(s.names, inner.names)
			continue
		}
		s.values[plain(name)], s.names[plain(name)] = object[name], name
	}
	return s
}

// get returns a field, which counts as read then; nil when there is none.
func (s *settings) get(name string) any {
	if s == nil {
		return nil
	}
	s.read[plain(name)] = true
	return s.values[plain(name)]
}

func (s *settings) has(name string) bool { return s != nil && !empty(s.values[plain(name)]) }

// text is a field as text, whatever it is in JSON; "" when there is none.
func (s *settings) text(name string) string { return said(s.get(name)) }

func said(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// is compares a field's text without case.
func (s *settings) is(name, value string) bool { return strings.EqualFold(s.text(name), value) }

// number is a field that is a whole number; 0 when it is none.
func (s *settings) number(name string) int64 {
	n, err := strconv.ParseInt(s.text(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// list are the texts of a list.
func (s *settings) list(name string) []string {
	all, _ := s.get(name).([]any)
	var out []string
	for _, x := range all {
		out = append(out, said(x))
	}
	return out
}

// texts is a map of texts, with its keys as they are.
func (s *settings) texts(name string) map[string]string {
	all, _ := s.get(name).(map[string]any)
	out := map[string]string{}
	for k, v := range all {
		out[k] = said(v)
	}
	return out
}

// sub is an object in this one; an empty one when there is none. The caller reads its fields.
func (s *settings) sub(name string) *settings { return newSettings(s.get(name)) }

// unread are the fields that nobody has asked for, with what they say, sorted.
func (s *settings) unread() []string {
	var out []string
	if s == nil {
		return nil
	}
	for k, v := range s.values {
		if !s.read[k] && !empty(v) {
			out = append(out, shown(s.names[k], v))
		}
	}
	slices.Sort(out)
	return out
}

// longest is how much of a value a note shows.
const longest = 60

// shown is a field with its value.
func shown(name string, v any) string {
	text := []rune(said(v))
	if len(text) > longest {
		text = append(text[:longest], '…')
	}
	return name + " " + strings.ReplaceAll(string(text), "\n", " ")
}

// empty reports whether a value says nothing: Azure's command line prints null for all that is not
// set, and objects of nulls.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, x := range v {
			if !empty(x) {
				return false
			}
		}
		return true
	}
	return false
}
