package observe

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/meter"
)

// Every metric that nobody knows from elsewhere stands in the document about them, and nothing else stands there.
func TestOwnMetricsAreInTheDocument(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, m := range append(meter.Counted(), meter.Seen()...) {
		own[m.Name] = m.Own
	}
	for name, is := range own {
		if is && !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s is not in the document", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(karpenter_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !own[m[1]] {
			t.Errorf("%s is in the document, and no metric of our own", m[1])
		}
	}
}

// Each metric of the table is made by who counts it: none is there in words alone.
func TestAllRowsAreCounted(t *testing.T) {
	m, err := NewMetrics(prometheus.NewRegistry(), meter.Options{Profile: meter.Full})
	if err != nil {
		t.Fatal(err)
	}
	New(nil, logr.Discard(), m)
	if left := m.set.Left(); len(left) > 0 {
		t.Errorf("nobody counts %v", left)
	}
}

// What is counted before anything happens is bounded.
func TestLittleIsToldAtTheStart(t *testing.T) {
	for profile, most := range map[meter.Profile]int{meter.Lean: 400, meter.Standard: 500, meter.Full: 500} {
		reg := prometheus.NewRegistry()
		m, err := NewMetrics(reg, meter.Options{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		New(nil, logr.Discard(), m)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range families {
			for _, x := range f.Metric {
				n += 1 + len(x.GetHistogram().GetBucket()) + len(x.GetSummary().GetQuantile())
			}
		}
		if n == 0 || n > most {
			t.Errorf("%s: %d series, want at most %d", profile, n, most)
		}
	}
}
