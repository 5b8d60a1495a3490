package azure

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReadsAreSpreadWhenFewAreLeft(t *testing.T) {
	for _, c := range []struct {
		reads     string
		resources []string
		want      time.Duration
	}{
		{"", nil, 0},
		{"249", []string{"Microsoft.Compute/LowCostGet3Min;3991,Microsoft.Compute/LowCostGet30Min;31990"}, 0},
		{"249", []string{"Microsoft.Compute/HighCostGet3Min;17", "Microsoft.Compute/HighCostGet30Min;600"}, 10 * time.Second},
		{"4", nil, 2 * time.Second},
		{"0", []string{"Microsoft.Compute/HighCostGet3Min;0"}, 3 * time.Minute},
		{"nonsense", []string{"Microsoft.Compute/PutVMResource;0", ";;;", "x3Min;-1", "3Min"}, 0},
	} {
		h := http.Header{}
		h.Set("x-ms-ratelimit-remaining-subscription-reads", c.reads)
		for _, r := range c.resources {
			h.Add("x-ms-ratelimit-remaining-resource", r)
		}
		if got := restAfter(h); got != c.want {
			t.Errorf("%v: rest %s, want %s", c, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		h := http.Header{}
		h.Set("x-ms-ratelimit-remaining-subscription-reads", rapid.String().Draw(t, "reads"))
		h.Set("x-ms-ratelimit-remaining-resource", rapid.StringMatching(`[A-Za-z.,;0-9]{0,40}(Min;[0-9]{1,9})?`).Draw(t, "resource"))
		if d := restAfter(h); d < 0 || d > maxWindow {
			t.Fatalf("rest %s after %v", d, h)
		}
	})
}
