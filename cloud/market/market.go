// Package market answers: which offering can we have, and what have we learnt from being refused?
//
// It sits above any driver (cloud.Fleet) and is written once for all clouds: it remembers what is sold out or over quota,
// of what scope and until when; tries the next best offering at once; paces launches and honours "come back later". It
// does not rank offerings (place does), knows no cloud's error texts (drivers do), and keeps nothing that a restart must
// not lose: what it forgets, the next refusal teaches again. It reads no clock: time is an argument.
package market

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Config is the market's habits. The zero value of a field means its default.
type Config struct {
	// Rate is how many launches per second are sent to the cloud in the long run, Burst how many at once after a quiet
	// time. Defaults 20 and 200, well below what Azure's compute provider takes from one subscription.
	Rate  float64
	Burst int
	// LookRate and LookBurst are the same for looks at single machines. Defaults 10 and 50: Azure Resource Manager takes 25
	// reads per second from one subscription and principal, 250 at once ("Understand how Azure Resource Manager throttles").
	LookRate  float64
	LookBurst int
	// MaxAttempts bounds how many offerings one Launch tries. Default 10.
	MaxAttempts int
	// NoCapacityFor (refusals without a known reason, too) and QuotaFor are how long a refusal is believed when the driver does not say: at first, doubled
	// each time the next try is refused too. Defaults 3 and 10 minutes. MaxFor bounds the doubling; default one hour.
	NoCapacityFor, QuotaFor, MaxFor time.Duration
	// MaxBlocks bounds how many refusals are remembered; beyond it the one that ends first is forgotten. Default 4096: a
	// region has about a thousand sizes, four placements and two capacity types, but refusals come by family or zone.
	MaxBlocks int
	// RiskFor is how long a spot machine that was taken back speaks against its offering. Default 30 minutes: where room is short it stays so for
	// longer than a sold-out size.
	RiskFor time.Duration
	// Regional reports whether a zone's name means "outside zones". Default: "0" and "".
	Regional func(zone string) bool
}

func (c Config) withDefaults() Config {
	if c.Rate <= 0 {
		c.Rate = 20
	}
	if c.Burst <= 0 {
		c.Burst = 200
	}
	if c.LookRate <= 0 {
		c.LookRate = 10
	}
	if c.LookBurst <= 0 {
		c.LookBurst = 50
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = 10
	}
	if c.MaxBlocks <= 0 {
		c.MaxBlocks = 4096
	}
	for _, d := range []struct {
		at        *time.Duration
		otherwise time.Duration
	}{{&c.NoCapacityFor, 3 * time.Minute}, {&c.QuotaFor, 10 * time.Minute}, {&c.MaxFor, time.Hour}, {&c.RiskFor, 30 * time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.otherwise
		}
	}
	if c.Regional == nil {
		c.Regional = func(zone string) bool { return zone == "0" || zone == "" }
	}
	return c
}

// Quotas is implemented by fleets that know how much of a quota is left. What was accepted after that was measured is
// subtracted by the market, so that a burst of launches does not run into the limit it could have seen.
type Quotas interface {
	// Left answers from memory, without asking the cloud. It returns the thousandths of a core left in the quota family
	// for the capacity type, and when that was true. ok is false when the family is not bounded or not known.
	Left(family, capacityType string) (milliCPU int64, seen time.Time, ok bool)
}

// Market buys machines. Make it with New. All methods may be called concurrently; now may stand still between calls but
// should not go back.
type Market struct {
	fleet  cloud.Fleet
	quotas Quotas // nil when the fleet has none
	cfg    Config
	pace   *rate.Limiter // of launches; has a lock of its own
	looks  *rate.Limiter // of looks at single machines; the same

	mu      sync.Mutex // guards the fields below; never held while the fleet is called
	memory  memory
	doubts  suspicions
	flights flights
	pause   pause
	turns   turns
	risks   risks
}

// New opens a market over a fleet.
func New(fleet cloud.Fleet, cfg Config) *Market {
	cfg = cfg.withDefaults()
	m := &Market{fleet: fleet, cfg: cfg, pace: rate.NewLimiter(rate.Limit(cfg.Rate), cfg.Burst),
		looks: rate.NewLimiter(rate.Limit(cfg.LookRate), cfg.LookBurst)}
	m.quotas, _ = fleet.(Quotas)
	m.memory = newMemory(cfg)
	m.doubts = suspicions{}
	m.flights = newFlights()
	m.risks = risks{}
	return m
}

// Offerings returns the fleet's catalogue, in which everything that we remember as refused is not available, with words
// that say why. Its epoch grows with the fleet's and with every change of what we remember. Types without any refusal are
// shared with the fleet's catalogue, not copied.
func (m *Market) Offerings(ctx context.Context, class model.Class, now time.Time) (model.Catalog, error) {
	cat, err := m.fleet.Offerings(ctx, class)
	if err != nil {
		return model.Catalog{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memory.prune(now)
	m.flights.prune(now)
	room := m.flights.headroom(m.quotas)
	cat.Types = slices.Clone(cat.Types)
	for i, t := range cat.Types {
		owned := false
		for j, o := range t.Offerings {
			if !o.Available {
				continue
			}
			words := m.closed(wanted{&class, t, o}, room, now)
			left := m.flights.supply(o)
			if words == "" && left == o.Supply {
				continue
			}
			if !owned {
				owned = true
				t.Offerings = slices.Clone(t.Offerings)
				cat.Types[i] = t
			}
			t.Offerings[j].Supply = left
			if words == "" && *left <= 0 {
				words = string(model.WhyUnavailable) + ": what is reserved is in use"
			}
			t.Offerings[j].Available = words == ""
			t.Offerings[j].Unavailable = words
		}
	}
	cat.Epoch += m.memory.epoch + m.flights.epoch
	return cat, nil
}

// closed says why what is wanted cannot be had now, or "". Called with mu held.
func (m *Market) closed(w wanted, room *headroom, now time.Time) string {
	if b := m.memory.covering(w, now); b != nil {
		return b.words()
	}
	return room.short(w.t, w.o)
}

// Failed remembers what an asynchronous failure teaches: i is a machine that the cloud accepted and then refused, as List
// shows it. Telling it of the same machine again changes nothing.
func (m *Market) Failed(i model.Instance, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	code := cloud.Code(i.FailureCode)
	switch code {
	case cloud.NoCapacity, cloud.Quota, cloud.Refused, cloud.Invalid, cloud.Denied:
	default:
		return
	}
	if !m.flights.firstFailure(i, now) {
		return
	}
	k := i.Offering
	m.memory.remember(cloud.Scope{Type: k.Type, Zone: k.Zone, CapacityType: k.CapacityType}, code, i.FailureText, now)
}

// Blocked lists what is remembered as refused now, in a fixed order: longest blocked first, then by scope.
func (m *Market) Blocked(now time.Time) []Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memory.prune(now)
	return m.memory.list(now)
}

// Inspect passes on to the fleet.
func (m *Market) Inspect(ctx context.Context, class model.Class, kubernetesVersion string) (cloud.Report, error) {
	return m.fleet.Inspect(ctx, class, kubernetesVersion)
}

// List passes on to the fleet.
func (m *Market) List(ctx context.Context) ([]model.Instance, error) { return m.fleet.List(ctx) }

// IDOf passes on to the fleet.
func (m *Market) IDOf(claim string) string { return m.fleet.IDOf(claim) }

// Get passes on to the fleet, at the pace of the configuration. What a failed machine teaches is remembered.
func (m *Market) Get(ctx context.Context, id string, now time.Time) (model.Instance, error) {
	if err := paced(m.looks, now, "looks at machines are paced"); err != nil {
		return model.Instance{}, err
	}
	i, err := m.fleet.Get(ctx, id)
	if err == nil && i.State == model.Failed {
		m.Failed(i, now)
	}
	return i, err
}

// Terminate passes on to the fleet. It is never paced: what is let go costs nothing.
func (m *Market) Terminate(ctx context.Context, id string) error { return m.fleet.Terminate(ctx, id) }
