package world

import (
	"reflect"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// quietEvery is how often pictures show anew for how long nodes have been left alone by pods, at most. In a busy cluster that is told of some claim
// dozens of times a second, and the list of all claims would be copied for each. Nobody takes a node away for it on which pods are that need a place; of
// others it is shown at once.
const quietEvery = time.Second

// quiet is what pictures do not show yet of claims.
type quiet struct {
	// held are the claims that say something new of what Quiet is about, urgent that the next picture must show it.
	held   []string
	urgent bool
	// other is set when a claim came, went, or changed in something else.
	other  bool
	showed time.Time // when the list of claims was made last
}

// due reports whether the next picture has to show the claims that are held.
func (q *quiet) due(now time.Time) bool {
	return len(q.held) > 0 && (q.urgent || q.other || now.Sub(q.showed) >= quietEvery)
}

// noteClaim takes note of a change of a claim, and reports whether it is only about what Quiet is about.
func (w *World) noteClaim(old, c model.Claim, only bool) bool {
	if !only || !sameButQuiet(old, c) {
		w.quiet.other = true
		return false
	}
	w.quiet.held = append(w.quiet.held, c.Name)
	w.quiet.urgent = w.quiet.urgent || w.index.On(c.NodeName).Tenants == 0
	return true
}

// sameButQuiet reports whether a claim says the same but for what Quiet is about.
func sameButQuiet(a, b model.Claim) bool {
	a.LastPodEvent, a.Conditions = b.LastPodEvent, withoutQuiet(a.Conditions)
	b.Conditions = withoutQuiet(b.Conditions)
	return reflect.DeepEqual(a, b)
}

func withoutQuiet(list []model.Condition) []model.Condition {
	i := slices.IndexFunc(list, func(c model.Condition) bool { return c.Type == model.Consolidatable })
	if i < 0 {
		return list
	}
	return slices.Concat(list[:i:i], list[i+1:])
}

// settleClaims brings the list of claims up to date, unless that may wait. It reports whether it changed in nothing but what Quiet is about.
func (w *World) settleClaims(now time.Time) (told bool) {
	q := &w.quiet
	if !q.other && !w.assumedAnew && !q.due(now) {
		return false
	}
	told = !q.other && !w.assumedAnew && len(w.assumed) == 0
	w.claims.list()
	if len(q.held) > 0 {
		w.tell(Quiet, nil, q.held)
	}
	*q = quiet{held: q.held[:0], showed: now}
	return told
}
