package audit

import (
	"fmt"
	"slices"
	"strings"
)

// stuck says why a unit could not go on.
func (p *play) stuck(u *unit) Finding {
	at, _ := p.blocked(u)
	key, where := u.last.Key(), choiceText(p.t.a.machines[u.machine], p.faces[u.machine])
	if at.x == nil {
		return Finding{Spread, fmt.Sprintf("pod %s on %s: found no order in which it can be bound", key, where)}
	}
	s := &p.states[at.x.id]
	if at.x.rule == Affinity {
		return Finding{Affinity, fmt.Sprintf("pod %s on %s: nothing that it looks for is there by %s", key, where, termKeys(at.x))}
	}
	if at.d < 0 {
		return Finding{Spread, fmt.Sprintf("pod %s on %s: there is no label %s", key, where, at.x.terms[0].Key)}
	}
	limit := u.kin.limits[slices.Index(u.kin.spreads, at.x)]
	return Finding{Spread, fmt.Sprintf("pod %s on %s: %s of %s has %d already, the least is %d, the skew may be %d", key, where,
		s.over[0].names[at.d], at.x.terms[0].Key, s.count[0][at.d], s.floor(limit), limit.MaxSkew)}
}

func termKeys(x *tally) string {
	var keys []string
	for _, t := range x.terms {
		keys = append(keys, t.Key)
	}
	return strings.Join(keys, ", ")
}

// refused checks anti-affinity, which no order mends: nobody may be where a pod is that it refuses, or that refuses it.
func (p *play) refused() []Finding {
	var out []Finding
	for _, u := range p.t.units {
		where := func() string { return choiceText(p.t.a.machines[u.machine], p.faces[u.machine]) }
		for _, x := range u.kin.shuns {
			s, self := &p.states[x.id], 0
			if slices.Contains(u.kin.counted, x) {
				self = 1
			}
			if d := s.over[0].at[u.machine]; d >= 0 && s.count[0][d] > self {
				out = append(out, Finding{AntiAffinity, fmt.Sprintf("pod %s on %s meets pods that it refuses in %s of %s", u.first.Key(), where(),
					s.over[0].names[d], x.terms[0].Key)})
			}
		}
		for _, x := range u.kin.counted {
			s, self := &p.states[x.id], 0
			if x.rule != AntiAffinity {
				continue
			}
			if slices.Contains(u.kin.shuns, x) {
				self = 1
			}
			if d := s.over[0].at[u.machine]; d >= 0 && s.owners[d] > self {
				out = append(out, Finding{AntiAffinity, fmt.Sprintf("pod %s on %s meets pods that refuse it in %s of %s", u.first.Key(), where(),
					s.over[0].names[d], x.terms[0].Key)})
			}
		}
	}
	return out
}
