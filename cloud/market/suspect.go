package market

import (
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// How many offerings may be refused for reasons that nobody knows before what they have in common is taken for the reason, and how long
// such a refusal counts. Each time as many more are refused, they have less in common (what they had is closed), so that after four times
// as many, nothing of the class is asked for any more: a class that is wrong in itself costs at most suspectEvery × 4 calls, not one for
// each of some thousand offerings.
const (
	suspectEvery = 4
	suspectFor   = 10 * time.Minute
	maxSuspects  = 256 // classes
)

// suspicions are the offerings that were refused for unknown reasons since the last sale, by class.
type suspicions map[model.ClassRef]*suspicion

type suspicion struct {
	generation int64
	refused    []model.OfferingKey // distinct
	last       time.Time
}

// clear forgets what a sale disproves.
func (s suspicions) clear(c *model.Class) { delete(s, c.Ref) }

// add notes a refusal and returns what all refusals have in common, when there are enough to tell.
func (s suspicions) add(w wanted, now time.Time) (cloud.Scope, bool) {
	x := s[w.class.Ref]
	if x == nil || x.generation != w.class.Generation || !now.Before(x.last.Add(suspectFor)) {
		s.prune(now)
		x = &suspicion{generation: w.class.Generation}
		s[w.class.Ref] = x
	}
	x.last = now
	if slices.Contains(x.refused, w.o.Key()) {
		return cloud.Scope{}, false
	}
	x.refused = append(x.refused, w.o.Key())
	if len(x.refused)%suspectEvery != 0 {
		return cloud.Scope{}, false
	}
	common := x.refused[0]
	for _, k := range x.refused[1:] {
		common.Type = same(common.Type, k.Type)
		common.Zone = same(common.Zone, k.Zone)
		common.CapacityType = same(common.CapacityType, k.CapacityType)
	}
	if len(x.refused) >= 4*suspectEvery {
		common = model.OfferingKey{}
	}
	if common == (model.OfferingKey{}) {
		delete(s, w.class.Ref) // all is said
	}
	return cloud.Scope{Class: w.class.Ref, Generation: w.class.Generation, All: true,
		Type: common.Type, Zone: common.Zone, CapacityType: common.CapacityType}, true
}

// prune makes room; what it forgets is learnt again.
func (s suspicions) prune(now time.Time) {
	for k, x := range s {
		if !now.Before(x.last.Add(suspectFor)) {
			delete(s, k)
		}
	}
	if len(s) >= maxSuspects {
		clear(s)
	}
}

func same(a, b string) string {
	if a == b {
		return a
	}
	return ""
}

// refused remembers a final no for a reason that nobody knows. Called with mu held.
func (m *Market) refused(w wanted, err error, now time.Time) {
	words := text(err)
	trials := m.memory.onTrial(w)
	m.memory.remember(asError(err).More.Scope, cloud.Refused, words, now)
	if s, ok := m.doubts.add(w, now); ok {
		m.memory.remember(s, cloud.Refused, words, now)
	}
	for _, s := range trials {
		m.memory.remember(s, cloud.Refused, words, now)
	}
}

// onTrial lists the wider refusals without a known reason that have just been opened again and cover what is wanted: one more refusal
// closes them at once.
func (m *memory) onTrial(w wanted) []cloud.Scope {
	var out []cloud.Scope
	for s, e := range m.blocks {
		if !e.closed && e.Code == cloud.Refused && s.All && e.covers(w, m.cfg.Regional) {
			out = append(out, s)
		}
	}
	return out
}
