package arm

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// knobNames lists the names that the JSON of a type has.
func knobNames(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = prefix + name
		inner := f.Type
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner, name = inner.Elem(), name+"[]"
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			out = append(out, knobNames(inner, name+".")...)
			continue
		}
		out = append(out, name)
	}
	return out
}

func TestEveryKnobIsInTheTable(t *testing.T) {
	var listed []string
	for _, k := range KnobTable() {
		listed = append(listed, k.Name)
		if k.Range == "" || k.Unset == "" || k.Effect == "" {
			t.Errorf("%s: the table does not say all of it: %+v", k.Name, k)
		}
	}
	if want := knobNames(reflect.TypeFor[Knobs](), ""); !slices.Equal(listed, want) {
		t.Errorf("the table has\n%q\nand Knobs\n%q", listed, want)
	}
	if b, err := json.Marshal(KnobTable()); err != nil || len(b) == 0 {
		t.Errorf("the table as JSON: %v", err)
	}
}
