package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/buffer"
	"github.com/karpenter-aks/karpenter/internal/overlay"
	"github.com/karpenter-aks/karpenter/model"
)

// extras are the objects of features that users switch on, and what they make of the rest of the picture.
type extras struct {
	overlays  table[model.Overlay]
	buffers   table[model.Buffer]
	templates table[model.Template]
	unserved  table[model.Unserved]

	sight sight
	// reserved are the pods of all buffers; stale says that they must be made anew.
	reserved []model.Pod
	stale    bool
}

func newExtras() extras {
	return extras{
		overlays: newTable(func(a, b *model.Overlay) int { return cmp.Compare(a.Name, b.Name) }),
		buffers: newTable(func(a, b *model.Buffer) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		}),
		templates: newTable(func(a, b *model.Template) int { return buffer.Order(*a, *b) }),
		unserved:  newTable(func(a, b *model.Unserved) int { return cmp.Compare(a.Resource, b.Resource) }),
	}
}

func (w *World) vanishedExtras(out []model.Object) []model.Object {
	out = collect(out, &w.overlays, w.follow)
	out = collect(out, &w.buffers, w.follow)
	out = collect(out, &w.templates, w.follow)
	return collect(out, &w.unserved, w.follow)
}

// applyExtra is apply for overlays, buffers and templates. Others it does not know, and changes nothing.
func (w *World) applyExtra(o model.Object, gone bool) bool {
	changed := false
	switch o := o.(type) {
	case model.Overlay:
		if changed = update(&w.overlays, o, gone, w.follow); changed {
			w.sight.told++
		}
	case model.Buffer:
		changed = update(&w.buffers, o, gone, w.follow)
		w.stale = w.stale || changed
	case model.Template:
		changed = update(&w.templates, o, gone, w.follow)
		w.stale = w.stale || changed
	case model.Unserved:
		changed = update(&w.unserved, o, gone, w.follow)
	}
	return changed
}

// reserve says what changes among the pods that stand for the room that buffers keep. O(these pods) when a buffer or a template changed.
func (w *World) reserve() []model.Edit[model.Pod] {
	if !w.stale {
		return nil
	}
	old := make(map[model.PodKey]*model.Pod, len(w.reserved))
	for i := range w.reserved {
		old[w.reserved[i].Key()] = &w.reserved[i]
	}
	w.reserved, w.stale = buffer.Pods(w.buffers.list(), w.templates.list()), false
	var out []model.Edit[model.Pod]
	for i := range w.reserved {
		p := &w.reserved[i]
		out = append(out, model.Edit[model.Pod]{Old: old[p.Key()], New: p})
		delete(old, p.Key())
	}
	for _, p := range old {
		out = append(out, model.Edit[model.Pod]{Old: p})
	}
	return out
}

// sight is the catalogues as overlays let them be seen.
type sight struct {
	told     uint64 // grows with every change of an overlay
	key      string // what the rest was made from
	epoch    uint64 // grows whenever it is made anew; added to the epochs of the catalogues
	verdict  overlay.Verdict
	catalogs map[model.ClassRef]model.Catalog
	pools    map[string]model.Catalog
}

// seen returns the catalogues of classes and of single pools with the overlays applied. It is O(1) as long as nobody has
// any overlays; otherwise O(pools + classes), and O(overlays × offerings × pools) after a change of any of them.
func (w *World) seen(pools []model.Pool) (map[model.ClassRef]model.Catalog, map[string]model.Catalog) {
	if w.sight.told == 0 {
		return w.catalogs, nil
	}
	s := &w.sight
	key := w.sightKey(pools)
	if key == s.key {
		return s.catalogs, s.pools
	}
	s.key = key
	s.epoch++
	s.verdict = overlay.Judge(overlay.Input{Overlays: w.overlays.list(), Pools: pools, Catalogs: w.catalogs})
	inForce := s.verdict.InForce
	s.catalogs, s.pools = make(map[model.ClassRef]model.Catalog, len(w.catalogs)), nil
	for ref, raw := range w.catalogs {
		cat := overlay.Apply(raw, nil, inForce)
		cat.Epoch += s.epoch
		s.catalogs[ref] = cat
	}
	if !overlay.ByPool(inForce) {
		return s.catalogs, nil
	}
	s.pools = map[string]model.Catalog{}
	for i := range pools {
		raw, ok := w.catalogs[pools[i].Class]
		if !ok {
			continue
		}
		if cat := overlay.Apply(raw, &pools[i], inForce); !slices.EqualFunc(cat.Types, s.catalogs[raw.Class].Types, sameOffer) {
			cat.Epoch += s.epoch
			s.pools[pools[i].Name] = cat
		}
	}
	return s.catalogs, s.pools
}

func (w *World) sightKey(pools []model.Pool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", w.sight.told)
	for _, p := range pools {
		fmt.Fprintf(&b, " %q/%q/%d", p.Name, p.UID, p.Generation)
	}
	refs := slices.SortedFunc(maps.Keys(w.catalogs), func(a, b model.ClassRef) int { return cmp.Compare(a.String(), b.String()) })
	for _, ref := range refs {
		fmt.Fprintf(&b, " %q=%d", ref, w.catalogs[ref].Epoch)
	}
	return b.String()
}

// sameOffer reports whether a size is the same in what overlays change.
func sameOffer(a, b model.InstanceType) bool {
	return maps.Equal(a.Capacity.Extended, b.Capacity.Extended) && maps.Equal(a.Allocatable.Extended, b.Allocatable.Extended) &&
		slices.EqualFunc(a.Offerings, b.Offerings, func(x, y model.Offering) bool { return x.Key() == y.Key() && x.Price == y.Price })
}

// Verdict returns which overlays are in force in the last picture, and what is wrong with the others.
func (w *World) Verdict() overlay.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sight.verdict
}

// Seen returns a catalogue, fresh from the cloud, as the last picture saw that class: with the overlays applied that are in
// force for the pool. Who buys must rank by the prices by which was planned.
func (w *World) Seen(cat model.Catalog, pool string) model.Catalog {
	w.mu.Lock()
	inForce, pools, epoch := w.sight.verdict.InForce, w.last.Pools, w.sight.epoch
	w.mu.Unlock()
	if len(inForce) == 0 {
		return cat
	}
	var p *model.Pool
	if i := slices.IndexFunc(pools, func(p model.Pool) bool { return p.Name == pool }); i >= 0 {
		p = &pools[i]
	}
	cat = overlay.Apply(cat, p, inForce)
	cat.Epoch += epoch
	return cat
}
