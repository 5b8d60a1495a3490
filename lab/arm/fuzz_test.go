package arm

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// FuzzKQL asks any expression and its opposite: each row is in one of the two answers. What follows a query only takes away.
func FuzzKQL(f *testing.F) {
	seeds := []string{`name == 'a'`, `type =~ "X/VM" and tags has 'pool' or name in~ ('a', 'B')`, `not(isempty(tags["n.sh_pool"]))`,
		`properties.n == 3`, `(name startswith 'c')`, `tolower(name) contains_cs "\"b"`, `name`, `true`, `name == 'a' | take 1`, `tags.pool in ('one')`}
	mutated.Add(f, 1000, seeds...)
	f.Fuzz(func(t *testing.T, expression string) {
		k, err := parseKQL("resources | where " + expression)
		if err != nil {
			return
		}
		rows := rowsForTest()
		in := namesOf(k.run(rows))
		if len(in) > len(rows) {
			t.Fatalf("%q: %d rows out of %d", expression, len(in), len(rows))
		}
		if again := namesOf(k.run(rowsForTest())); !slices.Equal(in, again) || !reflect.DeepEqual(rows, rowsForTest()) {
			t.Errorf("%q: the rows were changed: %q, then %q", expression, in, again)
		}
		opposite, err := parseKQL("resources | where not(" + expression + ")")
		if err != nil {
			return // more steps follow the expression, or it was none
		}
		all := append(slices.Clone(in), namesOf(opposite.run(rows))...)
		slices.Sort(all)
		if want := []string{"B", "a", "c"}; !slices.Equal(all, want) && !strings.Contains(expression, "|") {
			t.Errorf("%q and its opposite: %q, want %q", expression, all, want)
		}
	})
}

func namesOf(rows []object) []string {
	var out []string
	for _, r := range rows {
		out = append(out, text(r["name"]))
	}
	return out
}

// FuzzKnobs reads any knobs: what is read is written as what reads the same, and knobs that pass are taken by a cloud.
func FuzzKnobs(f *testing.F) {
	seeds := []string{`{}`, `{"createTime":"1.5s","capacity":[{"size":"Standard_D2s_v5","limit":1,"sync":true}]}`, `{"quota":{"*":4},"throttle":{"every":2}}`,
		`{"failures":[{"count":1,"code":"AllocationFailed","details":["a"]}]}`, `{"prices":{"eastus/x":1e300}}`, `{"pageSize":-1}`, `{"creatTime":"1s"}`,
		`{"createTime":"9999999h"}`, `{} {}`, `null`, `{"unreachable":[{"from":"1s","for":"1s"}]}`}
	mutated.Add(f, 500, seeds...)
	f.Fuzz(func(t *testing.T, text string) {
		k, err := readKnobs(strings.NewReader(text))
		if err != nil {
			if !reflect.DeepEqual(k, Knobs{}) {
				t.Errorf("%q was refused and read as %+v", text, k)
			}
			return
		}
		written, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		again, err := readKnobs(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("%q is written as %s: %v", text, written, err)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(written, twice) {
			t.Errorf("%q is written as %s, and then as %s: %v", text, written, twice, err)
		}
	})
}
