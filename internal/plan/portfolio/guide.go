package portfolio

import "slices"

// A guide says what one pod of each group is worth, in 1024ths of a micro-dollar per hour. Filling buys the machines whose pods are
// worth most for their price, so a better guide makes a cheaper draft.

const (
	// How often a guide is corrected by the draft that it led to: the first time always, the others while the budget lasts.
	minLessons, maxLessons = 1, 6
	// closeEnough: a draft at most one part in so many above the bound is not worth more work.
	closeEnough = 500
)

// learned fills machines by one guide after another and returns the best draft with its guide, and what no draft costs less than. It
// begins with prices by the slice, as pods are confined and as if they could all go anywhere, and ends with what pods cost among their
// like. It corrects each by what became of the pods, as long as the budget lasts, and stops where a draft costs hardly more than the bound.
func (p *Packer) learned(want []int, budget int) (best *Draft, guide []int64, bound int64) {
	confined, bound := p.bySlice(want, maxFamilies)
	end := p.Steps - budget
	kinds := 0 // of pods; where all are alike, there is nothing that one of them could be worth beside another
	for _, n := range want {
		kinds += min(n, 1)
	}
	for start := range 3 {
		worth := confined
		switch start {
		case 1:
			if worth, _ = p.bySlice(want, 1); slices.Equal(worth, confined) {
				continue
			}
		case 2:
			if p.Steps <= end {
				continue
			}
			worth = p.alone(want)
		}
		for lesson := range 1 + maxLessons {
			d := p.fill(want, worth)
			if best == nil || d.Better(best) {
				best, guide = d, worth
			}
			if kinds < 2 || !p.uses(severalGuides) || best.Missed == 0 && best.Price <= bound+bound/closeEnough {
				return best, guide, bound
			}
			if p.Steps <= end && lesson >= minLessons {
				break
			}
			worth = p.lesson(d, worth)
		}
	}
	return best, guide, bound
}

// lesson corrects a guide by the draft that it led to. Pods on machines that cost more than their pods are worth were dearer than
// thought: they are taken to be worth what they cost there, so that next time they are put where they cost less.
func (p *Packer) lesson(d *Draft, worth []int64) []int64 {
	cost, placed := make([]float64, len(worth)), make([]int, len(worth))
	for _, b := range d.Bins {
		sum := int64(0)
		for _, l := range b.Loads {
			sum += worth[l.Group] * int64(l.N)
		}
		ratio := float64(p.Choices[b.Choice].Price) * 1024 / float64(max(sum, 1))
		for _, l := range b.Loads {
			cost[l.Group] += ratio * float64(l.N)
			placed[l.Group] += l.N
		}
	}
	out := slices.Clone(worth)
	for g, n := range placed {
		if n > 0 {
			out[g] = max(1, int64(float64(worth[g])*cost[g]/float64(n)))
		}
	}
	return out
}

// alone is a guide: a pod's share of the best machine filled with its like without end.
func (p *Packer) alone(want []int) []int64 {
	out := make([]int64, len(want))
	lay := p.arranged(want)
	for g, n := range want {
		if n == 0 {
			continue
		}
		for _, m := range lay.takers[p.Kinds[g]] {
			for _, ci := range lay.markets[m].tries {
				c := &p.Choices[ci]
				if k := int64(c.Room.Times(p.Sizes[g], 1<<20)); k > 0 {
					if v := max(c.Price, 1) * 1024 / k; out[g] == 0 || v < out[g] {
						out[g] = max(v, 1)
					}
				}
			}
		}
	}
	return out
}
