package disrupt

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// fresh is how long a move that does not look complete is left alone: whoever writes it may be at
	// it, and the mirror may lag.
	fresh = 30 * time.Second
	// budgetPatience is how long a move whose replacements are there waits for disruption budgets of
	// pods. Beyond it two sets of machines would be paid for.
	budgetPatience = 15 * time.Minute
)

// goOn looks at the moves that stand in the cluster.
func (s *picture) goOn() {
	seen := map[string]bool{}
	for _, x := range s.candidates {
		switch {
		case x.written == "" || x.leaves() || seen[x.written]:
		case !x.moves:
			s.undo([]*candidate{x}, Record{}, reason{why: model.WhyMoveOutdated,
				detail: "the record of its move cannot be read"})
		default:
			seen[x.written] = true
			s.resume(x.record, x.written)
		}
	}
}

// resume says what is next for one move.
func (s *picture) resume(r Record, text string) {
	var members []*candidate
	partial := ""
	for _, name := range r.Claims {
		x := s.byClaim[name]
		if x == nil || x.leaves() {
			continue // gone by this move, or by something else
		}
		if x.written != text {
			partial = "NodeClaim " + name + " does not say so"
			continue
		}
		members = append(members, x)
		if !x.marked() {
			partial = "node " + x.node.Name + " is not marked"
		}
	}
	lost, coming := s.replacements(r)
	held := s.halted(members, r)
	switch {
	case held.why != "":
		s.undo(members, r, held)
	case partial != "" && s.Now.Sub(r.Since) < fresh, lost != "" && s.Now.Sub(r.Since) < fresh:
		s.await(members, reason{model.WhyReplacing, "the move has just begun",
			r.Since.Add(fresh).Sub(s.Now)})
	case partial != "":
		s.undo(members, r, reason{why: model.WhyMoveHalfBegun,
			detail: "it was not begun on all its nodes: " + partial})
	case lost != "":
		s.undo(members, r, reason{why: model.WhyReplacementLost,
			detail: "NodeClaim " + lost + ", which was to replace it, is gone"})
	case coming != "":
		s.await(members, reason{why: model.WhyReplacing,
			detail: "it leaves as soon as NodeClaim " + coming + " is initialized"})
	default:
		s.finish(r, members)
	}
}

// replacements says which of them is lost, or else which is on its way still.
func (s *picture) replacements(r Record) (lost, coming string) {
	for _, name := range r.Replacements {
		x := s.byClaim[name]
		if x == nil || x.leaves() {
			return name, ""
		}
		if !x.claim.Is(model.Initialized) {
			coming = name
		}
	}
	return "", coming
}

// finish has the claims of a move deleted when all that replaces them is there, if it is still right.
func (s *picture) finish(r Record, members []*candidate) {
	var nodes []string
	m := Move{Why: r.Why, Marked: true, Record: r}
	for _, x := range members {
		why := s.protected(x)
		if why.why == "" && !(r.Why == model.WhyDrifted && x.claim.TerminationGracePeriod != nil) {
			why = s.pods(x)
		}
		if why.why == model.WhyPDB && s.Now.Sub(r.Since) < budgetPatience {
			why.after = r.Since.Add(budgetPatience).Sub(s.Now)
			s.await(members, why)
			return
		}
		if why.why != "" {
			s.undo(members, r, reason{why: model.WhyMoveOutdated, detail: why.detail})
			return
		}
		m.Claims, nodes = append(m.Claims, x.claim.Name), append(nodes, x.node.Name)
		m.Saves, m.Pods = m.Saves+x.price, m.Pods+x.there.Tenants
	}
	m.Nodes = nodes
	for _, name := range r.Replacements {
		m.Saves -= s.byClaim[name].price
	}
	answer, ok := s.whatIf().Try(nodes, func(a place.Answer) bool {
		return len(a.Buy) == 0 && s.unready(a) == ""
	})
	if !ok {
		s.undo(members, r, reason{why: model.WhyMoveOutdated,
			detail: "its pods would not all have a place: " + s.homeless(answer)})
		return
	}
	s.receive(answer)
	for _, x := range members {
		s.done[x.claim.Name] = true
	}
	s.out.Moves = append(s.out.Moves, m)
}

// homeless says what is wrong with an answer that nothing may be bought for.
func (s *picture) homeless(a place.Answer) string {
	switch {
	case len(a.Left) > 0:
		return fmt.Sprintf("%d fit nowhere, such as %s", len(a.Left), a.Left[0])
	case len(a.Buy) > 0:
		return fmt.Sprintf("for %s another machine would have to be bought", a.Buy[0].Pods[0])
	case a.Later:
		return "what is decided already comes first"
	}
	return "they would go to " + s.unready(a) + ", which is not there yet"
}

// unready names a machine on its way that the answer counts on, "" when there is none.
func (s *picture) unready(a place.Answer) string {
	for _, f := range a.Fits {
		if f.Claim != "" {
			return f.Claim
		}
		n := s.World.Index.Node(f.Node)
		if n == nil {
			continue
		}
		c := s.World.Index.ClaimOf(n)
		if c != nil && !c.Is(model.Initialized) {
			return c.Name
		}
	}
	return ""
}

// receive notes who gets pods: such nodes do not leave by this decision.
func (s *picture) receive(a place.Answer) {
	for _, f := range a.Fits {
		s.receiving[f.Node] = true
	}
}

func (s *picture) await(members []*candidate, why reason) {
	for _, x := range members {
		s.done[x.claim.Name] = true
		s.keep(x, why)
	}
}

func (s *picture) undo(members []*candidate, r Record, why reason) {
	u := Undo{Move: r.Why, Why: why.why, Detail: why.detail}
	for _, x := range members {
		s.done[x.claim.Name] = true
		s.keep(x, why)
		u.Claims = append(u.Claims, x.claim.Name)
		if x.marked() {
			u.Nodes = append(u.Nodes, x.node.Name)
		}
	}
	for _, name := range r.Replacements {
		x := s.byClaim[name]
		if x != nil && !x.leaves() && x.there.Tenants == 0 {
			u.Cancel = append(u.Cancel, name)
			s.done[name] = true
			s.keep(x, reason{why: model.WhyAlreadyLeaving,
				detail: "the move that it was bought for is undone"})
		}
	}
	if len(members) > 0 {
		s.out.Undo = append(s.out.Undo, u)
	}
}

// workEach bounds the work of one what-if, in the steps of place.Input.Limit.
const workEach = 200_000

// whatIf is the picture, with waiting pods on what they fit on, and nobody to go to nodes that leave
// or have drifted.
func (s *picture) whatIf() *place.WhatIf {
	if s.ifs != nil {
		return s.ifs
	}
	s.ifs = place.NewWhatIf(place.Input{World: s.World, Pods: place.Waiting(s.World),
		MinValues: s.MinValues, Limit: workEach})
	for _, f := range s.ifs.Awaited() {
		s.receiving[f.Node] = true
	}
	var closed []string
	for _, x := range s.candidates {
		if x.node.Name != "" && (x.marked() || x.leaves() || s.rolls(x)) {
			closed = append(closed, x.node.Name)
		}
	}
	for _, m := range slices.Concat(s.out.Moves, s.out.Observed) {
		closed = append(closed, m.Nodes...)
	}
	s.ifs.Close(closed...)
	return s.ifs
}
