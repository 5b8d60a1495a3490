package portfolio

import "slices"

// A guide says what one pod of each group is worth, in 1024ths of a micro-dollar per hour. Filling buys the machines whose pods are
// worth most for their price, so a better guide makes a cheaper draft.

const (
	// How often a guide is corrected by the draft that it led to: the first times always, the others while the budget lasts.
	minLessons, maxLessons = 1, 6
	// closeEnough: a draft at most one part in so many above the bound is not worth more work.
	closeEnough = 500
	// shadowSteps is how many ways to split the price of machines between cpu and memory are tried.
	shadowSteps = 64
)

// learned fills machines by one guide after another and returns the best draft with its guide. It begins with prices per amount and
// with what pods cost among their like, and corrects both by what became of the pods, until the budget is spent.
func (p *Packer) learned(want []int, budget int) (best *Draft, guide []int64) {
	end := p.Steps - budget
	shadow, bound := p.shadow(want)
	kinds := 0 // of pods; where all are alike, there is nothing that one of them could be worth beside another
	for _, n := range want {
		kinds += min(n, 1)
	}
	for start := range 2 {
		worth := shadow
		if start > 0 {
			worth = p.alone(want)
		}
		for lesson := range 1 + maxLessons {
			d := p.fill(want, worth)
			if best == nil || d.Better(best) {
				best, guide = d, worth
			}
			if kinds < 2 || !p.uses(severalGuides) || p.Steps <= end && start+lesson >= minLessons || best.Missed == 0 && best.Price <= bound+bound/closeEnough {
				return best, guide
			}
			worth = p.lesson(d, worth)
		}
	}
	return best, guide
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

// shadow is another guide: prices of cpu and memory at which no machine holds more than it costs, chosen so that the
// waiting pods are worth as much as possible (the dual of buying by the slice). No draft costs less than bound, in micro-dollars.
func (p *Packer) shadow(want []int) (worth []int64, bound int64) {
	const cpu, memory = 0, 1 // columns of vec
	worth = make([]int64, len(want))
	most, sum := -1.0, [2]float64{}
	for i := range p.Choices {
		c := &p.Choices[i]
		if x := float64(c.Price) / float64(max(c.Room[cpu], 1)); most < 0 || x < most {
			most = x
		}
	}
	for g, n := range want {
		sum[0] += float64(n) * float64(p.Sizes[g][cpu])
		sum[1] += float64(n) * float64(p.Sizes[g][memory])
	}
	type line struct{ price, cpu, memory float64 }
	var lines []line // of choices that are not like the one before
	for i := range p.Choices {
		c := &p.Choices[i]
		l := line{float64(c.Price), float64(c.Room[cpu]), float64(max(c.Room[memory], 1))}
		if n := len(lines); n == 0 || lines[n-1] != l {
			lines = append(lines, l)
		}
	}
	best, bestU, bestV := -1.0, 0.0, 0.0
	for i := range shadowSteps + 1 {
		u, v := most*float64(i)/shadowSteps, -1.0
		for i := range lines {
			l := &lines[i]
			if x := max(0, (l.price-u*l.cpu)/l.memory); v < 0 || x < v {
				v = x
			}
		}
		if w := u*sum[0] + v*sum[1]; w > best {
			best, bestU, bestV = w, u, v
		}
	}
	for g := range want {
		worth[g] = max(1, int64(1024*(bestU*float64(p.Sizes[g][cpu])+bestV*float64(p.Sizes[g][memory]))))
	}
	return worth, int64(best)
}
