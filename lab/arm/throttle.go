package arm

import (
	"slices"
	"time"
)

// throttle counts a request and refuses it when the knobs say so; Azure's own budgets stand in limits.go. The caller holds
// mu.
func (c *Cloud) throttle(kind string) *apiError {
	t := c.knobs.Throttle
	now := c.cfg.Now()
	if w := t.Window.D(); w > 0 && now.Sub(c.window) >= w {
		c.window, c.counts = now, map[string]int{}
	}
	if t.Every == 0 && t.PerWindow == 0 || len(t.Kinds) > 0 && !slices.Contains(t.Kinds, kind) {
		c.counts[kind]++
		return nil
	}
	c.total++
	over := t.Every > 0 && c.total%t.Every == 0 || t.PerWindow > 0 && c.counts[kind] >= t.PerWindow
	if !over {
		c.counts[kind]++
		return nil
	}
	d := t.RetryAfter.D()
	if d == 0 {
		d = time.Second
	}
	e := tooMany(kind)
	if kind == "graph" {
		e.Code, e.Message = "RateLimiting", "Please provide below info when asking for support: the request was throttled."
	}
	e.RetryAfter = d
	return e
}
