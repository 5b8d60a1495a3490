package story

import (
	"math"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab/skus"
)

const location = "westus3"

func table(t *testing.T) *skus.Table {
	t.Helper()
	out, err := skus.Load()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func priceOf(t *testing.T, size string) float64 {
	t.Helper()
	o, ok := table(t).Offer(location, size)
	if !ok {
		t.Fatalf("the simulated Azure sells no %q", size)
	}
	return o.USDPerHour
}

// cheapest works out by itself, with none of the controller's code, what the cheapest machines cost that hold n pods of one
// core each: every D-family amd64 size that AKS may use, with what the kubelet and AKS' own DaemonSets leave.
func cheapest(t *testing.T, n int) float64 {
	t.Helper()
	best := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		best[i] = math.Inf(1)
	}
	for _, o := range table(t).Offers(location) {
		s := o.Size
		if s.Arch != "amd64" || !strings.HasPrefix(s.Name, "Standard_D") || strings.HasPrefix(s.Name, "Standard_DC") || strings.Contains(s.Name, "-") ||
			s.VCPUs < 2 || s.MemoryMiB < 3584 || s.GPUs > 0 || o.Denied {
			continue
		}
		holds := (milliLeft(s.VCPUs) - daemonMilli) / 1000
		for i := 1; i <= n && holds > 0; i++ {
			best[i] = min(best[i], best[max(0, i-holds)]+o.USDPerHour)
		}
	}
	return best[n]
}

// daemonMilli is what the stand-in DaemonSets on each node request, in thousandths of a core; see lab/kubelet.
const daemonMilli = 100 + 40 + 100

// milliLeft is what AKS' CPU reservation leaves: 6 % of the first core, 4 % of the second as published "100m at two
// cores", 2 % of the next two, 1 % of the rest, kept from the node. Source: the AKS documentation of reserved resources.
func milliLeft(cpus int) int {
	reserved := 60
	switch {
	case cpus > 4:
		reserved = 140 + (cpus-4)*10
	case cpus > 2:
		reserved = 100 + (cpus-2)*20
	case cpus == 2:
		reserved = 100
	}
	return cpus*1000 - reserved
}

// soldOut are knobs that sell out a size in every zone and outside zones: refused at once, or accepted and then failed.
func soldOut(size string, atOnce bool) string {
	if atOnce {
		return "capacity:\n- {size: " + size + ", limit: 0, code: SkuNotAvailable, sync: true}\n"
	}
	return "capacity:\n- {size: " + size + ", limit: 0, code: AllocationFailed}\n"
}
