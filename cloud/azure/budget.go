package azure

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/karpenter-aks/karpenter/cloud"
)

// lowWater is the number of reads left from which on we spread what is left over the window in which it fills up again. Others in the
// subscription draw on the same budgets.
const lowWater = 50

// Windows of the budgets. Compute's are in their names ("HighCostGet3Min"); Azure Resource Manager's fills up by 25 reads a second, 250 at
// most. Sources: "Troubleshooting API throttling errors", "Understand how Azure Resource Manager throttles requests".
const (
	windowOfReads = 10 * time.Second
	maxWindow     = time.Hour
)

// budget paces looks and lists by what Azure's answers say is left. It is a policy of the SDK's pipeline, which sees every answer; calls
// that must be made (launches, deletions) are not held. Compute counts cheap and dear reads apart, so each kind of call has its own rest.
type budget struct {
	now func() time.Time

	mu    sync.Mutex // guards the field below
	rests map[string]time.Time
}

// Kinds of reads.
const (
	readOne = "one"
	readAll = "all"
)

func newBudget(now func() time.Time) *budget {
	return &budget{now: now, rests: map[string]time.Time{}}
}

// Do implements policy.Policy.
func (b *budget) Do(r *policy.Request) (*http.Response, error) {
	resp, err := r.Next()
	if err != nil || r.Raw().Method != http.MethodGet {
		return resp, err
	}
	kind := ""
	switch path := strings.ToLower(r.Raw().URL.Path); {
	case strings.HasSuffix(path, "/virtualmachines"):
		kind = readAll
	case strings.Contains(path, "/virtualmachines/"):
		kind = readOne
	default:
		return resp, err
	}
	if d := restAfter(resp.Header); d > 0 {
		b.mu.Lock()
		b.rests[kind] = b.now().Add(d)
		b.mu.Unlock()
	}
	return resp, err
}

// hold is Throttled while the kind of call rests, else nil.
func (b *budget) hold(kind string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.rests[kind].Sub(b.now()); d > 0 {
		return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: d}, Reason: "Paced", Err: errors.New("few reads are left of Azure's budget, they are spread")}
	}
	return nil
}

// restAfter is how long to rest after an answer with these headers: the window divided by what is left of it, when that is little; the
// longest of all budgets that it names.
func restAfter(h http.Header) time.Duration {
	var rest time.Duration
	spread := func(left int, window time.Duration) {
		if left < lowWater && window > 0 {
			rest = max(rest, min(window, maxWindow)/time.Duration(left+1))
		}
	}
	if n, err := strconv.Atoi(h.Get("x-ms-ratelimit-remaining-subscription-reads")); err == nil && n >= 0 {
		spread(n, windowOfReads)
	}
	for _, line := range h.Values("x-ms-ratelimit-remaining-resource") {
		for part := range strings.SplitSeq(line, ",") {
			name, count, _ := strings.Cut(strings.TrimSpace(part), ";")
			if n, err := strconv.Atoi(count); err == nil && n >= 0 {
				spread(n, windowOf(name))
			}
		}
	}
	return rest
}

// windowOf reads the window in a budget's name, "Microsoft.Compute/HighCostGet3Min"; zero when there is none in it.
func windowOf(name string) time.Duration {
	head, ok := strings.CutSuffix(name, "Min")
	if !ok {
		return 0
	}
	digits := head[len(strings.TrimRight(head, "0123456789")):]
	n, err := strconv.Atoi(digits)
	if err != nil || n <= 0 || n > 60 {
		return 0
	}
	return time.Duration(n) * time.Minute
}
