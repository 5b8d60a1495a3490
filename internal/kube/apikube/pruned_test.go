package apikube

import (
	"slices"
	"testing"
)

func TestWhatAnAnswerLacks(t *testing.T) {
	for _, c := range []struct {
		name, sent, got string
		want            []string
	}{
		{"all is kept", `{"status":{"nodes":3,"resources":{"cpu":"1"}}}`, `{"status":{"nodes":3,"resources":{"cpu":"1000m"}}}`, nil},
		{"a field", `{"status":{"nodes":3,"x":1}}`, `{"status":{"x":1}}`, []string{"status.nodes"}},
		{"all of the status", `{"status":{"nodes":3}}`, `{"spec":{}}`, []string{"status"}},
		{"fields of list entries, named once", `{"status":{"c":[{"a":1,"b":2},{"a":1,"b":2}]}}`, `{"status":{"c":[{"a":1},{"a":1}]}}`, []string{"status.c[].b"}},
		{"a null is a wish to go", `{"status":{"nodes":null}}`, `{"status":{}}`, nil},
		{"metadata is not the CRD's", `{"metadata":{"resourceVersion":"7","x":1}}`, `{"metadata":{}}`, nil},
		{"somebody's list is another", `{"status":{"c":[{"a":1}]}}`, `{"status":{"c":[]}}`, nil},
		{"no JSON", `{`, `{}`, nil},
	} {
		if got := dropped([]byte(c.sent), []byte(c.got)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
