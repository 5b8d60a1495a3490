package market

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

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
// tried. Every refusal is remembered, and the next option is tried unless the refusal is about whatever is ordered for the
// class (Invalid, Denied); anything else ends the attempt. In particular, an answer that leaves open whether the machine was accepted is returned as it is, and the
// next Launch for the claim asks for that very option first, a few times.
//
// Attempts lists what the cloud was asked for, also beside an error. The error's code is NoCapacity when no option is
// left, Throttled with a delay when the cloud or our own pacing asks to wait or when MaxAttempts were spent, and else
// the cloud's own. Costs one call per attempt; remembers in O(blocks).
func (m *Market) Launch(ctx context.Context, r Request, now time.Time) (model.Instance, []Attempt, error) {
	var tried []Attempt
	var refused []string
	learnt := false
	for _, o := range m.ranked(r, now) {
		w := wanted{&r.Order.Class, o.Type, o.Offering}
		if words := m.asClosed(w, now); words != "" {
			refused = append(refused, o.Offering.Key().String()+": "+words)
			continue
		}
		if len(tried) == m.cfg.MaxAttempts && learnt {
			return model.Instance{}, tried, &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: moreAfter}, Reason: "TooManyAttempts",
				Err: fmt.Errorf("%d offerings were refused, the rest is tried next", len(tried))}
		}
		if len(tried) == m.cfg.MaxAttempts {
			break
		}
		if err := m.admit(ctx, r.Order.ClaimUID, now); err != nil {
			return model.Instance{}, tried, err
		}
		order := r.Order
		order.Type, order.Offering = o.Type, o.Offering
		if o.Labels != nil {
			order.Labels = o.Labels
		}
		i, err := m.fleet.Launch(ctx, order)
		tried = append(tried, Attempt{Offering: o.Offering.Key(), Err: err})
		next, news := m.learn(r.Order.ClaimUID, w, answer{i, err}, now)
		if !next {
			return i, tried, err
		}
		learnt = learnt || news
		refused = append(refused, fmt.Sprintf("%s: %v", o.Offering.Key(), err))
	}
	return model.Instance{}, tried, exhausted(len(r.Options), refused)
}

// ranked returns the request's options with the one whose outcome we never learnt at the head, or after too many tries at the end. The others come
// as they are given, those last among their like whose machines were taken back.
func (m *Market) ranked(r Request, now time.Time) []Option {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memory.prune(now)
	m.flights.prune(now)
	r.Options = m.risks.order(r.Options, now)
	open, ok := m.flights.unsure[r.Order.ClaimUID]
	if !ok {
		return r.Options
	}
	at := slices.IndexFunc(r.Options, func(o Option) bool { return o.Offering.Key() == open.key })
	if at < 0 {
		return r.Options
	}
	rest := slices.Concat(r.Options[:at], r.Options[at+1:])
	if open.times >= maxDoubts {
		return append(rest, r.Options[at])
	}
	return slices.Insert(rest, 0, r.Options[at])
}

// maxDoubts is how often in a row an open question is asked before the others. Then it comes last: a cloud that never answers about one
// offering must not keep a claim from another, and a fleet gives the claim only one machine, whatever was asked for.
const maxDoubts = 3

func (m *Market) asClosed(w wanted, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed(w, m.flights.headroom(m.quotas), now)
}

// admit lets one call for a claim pass, or says when to come back. Passing takes a token.
func (m *Market) admit(ctx context.Context, claimUID string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return &cloud.Error{Code: cloud.Unknown, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := m.pause.until.Sub(now); left > 0 {
		return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: left}, Reason: "Paused", Err: errors.New("the cloud asked us to wait")}
	}
	token := m.pace.ReserveN(now, 1)
	wait := m.turns.next(claimUID, token.DelayFrom(now), m.pace.Limit(), now)
	if wait <= 0 {
		return nil
	}
	token.CancelAt(now)
	return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: wait}, Reason: "Paced", Err: errors.New("launches are paced")}
}

// paced takes a token, or says when there will be one.
func paced(l *rate.Limiter, now time.Time, words string) error {
	t := l.ReserveN(now, 1)
	d := t.DelayFrom(now)
	if d <= 0 {
		return nil
	}
	t.CancelAt(now)
	return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: d}, Reason: "Paced", Err: errors.New(words)}
}

// answer is what the cloud said to one launch.
type answer struct {
	machine model.Instance
	err     error
}

// learn draws the lessons of one answer. next says that another option may be tried, news that something was closed.
func (m *Market) learn(claimUID string, w wanted, a answer, now time.Time) (next, news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	code := cloud.CodeOf(a.err)
	if code != cloud.Unknown {
		delete(m.flights.unsure, claimUID)
	}
	if code != cloud.Throttled {
		m.pause.strikes = 0
	}
	switch code {
	case "":
		if a.machine.Offering == w.o.Key() && a.machine.State != model.Failed {
			m.memory.worked(w)
			m.doubts.clear(w.class)
			m.flights.accept(claimUID, w, now, m.quotas != nil || w.o.Supply != nil)
		}
	case cloud.NoCapacity, cloud.Quota:
		m.memory.remember(asError(a.err).More.Scope, code, text(a.err), now)
		return true, m.memory.covering(w, now) != nil
	case cloud.Refused:
		m.refused(w, a.err, now)
		return true, m.memory.covering(w, now) != nil
	case cloud.Invalid, cloud.Denied:
		m.memory.remember(asError(a.err).More.Scope, code, text(a.err), now)
	case cloud.Throttled:
		m.pause.hold(asError(a.err).More.RetryAfter, now)
	case cloud.Unknown:
		m.flights.doubt(claimUID, w, now)
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
