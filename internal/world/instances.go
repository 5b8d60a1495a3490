package world

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// glance is what one look at one machine showed.
type glance struct {
	at   time.Time
	what *model.Instance // nil: the cloud had no such machine
}

// glancesFor is how long a look is remembered once a younger list has overtaken it.
const glancesFor = 10 * time.Minute

// SetInstances replaces the cloud's list; at is when the list was asked for. A list older than the one it has is
// ignored, and machines that were looked at since it was asked for stay as they were seen. It wakes subscribers even when the
// list is the same, because an absence is believed only from a list young enough: so do not list in answer to every wake-up.
func (w *World) SetInstances(list []model.Instance, at time.Time) {
	sorted := slices.Clone(list)
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.Before(w.listedAt) {
		return
	}
	for id, g := range w.looks {
		switch {
		case g.at.After(at):
			sorted = slices.DeleteFunc(sorted, func(i model.Instance) bool { return i.ID == id })
			if g.what != nil {
				sorted = append(sorted, *g.what)
			}
		case at.Sub(g.at) > glancesFor:
			delete(w.looks, id)
		}
	}
	w.replace(sorted)
	w.listedAt = at
	w.changed(Instances)
}

// SetInstance notes what a look at one machine showed, nil when the cloud has no such machine; at is when it was asked for. What is
// older than what is known is ignored. Subscribers are woken when the machine has changed or is absent. O(machines).
func (w *World) SetInstance(id string, what *model.Instance, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.Before(w.looks[id].at) || at.Before(w.listedAt) {
		return
	}
	if w.looks == nil {
		w.looks = map[string]glance{}
	}
	w.looks[id] = glance{at: at, what: what}
	next := slices.DeleteFunc(slices.Clone(w.instances), func(i model.Instance) bool { return i.ID == id })
	if what != nil {
		next = append(next, *what)
	}
	if w.replace(next) || what == nil {
		w.changed(Instances)
	}
}

// replace takes over the list, which it may sort, and reports whether it differs. Called with mu held.
func (w *World) replace(list []model.Instance) bool {
	slices.SortFunc(list, func(a, b model.Instance) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	if len(w.instances)+len(list) == 0 || reflect.DeepEqual(w.instances, list) {
		return false
	}
	w.instances = list
	return true
}

// ListedAt is when the cloud's list was asked for; zero before the first.
func (w *World) ListedAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listedAt
}

// SeenAt is when the cloud was last asked about the machine, by a list or by a look at it; zero before the first list, because without
// one nobody knows what else there is.
func (w *World) SeenAt(id string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.looks[id].at; !w.listedAt.IsZero() && at.After(w.listedAt) {
		return at
	}
	return w.listedAt
}

// LookedAt is when the machine itself was last looked at, which shows more than a list; zero when that is long ago.
func (w *World) LookedAt(id string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks[id].at
}
