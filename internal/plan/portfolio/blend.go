package portfolio

import "slices"

const (
	// wellFilled: a machine of the mix whose pods are worth this part of its price is bought without looking at others.
	wellFilled = 0.995
	// asGood: machines whose worth for their price differs by less are as good as each other; the mix decides.
	asGood = 0.005
	// part of a pattern's repeats that are bought before the mix is asked again.
	atOnce = 8
)

// blender fills machines in the mix that the program of slices asks for.
type blender struct {
	*filler
	mix      *sliced
	patterns []pattern
	tried    []int         // per pattern: the choice that it is built for
	built    []int         // per pattern: the prices that it was built for
	prices   int           // how often prices changed
	at       []int         // per choice: 1 + its pattern
	twins    map[int][]int // by choice: those that like lists
	bought   []int         // per choice: machines
}

// blend buys machines in the mix that the program of slices asks for, and asks anew as pods run out. Filling by worth alone buys whatever
// can be filled best first, and is left with pods that are all alike: much memory for few cores, say, which no machine takes without
// waste. Keeping to the mix, what is left stays as mixed as it was. nil when it cannot be better than the draft to beat. The program is used
// up.
func (p *Packer) blend(want []int, mix *sliced, beat *Draft) *Draft {
	b := &blender{mix: mix, at: make([]int, len(p.Choices)), twins: map[int][]int{}, bought: make([]int, len(p.Choices))}
	b.filler = p.newFiller(want, mix.prices(want))
	for _, ci := range b.tries {
		b.of(int(ci))
	}
	d := &Draft{}
	for spent := int64(0); ; {
		if beat.Missed == 0 && spent+b.mix.bound() >= beat.Price {
			return nil
		}
		i := b.pick()
		if i < 0 {
			return p.settle(d, want)
		}
		pt := &b.patterns[i]
		spent += p.Choices[pt.choice].Price * int64(b.take(d, pt))
		if p.Steps < 0 {
			return nil
		}
	}
}

// of returns the pattern of a choice.
func (b *blender) of(ci int) int {
	if b.at[ci] == 0 {
		b.patterns, b.tried, b.built = append(b.patterns, pattern{}), append(b.tried, ci), append(b.built, -1)
		if n := len(b.patterns); n <= len(b.scratch) {
			b.patterns[n-1].loads = b.scratch[n-1].loads[:0]
		}
		b.at[ci] = len(b.patterns)
	}
	return b.at[ci] - 1
}

// ready builds a pattern anew if it does not go any more, and reports whether there is one.
func (b *blender) ready(i int) bool {
	pt := &b.patterns[i]
	if !pt.known || len(pt.loads) > 0 && !b.goes(pt) {
		b.build(pt, b.tried[i])
		b.built[i] = b.prices
	}
	return len(pt.loads) > 0
}

// ratio is what a pattern is worth for its price: never above 1 by much; 2 when that is not known yet.
func (b *blender) ratio(i int) float64 {
	pt := &b.patterns[i]
	if !pt.known {
		return 2
	}
	return float64(pt.worth) / 1024 / float64(max(b.Choices[pt.choice].Price, 1))
}

// pick names the pattern to buy next, -1 when nothing goes.
func (b *blender) pick() int {
	if i := b.wanted(); i >= 0 {
		if b.ready(i) && b.ratio(i) < wellFilled && b.built[i] != b.prices {
			b.patterns[i].known = false // it was built for other prices
		}
		if b.ready(i) && b.ratio(i) >= wellFilled {
			return i
		}
	}
	best := b.densest()
	if best < 0 {
		return -1
	}
	least, most := b.ratio(best)*(1-asGood), b.spent(best)
	for i := range b.patterns {
		if pt := &b.patterns[i]; pt.known && len(pt.loads) > 0 && b.ratio(i) >= least {
			if v := b.spent(i); v > most && b.ready(i) && b.ratio(i) >= least {
				best, most = i, v
			}
		}
	}
	return best
}

// wanted is the pattern of the choice for which the mix still spends most.
func (b *blender) wanted() int {
	best, most := -1, 0.0
	for row, ci := range b.mix.basis {
		if v := b.mix.x[row] * b.mix.cost[row]; ci >= 0 && v > most {
			best, most = ci, v
		}
	}
	if best < 0 {
		return -1
	}
	return b.of(b.rarest(best))
}

// rarest is, of choices that cost and hold the same and are filled well, as machines of one size in several zones are, the one of which the fewest machines
// were bought. To the mix one is as good as another, so it takes the first for all pods that may go anywhere. With a pod or two
// beside them that may not, nearly all machines would be in that zone, and, of spot machines, of one spot pool.
func (b *blender) rarest(ci int) int {
	best := ci
	for _, o := range b.like(ci) {
		if i := b.of(o); b.bought[o] < b.bought[best] && b.ready(i) && b.ratio(i) >= wellFilled {
			best = o
		}
	}
	return best
}

// like lists the choices that cost and hold what the choice does, whoever they take.
func (b *blender) like(ci int) []int {
	if list, ok := b.twins[ci]; ok {
		return list
	}
	var out []int
	c := &b.Choices[ci]
	for _, t := range b.tries {
		if o := &b.Choices[t]; o.Price == c.Price && o.Seller == c.Seller && slices.Equal(o.Room, c.Room) && slices.Equal(o.Cost, c.Cost) {
			out = append(out, int(t))
		}
	}
	b.twins[ci] = out
	return out
}

// densest is the pattern with most worth for its price.
func (b *blender) densest() int {
	for {
		best := -1
		for i := range b.patterns {
			if pt := &b.patterns[i]; (!pt.known || len(pt.loads) > 0) && (best < 0 || b.ratio(i) > b.ratio(best)) {
				best = i
			}
		}
		if best < 0 || b.patterns[best].known && b.goes(&b.patterns[best]) {
			return best
		}
		b.ready(best)
	}
}

// spent is what the mix spends on a pattern's choice.
func (b *blender) spent(i int) float64 {
	sum := 0.0
	for row, ci := range b.mix.basis {
		if ci == b.patterns[i].choice {
			sum += b.mix.x[row] * b.mix.cost[row]
		}
	}
	return sum
}

// take buys a pattern, more than once where it goes many times, and asks for prices of what is left. It returns how often.
func (b *blender) take(d *Draft, pt *pattern) int {
	times := b.buy(d, pt, atOnce)
	b.bought[pt.choice] += times
	if !b.mix.less(pt.loads, times) {
		return times
	}
	b.prices++
	b.mix.worth(b.left, b.worth)
	for i := range b.patterns {
		pt := &b.patterns[i]
		pt.worth = 0
		for _, l := range pt.loads {
			pt.worth += b.worth[l.Group] * int64(l.N)
		}
	}
	return times
}
