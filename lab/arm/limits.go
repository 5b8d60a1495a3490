package arm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// limit is a bucket of tokens: it holds size of them, and gets refill more after every period, up to its size. A request
// takes one of each bucket that counts it.
type limit struct {
	name         string
	size, refill int
	every        time.Duration
}

// armLimits are those of Azure Resource Manager itself, for one application in one subscription and region (documentation
// "Understand how Azure Resource Manager throttles requests", regional throttling and token bucket algorithm).
func armLimits() map[string]limit {
	return map[string]limit{
		"reads":   {"reads", 250, 25, time.Second},
		"writes":  {"writes", 200, 10, time.Second},
		"deletes": {"deletes", 200, 10, time.Second},
	}
}

// computeLimits are those of the compute provider: for a whole subscription in one region, and for one resource, which the
// list of many does not have (documentation "Compute throttling limits", virtual machines).
func computeLimits() map[string][2]limit {
	both := func(name string, size, own int) [2]limit {
		out := [2]limit{{name + "SubscriptionMaximum", size, size / 3, time.Minute}}
		if own > 0 {
			out[1] = limit{name + "Resource", own, own / 3, time.Minute}
		}
		return out
	}
	return map[string][2]limit{
		"PutVM": both("PutVM", 1500, 12), "UpdateVM": both("UpdateVM", 1500, 12), "DeleteVM": both("DeleteVM", 1500, 12),
		"LowCostGetVM": both("LowCostGetVM", 24000, 36), "HighCostGetVM": both("HighCostGetVM", 900, 0),
		"GetOperation": both("GetOperation", 15000, 45),
	}
}

// Limits of the network provider (same page as Azure Resource Manager's, network throttling) and of Resource Graph
// (documentation "Guidance for throttled requests in Azure Resource Graph").
func networkLimits() map[string]limit {
	return map[string]limit{
		"reads":  {"network reads", 10_000, 10_000, 5 * time.Minute},
		"writes": {"network writes", 1_000, 1_000, 5 * time.Minute},
	}
}

func graphLimit() limit { return limit{"graph", 15, 15, 5 * time.Second} }

// bucket is a limit in use.
type bucket struct {
	tokens int
	since  time.Time // when it was last refilled
}

// maxBuckets bounds the buckets remembered; those that are full again go first.
const maxBuckets = 50_000

// counted is one bucket that counts a request, and who refuses when it is empty.
type counted struct {
	limit
	key, owner string // owner: arm, compute, network or graph
	header     string // that tells what is left; "" = none
}

// policyOf is compute's policy for an operation (same page, table of REST operations); "" = none is documented.
func policyOf(rt route) string {
	switch {
	case rt.bucket == "poll":
		return "GetOperation"
	case rt.kind == typeVM && rt.bucket == "list":
		return "HighCostGetVM"
	case rt.kind != typeVM && rt.kind != typeExtension:
		return ""
	case rt.method == http.MethodGet:
		return "LowCostGetVM"
	case rt.kind == typeVM && rt.method == http.MethodPut:
		return "PutVM"
	case rt.kind == typeVM && (rt.method == http.MethodDelete || strings.HasSuffix(rt.segs[len(rt.segs)-1], "llocate") || strings.HasSuffix(rt.segs[len(rt.segs)-1], "Eviction")):
		return "DeleteVM"
	}
	return "UpdateVM"
}

// counting lists the buckets that count a request. The caller holds mu.
func (c *Cloud) counting(q *call, rt *route) []counted {
	kind := map[string]string{http.MethodGet: "reads", http.MethodDelete: "deletes"}[rt.method]
	if kind == "" {
		kind = "writes"
	}
	if rt.bucket == "graph" {
		return []counted{{graphLimit(), "graph", "graph", "x-ms-user-quota-remaining"}}
	}
	list := []counted{{armLimits()[kind], "arm " + kind, "arm", "x-ms-ratelimit-remaining-subscription-" + kind}}
	policy := rt.policy
	if policy == "PutVM" && c.res[strings.ToLower(c.pathID(q))] != nil {
		policy = "UpdateVM"
	}
	if l, has := computeLimits()[policy]; has {
		list = append(list, counted{l[0], policy, "compute", "x-ms-ratelimit-remaining-resource"})
		if l[1].size > 0 {
			who := q.vars["vm"] + q.vars["op"]
			if who == "" {
				who = q.vars["name"]
			}
			list = append(list, counted{l[1], policy + " " + strings.ToLower(q.vars["rg"]+"/"+who), "compute", "x-ms-ratelimit-remaining-resource"})
		}
	}
	if strings.HasPrefix(rt.action, "Microsoft.Network/") {
		if kind != "reads" {
			kind = "writes"
		}
		list = append(list, counted{networkLimits()[kind], "network " + kind, "network", ""})
	}
	return list
}

// spend takes a token from every bucket that counts the request, or refuses when one is empty. It leaves what remains in
// the headers of the answer. The caller holds mu.
func (c *Cloud) spend(q *call, rt *route) *apiError {
	times := c.knobs.Throttle.Budget
	if times < 0 {
		return nil
	}
	times = max(1, times)
	now := c.cfg.Now()
	list := c.counting(q, rt)
	var empty *apiError
	for _, x := range list {
		b := c.fill(x, times, now)
		if b.tokens <= 0 && empty == nil {
			empty = c.spent(x, q, b.since.Add(x.every).Sub(now))
		}
	}
	for _, x := range list {
		b := c.buckets[x.key]
		if empty == nil {
			b.tokens--
		}
		left := fmt.Sprint(max(0, b.tokens))
		switch {
		case x.owner == "compute":
			left = "Microsoft.Compute/" + x.name + ";" + left
			if before := q.limits[x.header]; before != "" {
				left = before + "," + left
			}
			fallthrough
		case x.header != "":
			q.limits[x.header] = left
		}
	}
	return empty
}

// fill finds a bucket and gives it what time has brought.
func (c *Cloud) fill(x counted, times int, now time.Time) *bucket {
	b := c.buckets[x.key]
	if b == nil {
		if len(c.buckets) >= maxBuckets {
			clear(c.buckets) // a lab that met so many machines forgives them all
		}
		b = &bucket{tokens: x.size * times, since: now}
		c.buckets[x.key] = b
	}
	if n := int(now.Sub(b.since) / x.every); n > 0 {
		b.tokens = min(x.size*times, b.tokens+min(n, x.size)*x.refill*times)
		b.since = b.since.Add(time.Duration(n) * x.every)
	}
	return b
}

// spent words a refusal as the one who refuses does: Azure Resource Manager names the kind of request and the seconds,
// compute the policy (documentation "Troubleshooting API throttling errors"), Resource Graph its quota.
func (c *Cloud) spent(x counted, q *call, wait time.Duration) *apiError {
	seconds := int64((wait + time.Second - 1) / time.Second)
	var e *apiError
	switch x.owner {
	case "arm":
		e = refuse(http.StatusTooManyRequests, "SubscriptionRequestsThrottled",
			"Number of '%s' requests for subscription '%s' actor '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information.",
			x.name, c.cfg.Subscription, c.principal(), seconds)
	case "graph":
		e = refuse(http.StatusTooManyRequests, "RateLimiting", "Client application has been throttled and should not attempt to repeat the request until an amount of time has elapsed.")
		q.limits["x-ms-user-quota-resets-after"] = fmt.Sprintf("00:00:%02d", seconds)
	case "network":
		e = refuse(http.StatusTooManyRequests, "TooManyRequests", "The server rejected the request because too many requests have been received for this subscription.")
	default:
		e = tooMany(x.name)
		e.Details[0].Message = fmt.Sprintf(`{"operationGroup":"%s","startTime":"%s","endTime":"%s","allowedRequestCount":%d}`,
			x.name, stamp(c.cfg.Now()), stamp(c.cfg.Now().Add(wait)), x.size)
	}
	e.RetryAfter = time.Duration(max(1, seconds)) * time.Second
	return e
}

// tooMany is compute's refusal.
func tooMany(policy string) *apiError {
	e := refuse(http.StatusTooManyRequests, "OperationNotAllowed", "The server rejected the request because too many requests have been received for this subscription.")
	e.Details = []apiError{{Code: "TooManyRequests", Target: policy, Message: `{"operationGroup":"` + policy + `"}`}}
	return e
}
