package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/lab/arm"
)

// stingy says after every list that few are left.
type stingy struct{ http.RoundTripper }

func (s stingy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet {
		resp.Header.Set("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/HighCostGet3Min;8,Microsoft.Compute/HighCostGet30Min;500")
	}
	return resp, err
}

// A list comes in pages and costs one call each; when the budget for lists is low, the next waits, and looks and launches do not.
func TestListsArePacedByTheBudgetThatAzureTells(t *testing.T) {
	s := newSiteOver(t, arm.Knobs{PageSize: 2}, func(r http.RoundTripper) http.RoundTripper { return stingy{r} })
	for n := range 5 {
		s.launch(t, s.order(t, fmt.Sprint("m", n)))
	}
	before := s.count(http.MethodGet, "/virtualMachines")
	if l := s.list(t); len(l) != 5 {
		t.Fatalf("%d machines listed, want 5", len(l))
	}
	if n := s.count(http.MethodGet, "/virtualMachines") - before; n != 3 {
		t.Errorf("%d calls for 5 machines in pages of 2", n)
	}
	for range 100 {
		_, err := s.fleet.List(t.Context())
		var e *cloud.Error
		if !errors.As(err, &e) || e.Code != cloud.Throttled || e.More.RetryAfter != 20*time.Second {
			t.Fatalf("list again at once: %v, want to be told to wait for 20s", err)
		}
	}
	if n := s.count(http.MethodGet, "/virtualMachines") - before; n != 3 {
		t.Errorf("%d calls although the list rests", n)
	}
	s.launch(t, s.order(t, "more"))
	if _, err := s.fleet.Get(t.Context(), s.fleet.IDOf("more")); err != nil {
		t.Errorf("a look while lists rest: %v", err)
	}
	s.clock.pass(20 * time.Second)
	if l := s.list(t); len(l) != 6 {
		t.Errorf("%d machines listed, want 6", len(l))
	}
}
