package disrupt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// pauseOf is what people have put on hold of the node's pool.
func (s *picture) pauseOf(x *candidate) model.Pause {
	held, known := s.pauses[x.pool.Name]
	if !known {
		held = s.World.PauseOf(x.pool)
		s.pauses[x.pool.Name] = held
	}
	return held
}

// paused says why the node may not begin to leave for the reason, by the will of people. One that is
// only observed is judged like any other; but if it has been marked, it is not to stay so.
func (s *picture) paused(x *candidate, why string) reason {
	held := s.pauseOf(x)
	what := ""
	switch {
	case held.Disruption:
		what = model.PauseDisruption
	case held.Drift && why == budget.Drifted:
		what = model.PauseDrift
	case held.Observe && x.marked():
		return reason{why: model.WhyObserved,
			detail: "nodes of NodePool " + x.pool.Name + " are observed, and stay"}
	default:
		return reason{}
	}
	text := what + " of NodePool " + x.pool.Name + " is paused, by its annotation " +
		model.AnnotationPause + " or for all pools"
	if len(held.Unreadable) > 0 {
		text = what + " of NodePool " + x.pool.Name + " is paused; what cannot be read of it: " +
			strings.Join(held.Unreadable, ", ")
	}
	return reason{why: model.WhyPaused, detail: text}
}

// rolls reports whether the node has drifted, or expires, and is to be replaced soon.
func (s *picture) rolls(x *candidate) bool {
	return s.expires(x) || x.claim.Is(model.Drifted) &&
		(x.pool == nil || !s.pauseOf(x).Drift && s.tooYoung(x).why == "")
}

// halted says why a move that was begun is not to go on. Until its claims are deleted nobody is
// hurt by taking it back, and whoever stops the controller may do so because of that very move.
func (s *picture) halted(members []*candidate, r Record) reason {
	why := budget.ReasonOf(r.Why)
	if why == "" { // not our choice
		return reason{}
	}
	for _, x := range members {
		if x.pool == nil {
			continue
		}
		held := s.paused(x, why)
		if held.why != "" {
			return held
		}
	}
	return reason{}
}

// parted tells the candidates whose moves are carried out from those that are only observed, and
// leaves out those that are decided about.
func (s *picture) parted() (act, watch []*candidate) {
	for _, x := range s.candidates {
		switch {
		case s.done[x.claim.Name]:
		case x.pool != nil && s.pauseOf(x).Observe:
			watch = append(watch, x)
		default:
			act = append(act, x)
		}
	}
	return act, watch
}

// leave decides that the move is made, or told.
func (s *picture) leave(m Move) {
	if !s.watching {
		s.out.Moves = append(s.out.Moves, m)
		return
	}
	s.out.Observed = append(s.out.Observed, m)
	if s.ifs != nil {
		s.ifs.Close(m.Nodes...)
	}
	for _, name := range m.Claims {
		s.keep(s.byClaim[name], reason{why: model.WhyObserved, detail: m.would(name)})
	}
}

// would says what the move would do with the claim's node.
func (m *Move) would(claim string) string {
	var with, bought []string
	for i, name := range m.Claims {
		if name != claim {
			with = append(with, m.Nodes[i])
		}
	}
	for _, b := range m.Buy {
		bought = append(bought, fmt.Sprintf("%s for %s", b.Options[0].Key, b.Options[0].Price))
	}
	text := "it would leave as " + string(m.Why)
	if len(with) > 0 {
		slices.Sort(with)
		text += " together with " + strings.Join(with, ", ")
	}
	switch {
	case m.Pods == 1:
		text += ", with one pod"
	case m.Pods > 1:
		text += fmt.Sprintf(", with %d pods", m.Pods)
	}
	if len(bought) > 0 {
		text += ", replaced by " + strings.Join(bought, ", ")
	}
	return text + fmt.Sprintf("; %s would be saved", m.Saves)
}
