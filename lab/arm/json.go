package arm

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Bodies stay maps, so that fields this Azure knows nothing of are kept and given back. These functions read them.

type object = map[string]any

// dig follows object keys; nil when anything on the way is missing.
func dig(v any, path ...string) any {
	for _, k := range path {
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func digString(v any, path ...string) string {
	s, _ := dig(v, path...).(string)
	return s
}

func digObject(v any, path ...string) object {
	m, _ := dig(v, path...).(object)
	return m
}

func digList(v any, path ...string) []any {
	l, _ := dig(v, path...).([]any)
	return l
}

func digBool(v any, path ...string) bool {
	b, _ := dig(v, path...).(bool)
	return b
}

// digInt returns 0 for anything that is not a whole number.
func digInt(v any, path ...string) int64 {
	switch n := dig(v, path...).(type) {
	case json.Number:
		i, _ := n.Int64()
		return i
	case int:
		return int64(n)
	case int32:
		return int64(n)
	}
	return 0
}

// ensure returns the object at path, making what is missing.
func ensure(m object, path ...string) object {
	for _, k := range path {
		next, ok := m[k].(object)
		if !ok {
			next = object{}
			m[k] = next
		}
		m = next
	}
	return m
}

// deepCopy copies objects and lists; everything else in them is immutable.
func deepCopy(v any) any {
	switch x := v.(type) {
	case object:
		out := make(object, len(x))
		for k, e := range x {
			out[k] = deepCopy(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = deepCopy(e)
		}
		return out
	}
	return v
}

func copyObject(m object) object {
	if m == nil {
		return nil
	}
	return deepCopy(m).(object)
}

// same compares two decoded JSON values; null and missing are alike.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// tagsOf returns tags as strings; keys keep their case.
func tagsOf(m object) map[string]string {
	out := map[string]string{}
	for k, v := range digObject(m, "tags") {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// strings of a JSON list; other elements are dropped.
func stringsOf(list []any) []string {
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func anyList[T any](list []T) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}

// sortedKeys lists a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// lastSegment is the name at the end of a resource id.
func lastSegment(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
