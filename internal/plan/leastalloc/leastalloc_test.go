package leastalloc

import (
	"math/rand/v2"
	"testing"
)

// TestTheBestIsWhatLookingAtAllSays plays many changes, and looks at all places each time.
func TestTheBestIsWhatLookingAtAllSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	wholes := []Amounts{{2000, 8 << 30}, {8000, 32 << 30}, {8000, 16 << 30}, {0, 0}}
	var q Queue
	type machine struct {
		whole, free Amounts
		offered     bool
	}
	var all []machine
	some := func(w Amounts) Amounts { return Amounts{r.Int64N(w[0] + 1), r.Int64N(w[1] + 1)} }
	best := func(pod Amounts) (place int32, ok bool) {
		most := 0.0
		for i, m := range all {
			x, y := float64(max(m.whole[0], 1)), float64(max(m.whole[1], 1))
			free := float64(m.free[0])/x + float64(m.free[1])/y
			free -= float64(pod[0])/x + float64(pod[1])/y
			if m.offered && (!ok || free > most) {
				place, most, ok = int32(i), free, true
			}
		}
		return place, ok
	}
	for range 5_000 {
		switch i := r.IntN(max(len(all), 1)); r.IntN(6) {
		case 0:
			m := machine{whole: wholes[r.IntN(len(wholes))], offered: true}
			m.free = some(m.whole)
			q.Add(m.whole, m.free)
			all = append(all, m)
		case 1:
			if len(all) > 0 {
				q.Remove(int32(i))
				all[i].offered = false
			}
		case 2:
			if len(all) > 0 {
				q.Offer(int32(i))
				all[i].offered = true
			}
		case 3:
			if r.IntN(20) == 0 {
				q.Forget(i)
				all = all[:min(i, len(all))]
			}
		default:
			if len(all) > 0 {
				all[i].free = some(all[i].whole)
				q.Set(int32(i), all[i].free)
			}
		}
		pod := some(Amounts{4000, 16 << 30})
		place, ok := q.Best(pod)
		if want, any := best(pod); place != want || ok != any {
			t.Fatalf("%d places: %d %v, want %d %v", len(all), place, ok, want, any)
		}
	}
}

// TestALargePodGoesWhereItLeavesMoreFree: nothing is on the small machine, and a fifth of the large one is taken.
func TestALargePodGoesWhereItLeavesMoreFree(t *testing.T) {
	var q Queue
	q.Add(Amounts{4000, 16 << 30}, Amounts{4000, 16 << 30})
	q.Add(Amounts{16000, 64 << 30}, Amounts{12800, 51 << 30})
	for pod, want := range map[Amounts]int32{{100, 256 << 20}: 0, {3000, 8 << 30}: 1} {
		if got, _ := q.Best(pod); got != want {
			t.Errorf("%v goes to %d, want %d", pod, got, want)
		}
	}
}

// TestSizesAreForgottenWithTheirPlaces: each question may buy other machines, and Best looks at every size.
func TestSizesAreForgottenWithTheirPlaces(t *testing.T) {
	var q Queue
	whole := func(cpu int64) Amounts { return Amounts{cpu, 1 << 30} }
	q.Add(whole(1000), whole(1000))
	for cpu := range int64(100) {
		q.Add(whole(2000+cpu), whole(2000+cpu))
		q.Add(whole(1000), whole(1000))
		q.Forget(1)
	}
	if len(q.sizes) != 1 || len(q.index) != 1 {
		t.Errorf("%d sizes are looked at for one place", len(q.sizes))
	}
}
