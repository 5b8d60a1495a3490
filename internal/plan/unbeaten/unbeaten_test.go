package unbeaten

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/bitset"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
)

// pruneAll is Of as its comment says it: each option is compared with all before it.
func pruneAll(options []Option) []int {
	var out []int
	for i, c := range options {
		beaten := slices.ContainsFunc(out, func(j int) bool {
			o := options[j]
			return o.Room.Covers(c.Room) && o.Seller == c.Seller && c.Cost.Covers(o.Cost) &&
				c.Takes.Within(o.Takes) && (o.Free == c.Free || o.Free == 0)
		})
		if !beaten {
			out = append(out, i)
		}
	}
	return out
}

// TestPruneKeepsWhatNothingBeats holds Of against that, on options of several sellers and flavours.
func TestPruneKeepsWhatNothingBeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dropped := 0
	for n := range 300 {
		options := make([]Option, n)
		for i := range options {
			options[i] = Option{
				Seller: r.IntN(3), Free: r.IntN(4),
				Room:  vec.Vec{r.Int64N(20), r.Int64N(20)},
				Cost:  vec.Vec{r.Int64N(2)},
				Takes: bitset.Set{r.Uint64N(8)},
			}
		}
		want := pruneAll(options)
		got, _ := Of(n, func(i int) *Option { return &options[i] }, maxSteps)
		if !slices.Equal(got, want) {
			t.Fatalf("of %d options it keeps %v, want %v", n, got, want)
		}
		dropped += n - len(got)
	}
	if dropped < 1000 {
		t.Errorf("%d options were dropped: there is little to compare", dropped)
	}
}

// TestFlavoursArePrunedApart counts how often options are looked at: eight times the flavours take
// eight times the looks, and not sixty-four.
func TestFlavoursArePrunedApart(t *testing.T) {
	looks := func(flavours int) (n int) {
		const sizes = 40
		Of(flavours*sizes, func(i int) *Option {
			n++
			size, free := int64(i/flavours), 1+i%flavours
			return &Option{Free: free, Room: vec.Vec{size, sizes - size}, Cost: vec.Vec{0},
				Takes: bitset.Set{1}}
		}, maxSteps)
		return n
	}
	few, many := looks(10), looks(80)
	if many > 10*few {
		t.Errorf("%d looks for 10 flavours, %d for 80", few, many)
	}
}

// TestStepsBoundTheComparisons: with few steps it looks no more often than these allow, says how many
// it took, and keeps whatever it would keep with more.
func TestStepsBoundTheComparisons(t *testing.T) {
	const n = 20_000
	options := make([]Option, n)
	for i := range options {
		options[i] = Option{
			Room: vec.Vec{int64(i), int64(n - i)}, Cost: vec.Vec{0}, Takes: bitset.Set{1},
		}
	}
	look := func(steps int) (kept, took, looks int) {
		list, took := Of(n, func(i int) *Option { looks++; return &options[i] }, steps)
		return len(list), took, looks
	}
	for _, steps := range []int{0, 1, 100, 10_000} {
		kept, took, looks := look(steps)
		atMost := steps + n/Block
		if kept != n || took > atMost || looks > n+atMost*PerStep {
			t.Errorf("with %d steps it took %d, looked %d times, and kept %d of %d",
				steps, took, looks, kept, n)
		}
	}
	if _, took, _ := look(maxSteps); took < 50_000 {
		t.Errorf("without a bound it took %d steps: there is little to bound", took)
	}
}
