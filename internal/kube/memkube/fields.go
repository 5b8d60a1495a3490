package memkube

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// The functions here return fresh values: what is stored is shared with followers and never changed in place.

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// noted is merged where an empty value takes the key away.
func noted(old, patch map[string]string) map[string]string {
	out := merged(old, patch)
	for k, v := range patch {
		if v == "" {
			delete(out, k)
		}
	}
	return out
}

func merged(old, patch map[string]string) map[string]string {
	if len(patch) == 0 {
		return old
	}
	out := make(map[string]string, len(old)+len(patch))
	maps.Copy(out, old)
	maps.Copy(out, patch)
	return out
}

func add(list []string, v string) []string {
	if slices.Contains(list, v) {
		return list
	}
	return append(slices.Clone(list), v)
}

// finalizers adds and drops ours as the patch asks. An object that is going takes no new finalizer.
func finalizers(list []string, ours string, p ask) ([]string, error) {
	if p.add && !slices.Contains(list, ours) {
		if p.deleting {
			return nil, kube.Errorf(kube.Invalid, "no new finalizer for an object that is being deleted")
		}
		list = add(list, ours)
	}
	if p.drop {
		list = slices.DeleteFunc(slices.Clone(list), func(f string) bool { return f == ours })
	}
	return list, nil
}

// ask is what a patch wants of the finalizers, and whether the object is being deleted.
type ask struct{ add, drop, deleting bool }

// conditions sets each condition; the transition time moves only when the status does. They stand in the order in
// which they became what they are, Ready last.
func conditions(list, patch []model.Condition, generation int64) []model.Condition {
	out := slices.Clone(list)
	for _, c := range patch {
		if c.Since.IsZero() {
			c.Since = time.Now()
		}
		c.Since = c.Since.UTC().Truncate(time.Second)
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
		}
		i := slices.IndexFunc(out, func(o model.Condition) bool { return o.Type == c.Type })
		if i < 0 {
			out = append(out, c)
			continue
		}
		if out[i].Status == c.Status {
			c.Since = out[i].Since
		}
		out[i] = c
	}
	slices.SortStableFunc(out, func(a, b model.Condition) int {
		return cmp.Or(model.RootLast(a.Type, b.Type), a.Since.Compare(b.Since))
	})
	return out
}

// taints drops by key, then adds; a taint of the same key and effect is replaced where it stands.
func taints(list, adding []model.Taint, dropping []string) []model.Taint {
	out := slices.DeleteFunc(slices.Clone(list), func(t model.Taint) bool { return slices.Contains(dropping, t.Key) })
	for _, t := range adding {
		i := slices.IndexFunc(out, func(o model.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i] = t
	}
	return out
}
