package control

import "time"

// window gathers waiting pods into a batch. It opens with the first pod nobody has planned for yet and closes when the
// queue is quiet: when nothing new came for several times the gap that pods have been keeping, or for idle, or when it
// has been open for the longest time allowed. A burst therefore closes within a quarter of a second after its last pod,
// while a trickle is gathered for as long as users configured. So is what kube-scheduler has yet to look at: as long as it finds pods that fit nowhere
// while others of unknown fate stand behind them, a plan would be for a part of the burst.
type window struct {
	opened, last time.Time
	gap          time.Duration // longest gap between arrivals so far
	seen         int
}

const (
	// quietest is the least time without new pods that counts as quiet: kube-scheduler marks the pods of one
	// deployment a few milliseconds apart, seldom more than a hundred.
	quietest = 250 * time.Millisecond
	// patience is how many times the longest gap must pass before the queue counts as quiet.
	patience = 4
)

// observe notes that fresh pods arrived at now; zero changes nothing.
func (w *window) observe(now time.Time, fresh int) {
	if fresh == 0 {
		return
	}
	if w.seen == 0 {
		w.opened = now
	} else {
		w.gap = max(w.gap, now.Sub(w.last))
	}
	w.last = now
	w.seen += fresh
}

// wait returns how long the window stays open after now; zero or less means it is due. A window without pods is
// never due and reports false. more says that there are pods which kube-scheduler has yet to look at.
func (w *window) wait(now time.Time, idle, longest time.Duration, more bool) (time.Duration, bool) {
	if w.seen == 0 {
		return 0, false
	}
	quiet := min(idle, max(quietest, patience*w.gap))
	if more {
		quiet = idle
	}
	return min(w.last.Add(quiet).Sub(now), w.opened.Add(longest).Sub(now)), true
}

// close empties the window.
func (w *window) close() { *w = window{} }
