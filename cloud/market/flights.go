package market

import (
	"fmt"
	"math"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// How long and how many launches are remembered. A quota that has not been measured anew after flightFor is not going
// to be; beyond maxFlights the oldest is forgotten, which at worst costs a refusal.
const (
	flightFor  = 15 * time.Minute
	maxFlights = 8192
)

// flights are launches that the cloud's own numbers may not show yet.
type flights struct {
	epoch    uint64
	accepted map[string]flight    // by claim UID
	unsure   map[string]flight    // by claim UID: asked for, and the answer was lost
	failed   map[string]time.Time // machines whose failure was remembered, by id and creation time, and when last told
}

type flight struct {
	key    model.OfferingKey
	family string
	cpu    int64
	at     time.Time
	times  int // how often in a row the answer was lost
}

func newFlights() flights {
	return flights{accepted: map[string]flight{}, unsure: map[string]flight{}, failed: map[string]time.Time{}}
}

func (f *flights) accept(claimUID string, w wanted, now time.Time, counts bool) {
	put(f.accepted, claimUID, newFlight(w, now))
	if counts {
		f.epoch++
	}
}

func (f *flights) doubt(claimUID string, w wanted, now time.Time) {
	x := newFlight(w, now)
	x.times = 1
	if old := f.unsure[claimUID]; old.key == x.key {
		x.times += old.times
	}
	put(f.unsure, claimUID, x)
}

func newFlight(w wanted, now time.Time) flight {
	return flight{key: w.o.Key(), family: w.t.Family, cpu: w.t.Capacity.CPU, at: now}
}

// put adds a flight; when there are too many, the oldest goes (of equally old ones, the first by name).
func put(m map[string]flight, uid string, x flight) {
	if _, ok := m[uid]; !ok && len(m) >= maxFlights {
		oldest := ""
		for k, v := range m {
			if o := m[oldest]; oldest == "" || v.at.Before(o.at) || v.at.Equal(o.at) && k < oldest {
				oldest = k
			}
		}
		delete(m, oldest)
	}
	m[uid] = x
}

func (f *flights) prune(now time.Time) {
	for _, m := range []map[string]flight{f.accepted, f.unsure} {
		for k, v := range m {
			if !v.at.Add(flightFor).After(now) {
				delete(m, k)
			}
		}
	}
	for k, at := range f.failed {
		if !at.Add(flightFor).After(now) {
			delete(f.failed, k)
		}
	}
}

// firstFailure reports whether the machine's failure is news.
func (f *flights) firstFailure(i model.Instance, now time.Time) bool {
	key := i.ID + " " + i.Created.UTC().Format(time.RFC3339Nano)
	_, known := f.failed[key]
	if !known && len(f.failed) >= maxFlights {
		return false // so many failures at once teach nothing new
	}
	f.failed[key] = now
	return !known
}

// headroom answers for one moment how much of each quota is left once everything accepted since it was measured is
// counted. It adds up each family once.
type headroom struct {
	quotas Quotas // nil: nothing is bounded
	f      *flights
	left   map[[2]string]int64
}

func (f *flights) headroom(q Quotas) *headroom {
	return &headroom{quotas: q, f: f, left: map[[2]string]int64{}}
}

// short says that the quota has no room for the type; "" when it has, or when nobody knows.
func (h *headroom) short(t model.InstanceType, o model.Offering) string {
	if h.quotas == nil {
		return ""
	}
	key := [2]string{t.Family, o.CapacityType}
	left, known := h.left[key]
	if !known {
		left = h.count(t.Family, o.CapacityType)
		h.left[key] = left
	}
	if left >= t.Capacity.CPU {
		return ""
	}
	q := model.FormatQuantities(model.ResourceCPU, left, t.Capacity.CPU)
	return fmt.Sprintf("%s: quota %s has %s cores left, it needs %s", model.WhyUnavailable, t.Family, q[0], q[1])
}

// supply returns what is left of an offering of which the cloud keeps only so many: less those that were launched since it counted. It
// is o.Supply itself when nothing was.
func (f *flights) supply(o model.Offering) *int64 {
	if o.Supply == nil {
		return nil
	}
	left := *o.Supply
	for _, x := range f.accepted {
		if x.key == o.Key() && x.at.After(o.SupplyAt) {
			left--
		}
	}
	if left == *o.Supply && left > 0 {
		return o.Supply
	}
	return &left
}

func (h *headroom) count(family, capacityType string) int64 {
	left, seen, ok := h.quotas.Left(family, capacityType)
	if !ok {
		return math.MaxInt64
	}
	for _, x := range h.f.accepted {
		if x.family == family && x.key.CapacityType == capacityType && x.at.After(seen) {
			left -= x.cpu
		}
	}
	return left
}
