package control

import (
	"testing"
	"time"
)

// TestWindowClosesWhenTheQueueIsQuiet plays arrivals (milliseconds after the start) and says when the window is due.
func TestWindowClosesWhenTheQueueIsQuiet(t *testing.T) {
	const idle, longest = time.Second, 10 * time.Second
	every := func(gap, until int) []int {
		var out []int
		for at := 0; at <= until; at += gap {
			out = append(out, at)
		}
		return out
	}
	for name, x := range map[string]struct {
		arrivals []int
		more     int // until when kube-scheduler has yet to look at pods
		due      int
	}{
		"one pod waits a quarter of a second":                    {[]int{0}, 0, 250},
		"a burst closes a quarter after its last pod":            {[]int{0, 5, 10, 15, 20}, 0, 270},
		"a slower stream is given four times its gap":            {every(100, 500), 0, 900},
		"growing gaps are given the configured idle time":        {[]int{0, 200, 700}, 0, 1700},
		"while kube-scheduler is busy, the configured idle time": {[]int{0, 300, 900}, 30_000, 1900},
		"until it is done": {[]int{0, 100, 200}, 700, 700},
		"what never ends is cut at the configured most": {every(200, 20_000), 0, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			var w window
			if _, open := w.wait(start, idle, longest, false); open {
				t.Fatal("an empty window is open")
			}
			due := -1
			for ms, next := 0, 0; ms <= 30_000; ms++ {
				now := start.Add(time.Duration(ms) * time.Millisecond)
				if next < len(x.arrivals) && x.arrivals[next] == ms {
					w.observe(now, 1)
					next++
				}
				if d, open := w.wait(now, idle, longest, ms < x.more); open && d <= 0 {
					due = ms
					break
				}
			}
			if due != x.due {
				t.Errorf("due after %d ms, want %d", due, x.due)
			}
		})
	}
}
