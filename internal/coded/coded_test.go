package coded_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/coded"
)

type (
	ours   string
	theirs string
)

func TestCodes(t *testing.T) {
	cause := errors.New("cause")
	err := coded.Errorf[ours, int]("full", "buy %s: %w", "it", cause)
	err.Reason, err.More = "Sold", 7
	wrapped := fmt.Errorf("launch: %w", err)
	if got := wrapped.Error(); got != "launch: full (Sold): buy it: cause" {
		t.Error(got)
	}
	if !errors.Is(wrapped, cause) {
		t.Error("the cause is lost")
	}
	if e, ok := errors.AsType[*coded.Error[ours, int]](wrapped); !ok || e.More != 7 {
		t.Errorf("got %v, %v", e, ok)
	}
	for name, c := range map[string]struct{ got, want string }{
		"nil":              {string(coded.Of[ours, int](nil, "unknown")), ""},
		"coded":            {string(coded.Of[ours, int](wrapped, "unknown")), "full"},
		"without a code":   {string(coded.Of[ours, int](cause, "unknown")), "unknown"},
		"of another door":  {string(coded.Of[theirs, int](wrapped, "unknown")), "unknown"},
		"code and no more": {(&coded.Error[ours, int]{Code: "full"}).Error(), "full"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}
