package place

import (
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// desk gives pods their places, one after the other.
type desk struct {
	atlas
	classes []*seatClass
	plan    Plan
	opts    []seatOption // room for those of the class being seated
	// seats says in which order places were found.
	seats []seated
	// held are planned pods whose turn has not come, broken those that lost their place.
	held   []reservation
	broken []model.PodKey
}

// reserving keeps places for pods that they were bought for.
type reserving struct {
	desk
	// reserved lists the existing nodes that were bought for some pods.
	reserved []int32
	// twice counts planned pods that are on nothing that is paid for.
	twice int
}

// bundling has pods share machines.
type bundling struct {
	reserving
	bundles []*bundle
	found   finder
}

// hosting seats pods where guests can come.
type hosting struct{ bundling }

// seating finds a place for everybody.
type seating struct{ hosting }

// arrangeSeats prepares to seat the classes.
func (d *seating) arrangeSeats(list []*tiedClass) {
	flat := make([]seatClass, len(list))
	d.classes = make([]*seatClass, len(list))
	for i, g := range list {
		flat[i].tiedClass = *g
		d.classes[i] = &flat[i]
	}
	for i, s := range d.existing {
		if len(s.planned) > 0 {
			d.reserved = append(d.reserved, int32(i))
		}
	}
	d.agree()
}

// capKeyOf names the group of a seat, and where it is.
func (d *desk) capKeyOf(s seated) capKey {
	if s.slot >= 0 {
		return capKey{s.g.key, existingKey(d.existing[s.slot])}
	}
	return capKey{s.g.key, s.cell.key()}
}

// whereOf says where a seat is, in words.
func (d *desk) whereOf(s seated) string {
	switch {
	case s.slot < 0:
		return "new nodes" + inDomains(s.cell.values)
	case d.existing[s.slot].node != "":
		return "node " + d.existing[s.slot].node
	}
	return "claim " + d.existing[s.slot].claim
}

func inDomains(values []string) string {
	if text := strings.Join(values, ", "); text != "" {
		return " in " + text
	}
	return ""
}

// seated is pods of a group that were given a place in one go: on an existing node, or, when that is negative, in a cell in which machines were then
// to be bought. In the order of a decision they say in which order pods were thought to be bound.
type seated struct {
	g    *seatClass
	slot int32
	cell *cell
	n    int
}

// reserve takes room for n pods of the group from an existing node; negative n gives it back.
func (d *desk) reserve(g *podClass, slot int32, n int) {
	s := d.existing[slot]
	d.undo.free(slot, s.free)
	s.free.Take(g.lean, n)
	for _, m := range g.shared {
		had := s.volumes[m.id]
		if s.volumes == nil {
			s.volumes = map[string]int{}
		}
		s.volumes[m.id] += n
		d.undo.mounted(slot, m.id, n)
		switch {
		case had == 0:
			s.free[m.column]--
		case s.volumes[m.id] == 0:
			s.free[m.column]++
		}
	}
	d.rooms.set(int(slot), s.free)
}
