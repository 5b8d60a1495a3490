package world

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// quietWorld is a mirror with a claim whose node has a pod, one whose node has none, and what was told of them.
func quietWorld(t *testing.T) (w *World, full, empty model.Claim, watch *Watch) {
	t.Helper()
	w = New()
	w.Begin()
	full, empty = model.Claim{Name: "full", UID: "f", NodeName: "a"}, model.Claim{Name: "empty", UID: "e", NodeName: "b"}
	put(w, model.Node{Name: "a"}, model.Node{Name: "b"}, full, empty, model.Pod{Namespace: "d", Name: "p", Node: "a"})
	w.Synced()
	w.Snapshot()
	watch = w.Subscribe(Everything)
	watch.Take()
	return w, full, empty, watch
}

func claimIn(w *World, name string) *model.Claim { return w.Snapshot().Index.Claim(name) }

// For how long a node with pods was left alone is shown once a second; that of an empty one, and whatever else claims say, at once.
func TestHowLongNodesAreLeftAloneIsShownOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, full, empty, _ := quietWorld(t)
		at := time.Now()
		shows := func(when string, name string, want time.Time) {
			t.Helper()
			if got := claimIn(w, name).LastPodEvent; !got.Equal(want) {
				t.Errorf("%s: %s shows %v, want %v", when, name, got, want)
			}
		}
		full.LastPodEvent = at
		put(w, full)
		shows("within the second", "full", time.Time{})
		put(w, model.Pod{Namespace: "d", Name: "q", Node: "a"})
		shows("when a pod came", "full", time.Time{})
		time.Sleep(quietEvery)
		shows("after the second", "full", at)

		full.LastPodEvent, empty.LastPodEvent = at.Add(time.Minute), at.Add(time.Minute)
		put(w, full, empty)
		shows("an empty node", "empty", empty.LastPodEvent)
		shows("together with an empty node", "full", full.LastPodEvent)

		full.LastPodEvent = at.Add(time.Hour)
		put(w, full)
		shows("within the next second", "full", at.Add(time.Minute))
		full.Annotations = map[string]string{"a": "b"}
		put(w, full)
		shows("when it says something else", "full", at.Add(time.Hour))
	})
}

// What is told of claims: Quiet alone when nothing else changed, and which, once it is shown.
func TestWhatIsToldOfQuietClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, full, _, watch := quietWorld(t)
		full.Conditions = []model.Condition{{Type: model.Consolidatable, Status: model.True}}
		put(w, full)
		if got := watch.Take(); got.About != Quiet || len(got.Claims) > 0 {
			t.Errorf("told %+v before it is shown", got)
		}
		time.Sleep(quietEvery)
		w.Snapshot()
		if got := watch.Take(); got.About != Quiet || !maps.Equal(got.Claims, map[string]bool{"full": true}) {
			t.Errorf("told %+v when it is shown", got)
		}
		full.Conditions = append(slices.Clone(full.Conditions), model.Condition{Type: model.Drifted, Status: model.True})
		put(w, full)
		if got := watch.Take(); got.About != Claims {
			t.Errorf("told %+v of another condition", got)
		}
	})
}

// What is told of pods: on which nodes, and whether one without a node is among them.
func TestWhatIsToldOfPods(t *testing.T) {
	w, _, _, watch := quietWorld(t)
	p := model.Pod{Namespace: "d", Name: "p", Node: "a", PodReady: true}
	for _, c := range []struct {
		do    func()
		about About
		nodes []string
	}{
		{func() { put(w, p) }, Pods, []string{"a"}},
		{func() { put(w, model.Pod{Namespace: "d", Name: "q"}) }, Pods | Unbound, nil},
		{func() { put(w, model.Pod{Namespace: "d", Name: "q", Node: "b"}) }, Pods | Unbound, []string{"b"}},
		{func() { w.Apply(model.Change{Object: p, Gone: true}) }, Pods, []string{"a"}},
		{func() { put(w, model.PDB{Namespace: "d", Name: "b"}) }, Pods | Unbound, nil},
	} {
		c.do()
		if got := watch.Take(); got.About != c.about || !slices.Equal(slices.Sorted(maps.Keys(got.Nodes)), c.nodes) {
			t.Errorf("told %+v, want %b of %v", got, c.about, c.nodes)
		}
	}
}
