package world

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// revision names one template that a DaemonSet had.
type revision struct{ namespace, name string }

// crews counts the live pods of revisions by what they ask for.
type crews map[revision]map[string]*crew

// crew is live pods of one revision that ask for the same.
type crew struct {
	requests model.Resources
	n        int
}

// count takes in a pod n times, and reports whether that adds something to ask for or takes it away.
func (c crews) count(p *model.Pod, n int) bool {
	if p == nil || p.Revision == "" || !p.DaemonSet || p.Terminal || p.Deleting() {
		return false
	}
	at, r := revision{p.Namespace, p.Revision}, p.Requests
	key := fmt.Sprint(r.CPU, r.Memory, r.Ephemeral, r.Pods, r.Extended)
	if c[at] == nil {
		c[at] = map[string]*crew{}
	}
	x := c[at][key]
	if x == nil {
		x = &crew{requests: r}
		c[at][key] = x
	}
	was := x.n
	if x.n += n; x.n == 0 {
		delete(c[at], key)
		if len(c[at]) == 0 {
			delete(c, at)
		}
	}
	return was == 0 || x.n == 0
}

// resolveDaemons returns the daemons with the requests that live pods of the same revision have: of each resource the most that one of
// them asks for, so that a new node is large enough whichever of them is the example. A template does not know what LimitRanges,
// runtime classes, admission webhooks and vertical autoscalers make of its pods. They may ask for less than it, too. Where there is no such
// pod, the template is all there is. Where a daemon goes stays the template's matter: its controller asks nothing else. The list is the
// last one as long as it says the same. O(edits), and O(daemons) when it changes.
func (w *World) resolveDaemons(edits []model.Edit[model.Pod]) []model.Daemon {
	changed := len(w.daemons.settle()) > 0
	for _, e := range edits {
		// Not one after the other: a pod of daemons that only became ready changes nothing.
		in, out := w.live.count(e.New, 1), w.live.count(e.Old, -1)
		changed = changed || in || out
	}
	if !changed {
		return w.crewed
	}
	w.crewed = slices.Clone(w.daemons.list())
	for i := range w.crewed {
		d := &w.crewed[i]
		if d.Pod.Revision == "" {
			continue
		}
		crews := w.live[revision{d.Namespace, d.Pod.Revision}]
		for n, key := range slices.Sorted(maps.Keys(crews)) {
			if n == 0 {
				d.Pod.Requests = crews[key].requests
			} else {
				d.Pod.Requests = d.Pod.Requests.Max(crews[key].requests)
			}
		}
	}
	return w.crewed
}
