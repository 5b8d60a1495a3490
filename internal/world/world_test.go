package world

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karpenter-aks/karpenter/model"
)

func names(claims []model.Claim) []string {
	var out []string
	for _, c := range claims {
		out = append(out, c.Name+"="+c.UID)
	}
	return out
}

func put(w *World, list ...model.Object) {
	for _, o := range list {
		w.Apply(model.Change{Object: o})
	}
}

func TestObjectsNotToldAgainAreForgotten(t *testing.T) {
	w := New()
	w.Begin()
	put(w, model.Node{Name: "old"}, model.Node{Name: "kept"})
	if w.IsSynced() {
		t.Fatal("synced before Synced")
	}
	w.Synced()
	put(w, model.Node{Name: "late"}) // told after Synced, gone while the watch was cut
	w.Begin()
	if w.IsSynced() {
		t.Error("still synced although a new Follow has only begun")
	}
	put(w, model.Node{Name: "kept"})
	if got := len(w.Snapshot().Nodes); got != 3 {
		t.Errorf("before Synced: %d nodes, want the 3 known ones", got)
	}
	w.Synced()
	if got := w.Snapshot().Nodes; len(got) != 1 || got[0].Name != "kept" {
		t.Errorf("after Synced: %v, want only kept", got)
	}
}

func TestAssumedClaims(t *testing.T) {
	made := model.Claim{Name: "a", UID: "1"}
	for name, tc := range map[string]struct {
		do   func(w *World)
		want []string
	}{
		"in the next picture": {func(w *World) { w.AssumeClaim(made) }, []string{"a=1"}},
		"taken back":          {func(w *World) { w.AssumeClaim(made); w.ForgetClaim("a") }, nil},
		"shown by the watch": {func(w *World) {
			w.AssumeClaim(made)
			put(w, made)
			w.Apply(model.Change{Object: model.Claim{Name: "a"}, Gone: true})
		}, nil},
		"shown before it was assumed": {func(w *World) {
			put(w, made)
			w.AssumeClaim(made)
			w.Apply(model.Change{Object: model.Claim{Name: "a"}, Gone: true})
		}, nil},
		"outlives the deletion of an older one of its name": {func(w *World) {
			put(w, model.Claim{Name: "a", UID: "0"})
			w.AssumeClaim(made)
			w.Apply(model.Change{Object: model.Claim{Name: "a"}, Gone: true})
		}, []string{"a=1"}},
		"stands in for an older one of its name": {func(w *World) {
			put(w, model.Claim{Name: "a", UID: "0"})
			w.AssumeClaim(made)
		}, []string{"a=1"}},
		"absent from a list read later": {func(w *World) {
			w.AssumeClaim(made)
			w.Begin()
			w.Synced()
		}, nil},
		"kept when assumed while the list was read": {func(w *World) {
			w.Begin()
			w.AssumeClaim(made)
			w.Synced()
		}, []string{"a=1"}},
		"kept until the limit":   {func(w *World) { w.AssumeClaim(made); time.Sleep(AssumeLimit) }, []string{"a=1"}},
		"dropped past the limit": {func(w *World) { w.AssumeClaim(made); w.Snapshot(); time.Sleep(AssumeLimit + 1) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // virtual time: the limit costs nothing
				w := New()
				w.Begin()
				w.Synced()
				tc.do(w)
				if got := names(w.Snapshot().Claims); !slices.Equal(got, tc.want) {
					t.Errorf("claims %v, want %v", got, tc.want)
				}
			})
		})
	}
}

func TestBudgetsCoverThePodsTheySelect(t *testing.T) {
	web := []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}
	key := func(ns, n string) model.PodKey { return model.PodKey{Namespace: ns, Name: n} }
	w := New()
	put(w,
		model.Pod{Namespace: "a", Name: "2", Labels: map[string]string{"app": "web"}},
		model.Pod{Namespace: "a", Name: "1", Labels: map[string]string{"app": "web", "tier": "x"}},
		model.Pod{Namespace: "a", Name: "3", Labels: map[string]string{"app": "db"}},
		model.Pod{Namespace: "a-b", Name: "1", Labels: map[string]string{"app": "web"}},
	)
	for name, tc := range map[string]struct {
		pdb  model.PDB
		want []model.PodKey
	}{
		"by label, in its namespace only": {model.PDB{HasSel: true, Selector: web}, []model.PodKey{key("a", "1"), key("a", "2")}},
		"empty selector selects all":      {model.PDB{HasSel: true}, []model.PodKey{key("a", "1"), key("a", "2"), key("a", "3")}},
		"no selector selects nothing":     {model.PDB{}, nil},
		"NotIn takes pods without the label": {model.PDB{HasSel: true, Selector: []model.Requirement{
			{Key: "tier", Op: model.NotIn, Values: []string{"x"}}}}, []model.PodKey{key("a", "2"), key("a", "3")}},
		"DoesNotExist": {model.PDB{HasSel: true, Selector: []model.Requirement{{Key: "tier", Op: model.DoesNotExist}}},
			[]model.PodKey{key("a", "2"), key("a", "3")}},
		"Exists": {model.PDB{HasSel: true, Selector: []model.Requirement{{Key: "tier", Op: model.Exists}}}, []model.PodKey{key("a", "1")}},
		"an operator selectors do not have": {model.PDB{HasSel: true, Selector: []model.Requirement{
			{Key: "tier", Op: model.Gt, Values: []string{"1"}}}}, nil},
	} {
		tc.pdb.Namespace, tc.pdb.Name = "a", "b"
		put(w, tc.pdb)
		if got := w.Snapshot().PDBs[0].Pods; !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	put(w, model.PDB{Namespace: "a", Name: "b", HasSel: true, Selector: web})
	w.Snapshot()
	put(w, model.Pod{Namespace: "a", Name: "2", Labels: map[string]string{"app": "db"}})
	if got := w.Snapshot().PDBs[0].Pods; !slices.Equal(got, []model.PodKey{key("a", "1")}) {
		t.Errorf("after a pod's labels changed: %v", got)
	}
}

func TestAttachmentsNameThePodsThatUseThem(t *testing.T) {
	w := New()
	put(w,
		model.Attachment{Name: "x", Node: "n1", Volume: "pv", ClaimNamespace: "a", ClaimName: "data"},
		model.Attachment{Name: "y", Node: "n1", Volume: "other"},
		model.Pod{Namespace: "a", Name: "here", Node: "n1", VolumeClaims: []string{"data"}},
		model.Pod{Namespace: "a", Name: "there", Node: "n2", VolumeClaims: []string{"data"}},
		model.Pod{Namespace: "b", Name: "namesake", Node: "n1", VolumeClaims: []string{"data"}},
	)
	got := w.Snapshot().Attachments
	if want := []model.PodKey{{Namespace: "a", Name: "here"}}; !slices.Equal(got[0].Pods, want) || got[1].Pods != nil {
		t.Errorf("attachments %+v, want x used by %v and y by none", got, want)
	}
}

func TestSubscribersAreWokenByChangesOnly(t *testing.T) {
	w := New()
	watch := w.Subscribe(Nodes | Catalogs)
	woken := func() bool {
		select {
		case <-watch.C:
			return true
		default:
			return false
		}
	}
	if !woken() {
		t.Error("no token for the first look")
	}
	put(w, model.Node{Name: "a", Labels: map[string]string{"k": "v"}}, model.Node{Name: "b"})
	if !woken() || woken() {
		t.Error("two changes must leave exactly one token")
	}
	put(w, model.Node{Name: "a", Labels: map[string]string{"k": "v"}})
	w.Apply(model.Change{Object: model.Node{Name: "never-seen"}, Gone: true})
	if woken() {
		t.Error("woken although nothing changed")
	}
	ref := model.ClassRef{Name: "c"}
	w.SetCatalog(model.Catalog{Class: ref, Epoch: 1})
	if !woken() {
		t.Error("not woken by a new catalogue")
	}
	w.SetCatalog(model.Catalog{Class: ref, Epoch: 1})
	if woken() {
		t.Error("woken by a catalogue of the same epoch")
	}
	put(w, model.Pod{Namespace: "d", Name: "p"})
	if woken() {
		t.Error("woken by what it did not ask about")
	}
	if got := watch.Take().About; got != Nodes|Catalogs || watch.Take().About != 0 {
		t.Errorf("it was told of %b", got)
	}
	watch.Stop()
	put(w, model.Node{Name: "c"})
	if woken() {
		t.Error("woken after stop")
	}
}

func TestCloudFacts(t *testing.T) {
	w := New()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if w.Snapshot().InstancesSeen || !w.ListedAt().IsZero() {
		t.Error("a list was seen before there was one")
	}
	w.SetInstances([]model.Instance{{Name: "b"}, {Name: "a"}}, at)
	w.SetInstances(nil, at.Add(-time.Second)) // a slower, older answer
	got := w.Snapshot()
	if !got.InstancesSeen || len(got.Instances) != 2 || got.Instances[0].Name != "a" || !w.ListedAt().Equal(at) {
		t.Errorf("instances %v listed at %v, want a, b at %v", got.Instances, w.ListedAt(), at)
	}
	ref := model.ClassRef{Group: "g", Kind: "k", Name: "n"}
	put(w, model.Class{Ref: ref})
	w.SetCatalog(model.Catalog{Class: ref, Epoch: 7})
	before := w.Snapshot()
	w.Apply(model.Change{Object: model.Class{Ref: ref}, Gone: true})
	if _, ok := w.Snapshot().Catalogs[ref]; ok || before.Catalogs[ref].Epoch != 7 {
		t.Error("the catalogue must leave with its class, and stay in pictures taken before")
	}
}

// same compares pictures; an empty list is as good as none.
func same(a, b model.World) string { return cmp.Diff(a.Flat(), b.Flat(), cmpopts.EquateEmpty()) }
