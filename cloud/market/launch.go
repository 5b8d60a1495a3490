package market

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Request asks for one machine: any of Options, the first that can be had.
type Request struct {
	// Order is what all options share; its Type, Offering and Labels are filled in from the option.
	Order   cloud.Order
	Options []Option // best first
}

// Option is one way to fulfil a request.
type Option struct {
	Type     model.InstanceType
	Offering model.Offering // one of Type.Offerings
	Labels   map[string]string
}

// Attempt is one offering that the cloud was asked for.
type Attempt struct {
	Offering model.OfferingKey
	Err      error // nil when it was accepted
}

// moreAfter is the pause before the options beyond MaxAttempts are tried.
const moreAfter = time.Second

// Launch tries the options in order, at once, until one is accepted. Options that are remembered as refused are not
// tried. Every refusal for lack of capacity or quota is remembered, and the next option is tried; anything else ends
// the attempt. In particular, an answer that leaves open whether the machine was accepted is returned as it is, and the
// next Launch for the claim asks for that very option first: two options are never under way for one claim.
//
// Attempts lists what the cloud was asked for, also beside an error. The error's code is NoCapacity when no option is
// left, Throttled with a delay when the cloud or our own pacing asks to wait or when MaxAttempts were spent, and else
// the cloud's own. Costs one call per attempt; remembers in O(blocks).
func (m *Market) Launch(ctx context.Context, r Request, now time.Time) (model.Instance, []Attempt, error) {
	var tried []Attempt
	var refused []string
	learnt := false
	for _, o := range m.ranked(r, now) {
		if words := m.asClosed(o, now); words != "" {
			refused = append(refused, o.Offering.Key().String()+": "+words)
			continue
		}
		if len(tried) == m.cfg.MaxAttempts && learnt {
			return model.Instance{}, tried, &cloud.Error{Code: cloud.Throttled, RetryAfter: moreAfter, Reason: "TooManyAttempts",
				Err: fmt.Errorf("%d offerings were refused, the rest is tried next", len(tried))}
		}
		if len(tried) == m.cfg.MaxAttempts {
			break
		}
		if err := m.admit(ctx, now); err != nil {
			return model.Instance{}, tried, err
		}
		order := r.Order
		order.Type, order.Offering = o.Type, o.Offering
		if o.Labels != nil {
			order.Labels = o.Labels
		}
		i, err := m.fleet.Launch(ctx, order)
		tried = append(tried, Attempt{Offering: o.Offering.Key(), Err: err})
		next, news := m.learn(r.Order.ClaimUID, o, i, err, now)
		if !next {
			return i, tried, err
		}
		learnt = learnt || news
		refused = append(refused, fmt.Sprintf("%s: %v", o.Offering.Key(), err))
	}
	return model.Instance{}, tried, exhausted(len(r.Options), refused)
}

// ranked returns the request's options with the one whose outcome we never learnt at the head.
func (m *Market) ranked(r Request, now time.Time) []Option {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memory.prune(now)
	m.flights.prune(now)
	open, ok := m.flights.unsure[r.Order.ClaimUID]
	if !ok {
		return r.Options
	}
	for i, o := range r.Options {
		if o.Offering.Key() == open.key {
			out := append([]Option{o}, r.Options[:i]...)
			return append(out, r.Options[i+1:]...)
		}
	}
	return r.Options
}

func (m *Market) asClosed(o Option, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed(o.Type, o.Offering, m.flights.headroom(m.quotas), now)
}

// admit lets one call pass, or says when to come back. Passing takes a token.
func (m *Market) admit(ctx context.Context, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return &cloud.Error{Code: cloud.Unknown, Err: err}
	}
	m.mu.Lock()
	left := m.pause.until.Sub(now)
	m.mu.Unlock()
	if left > 0 {
		return &cloud.Error{Code: cloud.Throttled, RetryAfter: left, Reason: "Paused", Err: errors.New("the cloud asked us to wait")}
	}
	t := m.pace.ReserveN(now, 1)
	if d := t.DelayFrom(now); d > 0 {
		t.CancelAt(now)
		return &cloud.Error{Code: cloud.Throttled, RetryAfter: d, Reason: "Paced", Err: errors.New("launches are paced")}
	}
	return nil
}

// learn draws the lessons of one answer. next says that another option may be tried, news that something was closed.
func (m *Market) learn(claimUID string, o Option, i model.Instance, err error, now time.Time) (next, news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	code := cloud.CodeOf(err)
	if code != cloud.Unknown {
		delete(m.flights.unsure, claimUID)
	}
	if code != cloud.Throttled {
		m.pause.strikes = 0
	}
	switch code {
	case "":
		if i.Offering == o.Offering.Key() && i.State != model.Failed {
			m.memory.worked(o.Type, o.Offering)
			m.flights.accept(claimUID, o, now, m.quotas != nil || o.Offering.Supply != nil)
		}
	case cloud.NoCapacity, cloud.Quota:
		m.memory.remember(asError(err).Scope, code, text(err), now)
		return true, m.memory.covering(o.Type, o.Offering, now) != nil
	case cloud.Throttled:
		m.pause.hold(asError(err).RetryAfter, now)
	case cloud.Unknown:
		m.flights.doubt(claimUID, o, now)
	}
	return false, false
}

func asError(err error) *cloud.Error {
	var e *cloud.Error
	if errors.As(err, &e) {
		return e
	}
	return &cloud.Error{Code: cloud.Unknown, Err: err}
}

// textLimit bounds the cloud's words in memory, in bytes.
const textLimit = 300

// text is the cloud's own code and words, cut to a length that people read.
func text(err error) string {
	e := asError(err)
	s := e.Reason
	if e.Err != nil {
		if s != "" {
			s += ": "
		}
		s += e.Err.Error()
	}
	if len(s) > textLimit {
		s = strings.ToValidUTF8(s[:textLimit], "") + "…"
	}
	return s
}

// exhausted says that nothing is left, with the first few reasons.
func exhausted(options int, refused []string) error {
	const shown = 3
	e := &cloud.Error{Code: cloud.NoCapacity, Reason: "NoOfferingLeft"}
	words := fmt.Sprintf("none of %d offerings is to be had", options)
	if len(refused) > 0 {
		words += ": " + strings.Join(refused[:min(shown, len(refused))], "; ")
	}
	if more := len(refused) - shown; more > 0 {
		words += fmt.Sprintf("; and %d more", more)
	}
	e.Err = errors.New(words)
	return e
}

// pause is how long launches rest because the cloud is annoyed.
type pause struct {
	until   time.Time
	strikes int
}

// Bounds of the pause when the cloud does not say how long: doubled with every refusal in a row.
const (
	pauseFirst = 5 * time.Second
	pauseMost  = 2 * time.Minute
)

func (p *pause) hold(said time.Duration, now time.Time) {
	d := said
	if d <= 0 {
		d = pauseFirst
		for i := 0; i < p.strikes && d < pauseMost; i++ {
			d *= 2
		}
		d = min(d, pauseMost)
	}
	p.strikes++
	if until := now.Add(d); until.After(p.until) {
		p.until = until
	}
}
