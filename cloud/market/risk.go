package market

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// alike is how much more, in per cent, another offering may cost for it to be bought before one whose
// machines are taken back: to lose a machine costs more than so much for an hour or two.
const alike = 10

// maxRisks bounds how many offerings are remembered; beyond it all are forgotten, and learnt again.
const maxRisks = 1024

// risks are the spot offerings of which a machine was taken back, and until when that counts. They
// stay on sale: where nothing else would do, a machine that may be taken back is better than none.
// Lost on restart, like what was sold out.
type risks map[model.OfferingKey]time.Time

// TakenBack notes that the cloud took, or is about to take, a machine of the offering back: for a while
// others that cost about the same are bought before it. To say it again only lengthens the while.
func (m *Market) TakenBack(k model.OfferingKey, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.risks) >= maxRisks {
		clear(m.risks)
	}
	m.risks[k] = now.Add(m.cfg.RiskFor)
}

// order puts options that are at risk behind those that cost about the same and are not. The options
// are sorted by price, and stay so otherwise. O(options), twice where some are at risk.
func (r risks) order(list []Option, now time.Time) []Option {
	risky := func(o *Option) bool { return r[o.Offering.Key()].After(now) }
	var held []Option // at risk, in their order
	out := make([]Option, 0, len(list))
	for i := range list {
		o := &list[i]
		for len(held) > 0 && o.Offering.Price > mostFor(held[0].Offering.Price) {
			out, held = append(out, held[0]), held[1:]
		}
		if risky(o) {
			held = append(held, *o)
			continue
		}
		out = append(out, *o)
	}
	return append(out, held...)
}

// mostFor is the most that is paid instead of a price.
func mostFor(p model.Price) model.Price { return p + p*alike/100 }
