package market

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Block is one thing that the cloud refused.
type Block struct {
	Scope cloud.Scope // its For is zero
	Code  cloud.Code
	Text  string // the cloud's words, for people
	Since time.Time
	Until time.Time
	// Strikes counts the refusals in a row: 1 is the first.
	Strikes int
}

func (b Block) words() string {
	return fmt.Sprintf("%s: %s until %s: %s", model.WhyUnavailable, b.Code, b.Until.UTC().Format(time.RFC3339), b.Text)
}

// wanted is one offering, for machines of one class.
type wanted struct {
	class *model.Class
	t     model.InstanceType
	o     model.Offering
}

// covers reports whether the block's scope contains what is wanted.
func (b Block) covers(w wanted, regional func(string) bool) bool {
	s, t, o := b.Scope, w.t, w.o
	if s.Class != (model.ClassRef{}) && (s.Class != w.class.Ref || s.Generation != w.class.Generation) {
		return false
	}
	is := func(want, got string) bool { return want == "" || want == got }
	return is(s.Type, t.Name) && is(s.Family, t.Family) && is(s.Zone, o.Zone) && is(s.CapacityType, o.CapacityType) &&
		t.Capacity.CPU >= s.MinCPU && (!s.Zonal || !regional(o.Zone)) && (!s.Regional || regional(o.Zone))
}

// memory is what was refused.
//
//	refused ──▶ closed ──Until──▶ open on trial ──as long again──▶ forgotten
//	               ▲                   │
//	               └─────refused───────┘  believed twice as long, up to MaxFor
type memory struct {
	cfg    Config
	epoch  uint64 // grows whenever what is closed changes
	blocks map[cloud.Scope]*entry
}

type entry struct {
	Block
	closed bool          // as the epoch knows it
	span   time.Duration // how long it was believed last time
}

func newMemory(cfg Config) memory {
	return memory{cfg: cfg, blocks: map[cloud.Scope]*entry{}}
}

// remember closes the scope. The zero scope closes nothing.
func (m *memory) remember(s cloud.Scope, code cloud.Code, text string, now time.Time) {
	said := s.For
	s.For = 0
	if s == (cloud.Scope{}) {
		return
	}
	m.prune(now)
	e := m.blocks[s]
	if e == nil {
		m.makeRoom()
		e = &entry{Block: Block{Scope: s, Since: now}}
		m.blocks[s] = e
	}
	switch {
	case !e.closed:
		e.Strikes++
		e.span = m.span(said, code, e.Strikes, whole(s))
		e.Until = now.Add(e.span)
		e.closed = true
	case said > e.Until.Sub(now):
		// Refused while closed: an order that was on its way before. It is no new strike, but the driver knows better.
		e.span, e.Until = said, now.Add(said)
	}
	e.Code, e.Text = code, text
	m.epoch++
}

// How long a class of which nothing can be had rests: what is wrong with it is mended by a person, who then waits for us.
const (
	wholeFirst = time.Minute
	wholeMost  = 10 * time.Minute
)

// whole reports whether the scope is about a class as such, not about what was ordered for it.
func whole(s cloud.Scope) bool { return s.All && s.Class != (model.ClassRef{}) }

// span is how long a refusal is believed: as the driver says, or longer with every strike. ofClass says that it is
// about a class as such.
func (m *memory) span(said time.Duration, code cloud.Code, strikes int, ofClass bool) time.Duration {
	if said > 0 {
		return said
	}
	d, most := m.cfg.NoCapacityFor, m.cfg.MaxFor
	switch {
	case ofClass:
		d, most = min(wholeFirst, most), min(wholeMost, most)
	case code == cloud.Quota:
		d = m.cfg.QuotaFor
	}
	for i := 1; i < strikes && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// makeRoom forgets the block that ends first when the memory is full.
func (m *memory) makeRoom() {
	if len(m.blocks) < m.cfg.MaxBlocks {
		return
	}
	var first *entry
	for _, e := range m.blocks {
		if first == nil || order(e.Block, first.Block) > 0 {
			first = e
		}
	}
	delete(m.blocks, first.Scope)
	m.epoch++
}

// prune opens what has been closed long enough, and forgets what has been open on trial as long again.
func (m *memory) prune(now time.Time) {
	for s, e := range m.blocks {
		if e.closed && !e.Until.After(now) {
			e.closed = false
			m.epoch++
		}
		trial := e.span
		if whole(s) {
			trial = max(trial, suspectFor)
		}
		if !e.Until.Add(trial).After(now) {
			delete(m.blocks, s)
		}
	}
}

// worked forgets the strikes of everything that covers what was just sold.
func (m *memory) worked(w wanted) {
	for s, e := range m.blocks {
		if !e.closed && e.covers(w, m.cfg.Regional) {
			delete(m.blocks, s)
		}
	}
}

// covering returns the closed block that covers what is wanted and lasts longest, or nil.
func (m *memory) covering(w wanted, now time.Time) *Block {
	var best *Block
	for _, e := range m.blocks {
		if e.Until.After(now) && e.covers(w, m.cfg.Regional) && (best == nil || order(e.Block, *best) < 0) {
			best = &e.Block
		}
	}
	return best
}

func (m *memory) list(now time.Time) []Block {
	var out []Block
	for _, e := range m.blocks {
		if e.Until.After(now) {
			out = append(out, e.Block)
		}
	}
	slices.SortFunc(out, order)
	return out
}

// order sorts blocks: longest first, then by scope.
func order(a, b Block) int {
	x, y := a.Scope, b.Scope
	flag := func(f bool) int {
		if f {
			return 1
		}
		return 0
	}
	return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(x.Class.Kind, y.Class.Kind), cmp.Compare(x.Class.Name, y.Class.Name),
		cmp.Compare(x.Class.Group, y.Class.Group), cmp.Compare(x.Generation, y.Generation), cmp.Compare(x.Family, y.Family), cmp.Compare(x.Type, y.Type),
		cmp.Compare(x.Zone, y.Zone), cmp.Compare(x.CapacityType, y.CapacityType), cmp.Compare(x.MinCPU, y.MinCPU),
		cmp.Compare(flag(x.Zonal), flag(y.Zonal)), cmp.Compare(flag(x.Regional), flag(y.Regional)), cmp.Compare(flag(x.All), flag(y.All)))
}
