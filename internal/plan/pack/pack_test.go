package pack

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// sound says what is wrong with a packing.
func sound(in Input, out Packing) error {
	left := make([]int, len(in.Items))
	price := int64(0)
	for g, x := range in.Items {
		left[g] = x.Count
	}
	for _, p := range out.Patterns {
		b := in.Bins[p.Bin]
		price += b.Price * int64(p.Times)
		for r, room := range b.Room {
			used := int64(0)
			for _, l := range p.Loads {
				used += in.Items[l.Item].Size[r] * int64(l.N)
			}
			if used > room {
				return fmt.Errorf("pattern %v puts %d of resource %d into %d", p, used, r, room)
			}
		}
		counts, limits := map[int32]int32{}, map[int32]int32{}
		for _, l := range p.Loads {
			if left[l.Item] -= l.N * p.Times; l.N <= 0 || !b.takes(in.Items[l.Item].Kind) {
				return fmt.Errorf("pattern %v has %d of item %d", p, l.N, l.Item)
			}
			for _, t := range in.Items[l.Item].Ties {
				counts[t.Count] += t.Adds * int32(l.N)
				if limit, known := limits[t.Count]; !known || t.Limit < limit {
					limits[t.Count] = t.Limit
				}
			}
		}
		for c, limit := range limits {
			if counts[c] > limit {
				return fmt.Errorf("pattern %v counts %d where %d are borne", p, counts[c], limit)
			}
		}
	}
	if !reflect.DeepEqual(left, out.Left) || price != out.Price {
		return fmt.Errorf("%v left, %d paid; the patterns say %v and %d", out.Left, out.Price, left, price)
	}
	return nil
}

// drawn is a random question over bins of a few families. Items of other kinds suit some bins only; some are tied.
func drawn(r *rand.Rand, items, count int) Input {
	in := Input{Steps: 2_000_000}
	for size := int64(1); size <= 4; size++ {
		for family := range int64(3) {
			takes := []uint64{1}
			if family == 0 || r.IntN(2) == 0 {
				takes[0] |= 2
			}
			in.Bins = append(in.Bins, Bin{Room: []int64{size * 10, size * (10 + 15*family), 8}, Price: size*(30+8*family) + r.Int64N(4), Takes: takes})
		}
	}
	for range items {
		x := Item{Size: []int64{1 + r.Int64N(12), 1 + r.Int64N(20), 1}, Count: 1 + r.IntN(count), Kind: r.IntN(2)}
		if r.IntN(4) == 0 {
			x.Ties = []Tie{{Count: int32(r.IntN(2)), Adds: int32(r.IntN(2)), Limit: int32(r.IntN(3))}}
		}
		in.Items = append(in.Items, x)
	}
	return in
}

// cheapest tries every way to fill one bin after the other, for a handful of items.
func cheapest(in Input) int64 {
	memo := map[string]int64{}
	var best func(left []int) int64
	best = func(left []int) int64 {
		first := -1
		for g, n := range left {
			if n > 0 {
				first = g
				break
			}
		}
		if first < 0 {
			return 0
		}
		key := fmt.Sprint(left)
		if v, known := memo[key]; known {
			return v
		}
		least := int64(1 << 50)
		for bi := range in.Bins {
			var fill func(g int, loads []Load)
			fill = func(g int, loads []Load) {
				if g == len(left) {
					next := append([]int(nil), left...)
					some := false
					for _, l := range loads {
						next[l.Item] -= l.N
						some = some || l.Item == first
					}
					one := Packing{Patterns: []Pattern{{bi, loads, 1}}, Left: make([]int, len(left)), Price: in.Bins[bi].Price}
					for i := range left {
						one.Left[i] = in.Items[i].Count
					}
					for _, l := range loads {
						one.Left[l.Item] -= l.N
					}
					if some && sound(in, one) == nil {
						least = min(least, in.Bins[bi].Price+best(next))
					}
					return
				}
				fill(g+1, loads)
				for n := 1; n <= left[g]; n++ {
					fill(g+1, append(loads[:len(loads):len(loads)], Load{g, n}))
				}
			}
			fill(0, nil)
		}
		memo[key] = least
		return least
	}
	left := make([]int, len(in.Items))
	for g, x := range in.Items {
		left[g] = x.Count
	}
	return best(left)
}

// TestPackingsAreSound: whatever the question, no bin holds more than it has room for, takes what it does not take, or breaks a tie; and the
// bound is not above the price.
func TestPackingsAreSound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 120 {
		in := drawn(r, 1+r.IntN(30), 1+r.IntN(40))
		in.Steps >>= r.IntN(16)
		out := Pack(in)
		if err := sound(in, out); err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
		if all := !some(out.Left); all && out.Bound > out.Price {
			t.Fatalf("question %d: packed for %d, though it cannot cost less than %d", i, out.Price, out.Bound)
		}
		if again := Pack(in); !reflect.DeepEqual(out, again) {
			t.Fatalf("question %d has two answers", i)
		}
	}
}

func some(left []int) bool {
	for _, n := range left {
		if n > 0 {
			return true
		}
	}
	return false
}

// TestSmallPackingsAreNearTheBest compares with every way there is: the bound is never above it, the price 5 % on average at most
// (whoever has a handful of items can look at every way).
func TestSmallPackingsAreNearTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	sum, best := int64(0), int64(0)
	for i := range 60 {
		in := drawn(r, 3, 3)
		out, least := Pack(in), cheapest(in)
		if some(out.Left) {
			continue // what no bin takes
		}
		if out.Bound > least || out.Price < least {
			t.Fatalf("question %d: bound %d, best %d, packed for %d", i, out.Bound, least, out.Price)
		}
		sum, best = sum+out.Price, best+least
	}
	t.Logf("%d, at best %d", sum, best)
	if best == 0 || float64(sum) > 1.05*float64(best) {
		t.Errorf("packed for %d, at best %d", sum, best)
	}
}

// TestFullBinsAreFound: bins are cut into items without a rest, so the best packing is known: those bins. At most 3 % more is paid, and 1 %
// on average.
func TestFullBinsAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	sum, best := int64(0), int64(0)
	for range 12 {
		in := Input{Steps: 2_000_000, Bins: []Bin{{Room: []int64{1600, 6400}, Price: 100, Takes: []uint64{1}}, {Room: []int64{3200, 6400}, Price: 160, Takes: []uint64{1}}}}
		known := int64(0)
		for range 8 {
			b, times := in.Bins[r.IntN(2)], 3+r.IntN(10)
			known += b.Price * int64(times)
			cpu, memory := b.Room[0], b.Room[1]
			for parts := 2 + r.IntN(3); parts > 0; parts-- {
				x := Item{Size: []int64{cpu, memory}, Count: times}
				if parts > 1 {
					x.Size = []int64{cpu/4 + r.Int64N(cpu/2), memory/4 + r.Int64N(memory/2)}
				}
				cpu, memory = cpu-x.Size[0], memory-x.Size[1]
				in.Items = append(in.Items, x)
			}
		}
		out := Pack(in)
		if err := sound(in, out); err != nil || some(out.Left) {
			t.Fatalf("%v; left over %v", err, out.Left)
		}
		sum, best = sum+out.Price, best+known
		if float64(out.Price) > 1.03*float64(known) {
			t.Errorf("packed for %d, known is %d, bound %d", out.Price, known, out.Bound)
		}
	}
	t.Logf("%d, known is %d", sum, best)
	if float64(sum) > 1.01*float64(best) {
		t.Errorf("packed for %d, known is %d", sum, best)
	}
}

// TestMoreStepsAreNeverDearer: work goes the same way however much of it there is; and what is known already is never made dearer.
func TestMoreStepsAreNeverDearer(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	cheaper := 0
	for i := range 6 {
		in := drawn(r, 40, 12)
		last := Packing{}
		for in.Steps = 300_000; in.Steps <= 4_800_000; in.Steps *= 2 {
			out := Pack(in)
			if missing(last.Left) == missing(out.Left) && last.Patterns != nil && out.Price > last.Price || last.Patterns != nil && missing(out.Left) > missing(last.Left) {
				t.Fatalf("question %d: %d for %d steps, %d for half as many", i, out.Price, in.Steps, last.Price)
			}
			if out.Price < last.Price {
				cheaper++
			}
			last = out
		}
		in.Start, in.Steps = last.Patterns, 400_000
		if out := Pack(in); out.Price > last.Price || missing(out.Left) > missing(last.Left) {
			t.Errorf("question %d: %d, though %d was known", i, out.Price, last.Price)
		}
	}
	if cheaper == 0 {
		t.Error("more steps never helped: nothing was asked")
	}
}
