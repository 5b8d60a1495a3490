package assign

import (
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// desk gives pods their places, one after the other.
type desk struct {
	atlas
	Classes []*Class
	Plan    answer.Plan
	opts    []seatOption // room for those of the class being seated
	// Seats says in which order places were found.
	Seats []Seated
	// held are planned pods whose turn has not come, broken those that lost their place.
	held   []reservation
	Broken []model.PodKey
}

// reserving keeps places for pods that they were bought for.
type reserving struct {
	desk
	// reserved lists the existing nodes that were bought for some pods.
	reserved []int32
	// Twice counts planned pods that are on nothing that is paid for.
	Twice int
}

// bundling has pods share machines.
type bundling struct {
	reserving
	Bundles []*bundle
	Found   Finder
}

// hosting seats pods where guests can come.
type hosting struct{ bundling }

// Seating finds a place for everybody.
type Seating struct{ hosting }

// ArrangeSeats prepares to seat the classes.
func (d *Seating) ArrangeSeats(list []*topology.Class) {
	flat := make([]Class, len(list))
	d.Classes = make([]*Class, len(list))
	for i, g := range list {
		flat[i].Class = *g
		d.Classes[i] = &flat[i]
	}
	for i, s := range d.Existing {
		if len(s.Planned) > 0 {
			d.reserved = append(d.reserved, int32(i))
		}
	}
	d.agree()
}

// CapKeyOf names the class of a seat, and where it is.
func (d *desk) CapKeyOf(s Seated) problem.CapKey {
	if s.Slot >= 0 {
		return problem.CapKey{Group: s.Class.Key, At: problem.ExistingKey(d.Existing[s.Slot])}
	}
	return problem.CapKey{Group: s.Class.Key, At: s.Cell.Key()}
}

// WhereOf says where a seat is, in words.
func (d *desk) WhereOf(s Seated) string {
	switch {
	case s.Slot < 0:
		return "new nodes" + inDomains(s.Cell.values)
	case d.Existing[s.Slot].Node != "":
		return "node " + d.Existing[s.Slot].Node
	}
	return "claim " + d.Existing[s.Slot].Claim
}

func inDomains(values []string) string {
	if text := strings.Join(values, ", "); text != "" {
		return " in " + text
	}
	return ""
}

// Seated is pods of a class that were given a place in one go: on an existing node, or, when that is negative, in a cell in which machines were then
// to be bought. In the order of a decision they say in which order pods were thought to be bound.
type Seated struct {
	Class *Class
	Slot  int32
	Cell  *Cell
	N     int
}

// reserve takes room for n pods of the class from an existing node; negative n gives it back.
func (d *desk) reserve(g *problem.PodClass, slot int32, n int) {
	s := d.Existing[slot]
	d.Journal.Free(slot, s.Free)
	s.Free.Take(g.Lean, n)
	for _, m := range g.Shared {
		had := s.Volumes[m.ID]
		if s.Volumes == nil {
			s.Volumes = map[string]int{}
		}
		s.Volumes[m.ID] += n
		d.Journal.Mounted(slot, m.ID, n)
		switch {
		case had == 0:
			s.Free[m.Column]--
		case s.Volumes[m.ID] == 0:
			s.Free[m.Column]++
		}
	}
	d.Rooms.Set(int(slot), s.Free)
}
