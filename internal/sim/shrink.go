package sim

import (
	"slices"
	"time"
)

// Shrink makes a story shorter as long as it still fails: acts are left out, in halves, quarters and one by one, then times are rounded. fails is asked some dozen times.
func Shrink(st Story, fails func(Story) bool) Story {
	for size := len(st.Acts) / 2; size > 0; size /= 2 {
		for at := 0; at < len(st.Acts); {
			less := st
			less.Acts = slices.Delete(slices.Clone(st.Acts), at, min(at+size, len(st.Acts)))
			if fails(less) {
				st = less
			} else {
				at += size
			}
		}
	}
	for i := range st.Acts {
		for _, unit := range []time.Duration{time.Minute, 10 * time.Second, time.Second} {
			rounded := st
			rounded.Acts = slices.Clone(st.Acts)
			rounded.Acts[i].At = st.Acts[i].At.Round(unit)
			sorted := slices.IsSortedFunc(rounded.Acts, func(a, b Act) int { return int(a.At - b.At) })
			if rounded.Acts[i].At != st.Acts[i].At && sorted && fails(rounded) {
				st = rounded
				break
			}
		}
	}
	return st
}
