package world_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

var class = model.ClassRef{Group: "g", Kind: "K", Name: "c"}

func catalogue(epoch uint64) model.Catalog {
	return model.Catalog{Class: class, Epoch: epoch, Types: []model.InstanceType{{Name: "A", Offerings: []model.Offering{
		{Type: "A", Zone: "1", CapacityType: model.OnDemand, Price: 100_000, Available: true},
	}}}}
}

func price(c model.Catalog) model.Price { return c.Types[0].Offerings[0].Price }

func tell(w *world.World, objects ...model.Object) {
	for _, o := range objects {
		w.Apply(model.Change{Object: o})
	}
}

func TestOverlaysAreSeenInEveryCatalogue(t *testing.T) {
	w := world.New()
	w.Begin()
	tell(w, model.Pool{Name: "blue", Class: class}, model.Pool{Name: "red", Class: class})
	w.Synced()
	w.SetCatalog(catalogue(7))
	first := w.Snapshot()
	if got := first.Catalog("blue", class); price(got) != 100_000 || got.Epoch != 7 {
		t.Fatalf("without overlays: %+v", got)
	}

	double := model.Overlay{Name: "double", PriceAdjustment: "+100%"}
	blue := model.Overlay{Name: "blue", Weight: 1, Price: "0.5", Requirements: []model.Requirement{{Key: model.LabelPool, Op: model.In, Values: []string{"blue"}}}}
	tell(w, double, blue)
	now := w.Snapshot()
	for pool, want := range map[string]model.Price{"blue": 500_000, "red": 200_000, "": 200_000} {
		got := now.Catalog(pool, class)
		if price(got) != want || got.Epoch <= 7 {
			t.Errorf("pool %q sees %v in epoch %d, want %v in a later epoch than 7", pool, price(got), got.Epoch, want)
		}
		if fresh := w.Seen(catalogue(7), pool); price(fresh) != want || fresh.Epoch != got.Epoch {
			t.Errorf("a fresh catalogue for pool %q: %v in epoch %d, want %v in %d", pool, price(fresh), fresh.Epoch, want, got.Epoch)
		}
	}
	if len(now.PoolCatalogs) != 1 {
		t.Errorf("%d pools have a catalogue of their own, want blue alone", len(now.PoolCatalogs))
	}
	if price(first.Catalog("blue", class)) != 100_000 {
		t.Errorf("a picture that was taken has changed")
	}

	same := w.Snapshot()
	tell(w, model.Node{Name: "n"})
	if got := w.Snapshot(); got.Catalogs[class].Epoch != same.Catalogs[class].Epoch {
		t.Errorf("a node changed the catalogue's epoch")
	}
	w.SetCatalog(catalogue(8))
	if got := w.Snapshot().Catalog("red", class); got.Epoch <= now.Catalog("red", class).Epoch || price(got) != 200_000 {
		t.Errorf("after a new catalogue: %+v", got)
	}

	before := w.Snapshot().Catalogs[class].Epoch
	w.Begin() // the overlays are gone when the watch comes back
	tell(w, model.Pool{Name: "blue", Class: class})
	w.Synced()
	if got := w.Snapshot().Catalog("blue", class); price(got) != 100_000 || got.Epoch <= before {
		t.Errorf("after the overlays went: %v in epoch %d, want the cloud's own price in a later epoch than %d", price(got), got.Epoch, before)
	}
}

func TestReservedRoomStandsAmongThePods(t *testing.T) {
	w := world.New()
	w.Begin()
	tell(w, model.Pod{Namespace: "a", Name: "x"}, model.Pod{Namespace: "b", Name: "y", Labels: map[string]string{"app": "web"}}, model.Pod{Namespace: "c", Name: "z"},
		model.PDB{Namespace: "b", Name: "all", HasSel: true})
	w.Synced()
	two := int32(2)
	shape := model.Template{Kind: model.KindPodTemplate, Namespace: "b", Name: "chunk", Pod: model.Pod{Requests: model.Resources{CPU: 1000, Pods: 1}}}
	tell(w, model.Buffer{Namespace: "b", Name: "spare", UID: "u", Template: "chunk", Replicas: &two}, shape)
	names := func() (out []string) {
		for _, p := range w.Snapshot().Flat().Pods {
			out = append(out, p.Key().String())
		}
		return out
	}
	if got, want := names(), []string{"a/x", "b/buffer:spare-0", "b/buffer:spare-1", "b/y", "c/z"}; !slices.Equal(got, want) {
		t.Errorf("pods %v, want %v", got, want)
	}
	if b := w.Snapshot().PDBs[0]; !slices.Equal(b.Pods, []model.PodKey{{Namespace: "b", Name: "y"}}) {
		t.Errorf("the budget covers %v, want the real pod only", b.Pods)
	}
	w.Apply(model.Change{Object: shape, Gone: true})
	if got, want := names(), []string{"a/x", "b/y", "c/z"}; !slices.Equal(got, want) {
		t.Errorf("without a shape: %v, want %v", got, want)
	}
}
