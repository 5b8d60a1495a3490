package control

import (
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/model"
)

// barren remembers why pools can buy nothing at all, as long as neither they nor what the cloud sells changed. Only the loop of pools uses it.
type barren struct{ known map[string]verdict }

type verdict struct {
	uid        string
	generation int64
	class      model.ClassRef
	epoch      uint64
	why        string
}

// of returns, by pool, why its requirements leave nothing, or too little choice, of its class' catalogue. Pools of a class that is not ready, or of which nothing on
// offer is known, are not judged.
func (b *barren) of(w model.World, choice place.MinValues) map[string]string {
	known, out := map[string]verdict{}, map[string]string{}
	fresh := map[model.ClassRef][]model.Pool{}
	for _, p := range w.Pools {
		class := classOf(w, p.Class)
		cat, sold := w.Catalogs[p.Class]
		if class == nil || !class.Ready() || !sold || p.Unreadable != "" || p.Deleting {
			continue
		}
		v := verdict{p.UID, p.Generation, p.Class, cat.Epoch, ""}
		old, ok := b.known[p.Name]
		if v.why = old.why; !ok || v != old {
			fresh[p.Class] = append(fresh[p.Class], p)
			v.why = ""
		}
		known[p.Name] = v
	}
	for class, pools := range fresh {
		for i, r := range problem.Barren(w.Catalogs[class], pools, choice) {
			v := known[pools[i].Name]
			v.why = r.Detail
			known[pools[i].Name] = v
		}
	}
	for name, v := range known {
		if v.why != "" {
			out[name] = v.why
		}
	}
	b.known = known
	return out
}
