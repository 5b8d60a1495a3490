package portfolio

import (
	"math/rand"
	"testing"
)

// loosely puts pods onto machines drawn by lot, few onto each.
func loosely(p *Packer, want []int, r *rand.Rand) *Draft {
	d := &Draft{}
	for g, n := range want {
		for n > 0 {
			ci := r.Intn(len(p.Choices))
			k := min(n, 1+r.Intn(3), p.Choices[ci].Room.Times(p.Sizes[g], n))
			if k > 0 && p.takes(ci, g) {
				d.Bins, n = append(d.Bins, Bin{ci, []Load{{g, k}}}), n-k
			}
		}
	}
	return d
}

// TestAnExchangeKeepsAllPodsAndNoEmptyMachine exchanges pods of drafts, of which some are let in one after the other in their zone:
// no pod is lost, no machine holds more than it has room for, and none is bought for nobody.
func TestAnExchangeKeepsAllPodsAndNoEmptyMachine(t *testing.T) {
	emptied, moved := 0, 0
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		p, want := mixed(r)
		p.Arrivals = make([]Arrival, len(want))
		for g, kind := range p.Kinds {
			switch {
			case len(p.Ties[g]) > 0:
				p.Arrivals[g].How = Fixed
			case kind > 0:
				p.Arrivals[g] = Arrival{How: InTurn, Where: string(rune('0' + kind))}
			}
			if want[g] %= 8; len(p.Ties[g]) > 0 {
				want[g] = 0
			}
		}
		d := p.settle(loosely(p, want, r), want)
		bins, price := len(d.Bins), d.Price
		p.Separate(d)
		sum, left := int64(0), append([]int(nil), want...)
		for i, b := range d.Bins {
			room := p.Choices[b.Choice].Room.Clone()
			for _, l := range b.Loads {
				left[l.Group] -= l.N
				room.Take(p.Sizes[l.Group], l.N)
			}
			if len(b.Loads) == 0 {
				t.Errorf("seed %d: machine %d is bought for nobody", seed, i)
			}
			for j := range room {
				if room[j] < 0 {
					t.Errorf("seed %d: machine %d holds more than it has room for", seed, i)
				}
			}
			sum += p.Choices[b.Choice].Price
		}
		for g, n := range left {
			if n != d.Left[g] {
				t.Errorf("seed %d: %d pods of group %d are lost, and %d are said to be left", seed, n, g, d.Left[g])
			}
		}
		if sum != d.Price || d.Price > price {
			t.Errorf("seed %d: the machines cost %d, the draft says %d, and said %d before", seed, sum, d.Price, price)
		}
		emptied += bins - len(d.Bins)
		if d.Price < price {
			moved++
		}
	}
	if emptied == 0 {
		t.Errorf("no machine was emptied: there is little to judge")
	}
	t.Logf("%d machines were emptied in %d drafts", emptied, moved)
}
