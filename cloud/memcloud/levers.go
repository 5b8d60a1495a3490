package memcloud

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// SellOut refuses machines of the offering from now on; machines that are there stay.
func (c *Cloud) SellOut(key model.OfferingKey, when When) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.soldOut[key] = when
}

// Refuse answers launches of the type with a final no, for a reason that only the cloud understands.
func (c *Cloud) Refuse(typ, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[typ] = reason
}

// SellOutType sells out every offering of the type.
func (c *Cloud) SellOutType(name string, when When) {
	typ, _ := c.cfg.Catalog.Type(name)
	for _, o := range typ.Offerings {
		c.SellOut(o.Key(), when)
	}
}

// Restock sells the offering again.
func (c *Cloud) Restock(key model.OfferingKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.soldOut, key)
}

// RestockType sells every offering of the type again.
func (c *Cloud) RestockType(name string) {
	typ, _ := c.cfg.Catalog.Type(name)
	for _, o := range typ.Offerings {
		c.Restock(o.Key())
	}
}

// SetQuota bounds a family ("" = all families together) to the thousandths of a core from now on.
func (c *Cloud) SetQuota(family string, milliCPU int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quota == nil {
		c.quota = map[string]int64{}
	}
	c.quota[family] = milliCPU
}

// Throttle refuses every call with the delay until it is called again with zero.
func (c *Cloud) Throttle(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.throttle = after
}

// LoseReplies lets the next n launches be accepted, yet answers each with an error.
func (c *Cloud) LoseReplies(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = n
}

// Down makes the cloud unreachable, or reachable again.
func (c *Cloud) Down(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// Evict takes a machine away as a cloud does with spot machines: it stops now, whoever still needs it. It reports
// whether there was one.
func (c *Cloud) Evict(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines {
		if m.ID == id && !m.gone {
			c.stop(m)
			return true
		}
	}
	return false
}

// SwitchOff stops a running machine and leaves it there, as a person with the cloud's own tools might. It reports whether there was one.
func (c *Cloud) SwitchOff(id string) bool {
	c.mu.Lock()
	m := c.machines[strings.TrimPrefix(id, idPrefix)]
	if m == nil || m.gone || m.off || m.State != model.Running {
		c.mu.Unlock()
		return false
	}
	m.off = true
	i := clone(m.Instance)
	c.mu.Unlock()
	if c.cfg.OnOff != nil {
		c.cfg.OnOff(i)
	}
	return true
}

// Machines are all machines as they are, whatever List would show and whoever may ask, sorted by name.
func (c *Cloud) Machines() []model.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []model.Instance
	for _, name := range slices.Sorted(maps.Keys(c.machines)) {
		m := c.machines[name]
		if m.gone {
			continue
		}
		i := clone(m.Instance)
		if m.off && i.State == model.Running {
			i.State = model.Stopped
		}
		out = append(out, i)
	}
	return out
}

// Resources names everything the cloud holds now, whatever List shows, sorted: a machine has a network interface and a
// disk.
func (c *Cloud) Resources() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for name, m := range c.machines {
		if !m.gone {
			for _, kind := range []string{"disk", "nic", "vm"} {
				out = append(out, fmt.Sprintf("%s/%s", kind, name))
			}
		}
	}
	slices.Sort(out)
	return out
}

// Accepted counts the machines ever accepted.
func (c *Cloud) Accepted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.launched
}

// Left says how many thousandths of a core the quota family still has, and as of when; ok is false when the family
// is not bounded. All capacity types share one quota here.
func (c *Cloud) Left(family, _ string) (milliCPU int64, seen time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	milliCPU, ok = c.quota[family]
	for _, m := range c.machines {
		if !m.gone && (family == "" || m.family == family) {
			milliCPU -= m.cpu
		}
	}
	return milliCPU, time.Now(), ok
}

// run, fail, stop and vanish move a machine along; each does nothing when the machine has gone elsewhere meanwhile.
//
//	pending ──BootDelay──▶ running ──Terminate, Evict──▶ deleting ──DeleteDelay──▶ gone    (SwitchOff: running, but off)
//	   └─────FailDelay───▶ failed ───────Terminate──────────┘

func (c *Cloud) run(m *machine) {
	c.mu.Lock()
	if m.State != model.Pending {
		c.mu.Unlock()
		return
	}
	m.State = model.Running
	m.now()
	i := clone(m.Instance)
	c.mu.Unlock()
	if c.cfg.OnRunning != nil {
		c.cfg.OnRunning(i)
	}
}

func (c *Cloud) fail(m *machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.State != model.Pending {
		return
	}
	m.State = model.Failed
	m.FailureCode, m.FailureReason = string(cloud.NoCapacity), "AllocationFailed"
	m.FailureText = fmt.Sprintf("AllocationFailed: %s could not be allocated", m.Offering)
	m.now()
}

// stop is called with mu held.
func (c *Cloud) stop(m *machine) {
	if m.State == model.Stopping {
		return
	}
	m.State = model.Stopping
	m.now()
	time.AfterFunc(c.cfg.DeleteDelay, func() { c.vanish(m) })
}

func (c *Cloud) vanish(m *machine) {
	c.mu.Lock()
	m.gone = true
	m.now()
	i := clone(m.Instance)
	c.mu.Unlock()
	if c.cfg.OnGone != nil {
		c.cfg.OnGone(i)
	}
}

// now writes the machine's present look into its history.
func (m *machine) now() {
	m.history = append(m.history, moment{at: time.Now(), what: m.Instance, gone: m.gone})
}

// at returns the index of what the machine looked like at the time, or -1 when it was not there yet.
func (m *machine) at(t time.Time) int {
	i := len(m.history) - 1
	for i >= 0 && m.history[i].at.After(t) {
		i--
	}
	return i
}
