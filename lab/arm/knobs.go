package arm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that is written "1.5s" in JSON and YAML.
type Duration time.Duration

// D converts.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalJSON writes "1.5s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads "1.5s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is a string like \"1.5s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// Knobs is everything about this Azure that can be turned, as data. The zero value is a fast and generous Azure: work
// finishes at once, nothing is sold out, quota is DefaultQuota. How long a machine boots is not here: its host knows.
type Knobs struct {
	CreateTime Duration `json:"createTime,omitempty"` // from the PUT of a machine to Succeeded
	FailTime   Duration `json:"failTime,omitempty"`   // from the PUT to an asynchronous failure; 0 = CreateTime
	DeleteTime Duration `json:"deleteTime,omitempty"` // from the DELETE of a machine to 404
	ChildTime  Duration `json:"childTime,omitempty"`  // for interfaces, disks and extensions
	Latency    Duration `json:"latency,omitempty"`    // before every answer
	PollAfter  Duration `json:"pollAfter,omitempty"`  // Retry-After of long-running operations; 0 = 1s
	GraphLag   Duration `json:"graphLag,omitempty"`   // how far Resource Graph is behind
	// PageSize is how many machines, interfaces or disks a list shows at once; 0 = 50.
	PageSize int `json:"pageSize,omitempty"`

	// EvictNotice is how long before an eviction a machine is warned; 0 = the documented 30s.
	EvictNotice Duration `json:"evictNotice,omitempty"`
	// NICReservation is how long an interface stays reserved for a machine that failed; Azure's is 180s.
	NICReservation Duration `json:"nicReservation,omitempty"`

	// Capacity limits how many machines exist at once. The first rule that matches and is full refuses.
	Capacity []Capacity `json:"capacity,omitempty"`
	// Quota maps a usage name (a size family, "cores" or "lowPriorityCores"; "*" = every family) to its limit in vCPUs.
	Quota map[string]int `json:"quota,omitempty"`
	// Failures break the next machines. A failure is used up by matching machines, one each.
	Failures []Failure `json:"failures,omitempty"`
	// Throttle refuses requests with 429.
	Throttle Throttle `json:"throttle,omitzero"`
	// Unreachable lists times in which nothing answers.
	Unreachable []Window `json:"unreachable,omitempty"`
	// Prices overrides USD per hour by "region/size" or "region/size/spot".
	Prices map[string]float64 `json:"prices,omitempty"`
	// Images adds image versions to those that Azure starts with.
	Images []ImageVersion `json:"images,omitempty"`
	// SubnetAddresses, when positive, is how many addresses each subnet has.
	SubnetAddresses int `json:"subnetAddresses,omitempty"`
	// Deny takes actions out of all roles, such as Microsoft.Compute/disks/write; a * stands for any text.
	Deny []string `json:"deny,omitempty"`
}

// Capacity is how many machines of a kind there can be. Empty fields match everything.
type Capacity struct {
	Size         string `json:"size,omitempty"`         // Standard_D2s_v5
	Zone         string `json:"zone,omitempty"`         // "1"; "regional" = machines outside zones
	CapacityType string `json:"capacityType,omitempty"` // "spot" or "on-demand"
	Limit        int    `json:"limit"`                  // machines of this kind at once; 0 = sold out
	// Code is one of SkuNotAvailable, ZonalAllocationFailed, AllocationFailed, OverconstrainedZonalAllocationRequest,
	// OverconstrainedAllocationRequest; "" = ZonalAllocationFailed in zones and AllocationFailed outside.
	Code string `json:"code,omitempty"`
	// Sync refuses the PUT itself; otherwise the machine is accepted and fails later. SkuNotAvailable is always sync.
	Sync bool `json:"sync,omitempty"`
}

// Failure breaks the next Count machines that match. Empty Size matches every size.
type Failure struct {
	Count   int    `json:"count"`
	Size    string `json:"size,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	// Status, when not 0, refuses the PUT itself with this HTTP status; otherwise the machine fails after accept.
	Status int `json:"status,omitempty"`
	// Details are error details; Azure wraps some errors.
	Details []string `json:"details,omitempty"` // codes
}

// Throttle answers 429 beyond the budgets that Azure documents (limits.go), to every nth ARM request (1 = all), or to
// those beyond PerWindow requests in a Window, per kind of request. Zero values of the latter two are off.
type Throttle struct {
	Every      int      `json:"every,omitempty"`
	PerWindow  int      `json:"perWindow,omitempty"`
	Window     Duration `json:"window,omitempty"`
	RetryAfter Duration `json:"retryAfter,omitempty"` // 0 = 1s
	// Budget is how many times the budgets that Azure documents a caller has; 0 = once, -1 = without limits.
	Budget int `json:"budget,omitempty"`
	// Kinds limits Every and PerWindow to read, list, write, delete, poll or graph requests; empty = all.
	Kinds []string `json:"kinds,omitempty"`
}

// Window is a time in which nothing answers. A zero From is since ever, a zero Until for ever.
type Window struct {
	From       time.Time `json:"from,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	Drop       bool      `json:"drop,omitempty"` // close the connection instead of answering 503
	RetryAfter Duration  `json:"retryAfter,omitempty"`
}

// ImageVersion is one version of a community gallery image.
type ImageVersion struct {
	Gallery   string    `json:"gallery"` // AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2
	Image     string    `json:"image"`   // 2204gen2containerd; "*" = every image of the gallery
	Version   string    `json:"version"` // 202610.01.0
	Published time.Time `json:"published"`
}

// capacityCodes are the refusals that Azure documents for a lack of machines (documentation "Troubleshoot allocation
// failures" and "Resolve errors for SKU not available").
func capacityCodes() []string {
	return []string{"", "SkuNotAvailable", "ZonalAllocationFailed", "AllocationFailed",
		"OverconstrainedZonalAllocationRequest", "OverconstrainedAllocationRequest"}
}

// Validate names everything that is wrong, not only the first thing.
func (k Knobs) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, d := range []struct {
		name string
		v    Duration
	}{
		{"createTime", k.CreateTime}, {"failTime", k.FailTime}, {"deleteTime", k.DeleteTime}, {"childTime", k.ChildTime},
		{"latency", k.Latency}, {"pollAfter", k.PollAfter}, {"graphLag", k.GraphLag}, {"evictNotice", k.EvictNotice},
		{"nicReservation", k.NICReservation}, {"throttle.window", k.Throttle.Window}, {"throttle.retryAfter", k.Throttle.RetryAfter},
	} {
		if d.v < 0 {
			bad("%s is negative: %v", d.name, d.v.D())
		}
	}
	for i, c := range k.Capacity {
		if !slices.Contains(capacityCodes(), c.Code) {
			bad("capacity[%d].code %q: want one of %s", i, c.Code, strings.Join(capacityCodes()[1:], ", "))
		}
		if !slices.Contains([]string{"", "spot", "on-demand"}, c.CapacityType) {
			bad("capacity[%d].capacityType %q: want spot or on-demand", i, c.CapacityType)
		}
		if !slices.Contains([]string{"", "1", "2", "3", "regional"}, c.Zone) {
			bad("capacity[%d].zone %q: want 1, 2, 3 or regional", i, c.Zone)
		}
		if c.Limit < 0 {
			bad("capacity[%d].limit is negative: %d", i, c.Limit)
		}
	}
	for _, name := range sortedKeys(k.Quota) {
		if k.Quota[name] < 0 {
			bad("quota[%s] is negative: %d", name, k.Quota[name])
		}
	}
	for i, f := range k.Failures {
		if f.Code == "" {
			bad("failures[%d].code is missing", i)
		}
		if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
			bad("failures[%d].status %d is not an HTTP error", i, f.Status)
		}
		if f.Count < 0 {
			bad("failures[%d].count is negative: %d", i, f.Count)
		}
	}
	errs = append(errs, k.Throttle.validate()...)
	for i, w := range k.Unreachable {
		if !w.Until.IsZero() && w.Until.Before(w.From) {
			bad("unreachable[%d] ends before it begins", i)
		}
	}
	if k.PageSize < 0 {
		bad("pageSize is negative: %d", k.PageSize)
	}
	if k.SubnetAddresses < 0 {
		bad("subnetAddresses is negative: %d", k.SubnetAddresses)
	}
	return errors.Join(append(errs, k.validateCatalog()...)...)
}

// validateCatalog checks what the knobs change about prices and images.
func (k Knobs) validateCatalog() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, name := range sortedKeys(k.Prices) {
		if parts := strings.Split(name, "/"); len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "spot" {
			bad("prices[%s]: want region/size or region/size/spot", name)
		}
		if k.Prices[name] < 0 {
			bad("prices[%s] is negative", name)
		}
	}
	for i, v := range k.Images {
		if v.Gallery == "" || v.Image == "" || v.Version == "" || v.Published.IsZero() {
			bad("images[%d]: gallery, image, version and published are all needed", i)
		}
	}
	return errs
}

func (t Throttle) validate() []error {
	var errs []error
	if t.Every < 0 || t.PerWindow < 0 {
		errs = append(errs, fmt.Errorf("throttle: every and perWindow may not be negative"))
	}
	if t.Budget < -1 {
		errs = append(errs, fmt.Errorf("throttle.budget %d: want 0 for Azure's own, a factor, or -1 for none", t.Budget))
	}
	if t.PerWindow > 0 && t.Window == 0 {
		errs = append(errs, fmt.Errorf("throttle.window is missing: perWindow needs it"))
	}
	for _, kind := range t.Kinds {
		if !slices.Contains([]string{"read", "list", "write", "delete", "poll", "graph"}, kind) {
			errs = append(errs, fmt.Errorf("throttle.kinds: %q is no kind of request", kind))
		}
	}
	return errs
}

func (k Knobs) clone() Knobs {
	k.Capacity = slices.Clone(k.Capacity)
	k.Quota = maps.Clone(k.Quota)
	k.Failures = slices.Clone(k.Failures)
	k.Throttle.Kinds = slices.Clone(k.Throttle.Kinds)
	k.Unreachable = slices.Clone(k.Unreachable)
	k.Prices = maps.Clone(k.Prices)
	k.Images = slices.Clone(k.Images)
	k.Deny = slices.Clone(k.Deny)
	return k
}

func (k Knobs) down(now time.Time) (Window, bool) {
	for _, w := range k.Unreachable {
		if !now.Before(w.From) && (w.Until.IsZero() || now.Before(w.Until)) {
			return w, true
		}
	}
	return Window{}, false
}

// Knobs returns the knobs as they stand; failures show what is left of them.
func (c *Cloud) Knobs() Knobs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.knobs.clone()
}

// SetKnobs replaces all knobs. Work that has begun keeps the times it began with.
func (c *Cloud) SetKnobs(k Knobs) error {
	if err := k.Validate(); err != nil {
		return fmt.Errorf("knobs: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.knobs = k.clone()
	return nil
}
