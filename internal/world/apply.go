package world

import (
	"github.com/karpenter-aks/karpenter/model"
)

// vanished lists what the current Follow has not told.
func (w *World) vanished() []model.Object {
	var out []model.Object
	out = collect(out, &w.pools, w.follow)
	out = collect(out, &w.classes, w.follow)
	out = collect(out, &w.claims, w.follow)
	out = collect(out, &w.nodes, w.follow)
	out = collect(out, &w.pods, w.follow)
	out = collect(out, &w.daemons, w.follow)
	out = collect(out, &w.budgets, w.follow)
	out = collect(out, &w.attachments, w.follow)
	out = collect(out, &w.namespaces, w.follow)
	out = collect(out, &w.volumeClaims, w.follow)
	out = collect(out, &w.volumes, w.follow)
	out = collect(out, &w.storageClasses, w.follow)
	out = collect(out, &w.csiNodes, w.follow)
	return w.vanishedExtras(out)
}

func collect[T model.Object](out []model.Object, t *table[T], follow uint64) []model.Object {
	for _, o := range t.stale(follow) {
		out = append(out, o)
	}
	return out
}

// apply changes the tables and reports whether the picture changed. Objects of kinds that it does not know are ignored.
func (w *World) apply(o model.Object, gone bool) bool {
	switch o := o.(type) {
	case model.Pool:
		return update(&w.pools, o, gone, w.follow)
	case model.Class:
		if gone {
			w.dropCatalog(o.Ref)
		}
		return update(&w.classes, o, gone, w.follow)
	case model.Claim:
		return w.applyClaim(o, gone)
	case model.Node:
		_, had := w.nodes.get(o)
		if had == gone {
			w.movedNodes[o.Name] = true // it came or went: see withPromise
		}
		return update(&w.nodes, o, gone, w.follow)
	case model.Pod:
		return w.applyPod(&o, gone)
	case model.Daemon:
		return update(&w.daemons, o, gone, w.follow)
	case model.PDB:
		return update(&w.budgets, o, gone, w.follow)
	case model.Attachment:
		return update(&w.attachments, o, gone, w.follow)
	case model.Namespace:
		return update(&w.namespaces, o, gone, w.follow)
	}
	return w.applyStorage(o, gone) || w.applyExtra(o, gone)
}

// applyStorage is apply for the objects that pictures do not show, but what they say about pods and nodes.
func (w *World) applyStorage(o model.Object, gone bool) bool {
	changed := false
	switch o := o.(type) {
	case model.VolumeClaim:
		if changed = update(&w.volumeClaims, o, gone, w.follow); changed {
			w.movedClaims[o.ObjectKey()] = true
		}
	case model.PersistentVolume:
		if changed = update(&w.volumes, o, gone, w.follow); changed {
			w.movedVolumes[o.Name] = true
		}
	case model.StorageClass:
		if changed = update(&w.storageClasses, o, gone, w.follow); changed {
			w.movedClasses = true
		}
	case model.CSINode:
		if changed = update(&w.csiNodes, o, gone, w.follow); changed {
			w.movedDrivers[o.Name] = true
			w.learnKeys(o)
		}
	}
	return changed
}

func update[T model.Object](t *table[T], o T, gone bool, follow uint64) bool {
	if gone {
		return t.drop(&o) != nil
	}
	_, changed := t.put(&o, follow)
	return changed
}

// applyClaim also settles assumptions. The watch tells claims in order, so what it shows of the assumed claim or
// later replaces the assumption. A deletion names no UID: while an older claim of that name is in the table, the
// deletion is the older one's.
func (w *World) applyClaim(c model.Claim, gone bool) bool {
	a, assumed := w.assumed[c.Name]
	old, had := w.claims.get(c)
	w.promise(old, c, gone)
	switch {
	case !assumed:
	case gone && !had, !gone && (c.UID == a.claim.UID || a.claim.UID == ""):
		w.assume(c.Name, nil)
	}
	_, still := w.assumed[c.Name]
	changed := update(&w.claims, c, gone, w.follow) || assumed != still
	if changed {
		w.light = w.noteClaim(old, c, had && !gone && !assumed)
	}
	return changed
}

// applyPod also notes what the pod is finished by. The mirror keeps p.
func (w *World) applyPod(p *model.Pod, gone bool) bool {
	if gone {
		old := w.pods.drop(p)
		if old != nil {
			w.link(old, false)
			w.touch(old)
		}
		return old != nil
	}
	old, changed := w.pods.put(p, w.follow)
	if changed {
		if old != nil {
			w.link(old, false)
			w.touch(old)
		}
		w.link(p, true)
		w.touch(p)
	}
	return changed
}

// touch notes on which node the last change is.
func (w *World) touch(p *model.Pod) {
	if w.waits = w.waits || p.Node == ""; p.Node != "" {
		w.touched = append(w.touched, p.Node)
	}
}

// link notes, or forgets, which node is nominated for the pod and which volume claims it uses.
func (w *World) link(p *model.Pod, on bool) {
	note := func(m map[string]map[model.PodKey]bool, at string) {
		switch key := p.Key(); {
		case !on:
			delete(m[at], key)
			if len(m[at]) == 0 {
				delete(m, at)
			}
		case m[at] == nil:
			m[at] = map[model.PodKey]bool{key: true}
		default:
			m[at][key] = true
		}
	}
	if node := p.Nominated + p.Promised; node != "" { // one of them is empty
		note(w.nominated, node)
	}
	for _, name := range p.VolumeClaims {
		note(w.mounted, model.VolumeClaim{Namespace: p.Namespace, Name: name}.ObjectKey())
	}
}
