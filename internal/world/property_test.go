package world

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/model"
)

// drawObject makes an object of one of nine kinds out of few names, so that sequences meet the same keys often.
func drawObject(t *rapid.T) model.Object {
	ns := rapid.SampledFrom([]string{"a", "a-b", "c"}).Draw(t, "namespace")
	name := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "name"))
	value := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
	labels := map[string]string{"k": value}
	other := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "other"))
	flag := rapid.Bool().Draw(t, "flag")
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
	case 0:
		p := model.Pod{Namespace: ns, Name: name, Labels: labels, Node: value}
		if flag {
			p.VolumeClaims = []string{other}
		}
		return p
	case 4:
		return model.VolumeClaim{Namespace: ns, Name: name, Volume: other, Bound: flag, Class: value}
	case 5:
		v := model.PersistentVolume{Name: name, Driver: "d", Handle: value}
		if flag {
			v.ClaimNamespace, v.ClaimName = ns, other
		}
		return v
	case 6:
		return model.StorageClass{Name: value, Provisioner: "d", Waits: flag}
	case 7:
		return model.CSINode{Name: name, AttachLimits: map[string]int64{"d": int64(len(ns))}}
	case 8:
		return model.Attachment{Name: name, Node: value, Volume: other}
	case 1:
		return model.Claim{Name: name, UID: name, Labels: labels}
	case 2:
		return model.PDB{Namespace: ns, Name: name, HasSel: true, Selector: []model.Requirement{{Key: "k", Op: model.In, Values: []string{value}}}}
	}
	return model.Node{Name: name, Labels: labels}
}

func id(o model.Object) string { return fmt.Sprintf("%T %s", o, o.ObjectKey()) }

func ordered(m map[string]model.Object) []model.Object {
	var out []model.Object
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// However the mirror got there - changes, cuts during which changes were missed, pictures taken in between - it ends in
// the picture that the final state alone gives, and no picture taken on the way ever changes.
func TestAnyHistoryEndsInThePictureOfItsFinalState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, truth := New(), map[string]model.Object{}
		w.Begin()
		w.Synced()
		var taken []model.World
		var printed []string
		step := func(tell bool) {
			o := drawObject(t)
			gone := rapid.IntRange(0, 3).Draw(t, "gone") == 0
			if gone {
				delete(truth, id(o))
			} else {
				truth[id(o)] = o
			}
			if tell {
				w.Apply(model.Change{Object: o, Gone: gone})
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "do") {
			case 0: // the watch is cut, things happen unseen, it is followed again while more happens
				for range rapid.IntRange(0, 4).Draw(t, "unseen") {
					step(false)
				}
				for through := false; !through; { // it may be cut again before everything was told
					w.Begin()
					through = rapid.IntRange(0, 2).Draw(t, "cut again") > 0
					all := rapid.Permutation(ordered(truth)).Draw(t, "order")
					for i, o := range all {
						if !through && i == len(all)/2 {
							break
						}
						w.Apply(model.Change{Object: o})
						if rapid.IntRange(0, 7).Draw(t, "look") == 0 {
							w.Snapshot()
						}
					}
				}
				w.Synced()
			case 1:
				taken = append(taken, w.Snapshot())
				printed = append(printed, fmt.Sprintf("%+v", w.Snapshot().Flat()))
			default:
				step(true)
			}
		}
		plain := New()
		for _, o := range ordered(truth) {
			plain.Apply(model.Change{Object: o})
		}
		if diff := same(plain.Snapshot(), w.Snapshot()); diff != "" {
			t.Fatalf("picture differs from that of the final state (-want +got):\n%s", diff)
		}
		for i, p := range taken {
			if got := fmt.Sprintf("%+v", p.Flat()); got != printed[i] {
				t.Fatalf("picture %d changed after it was taken:\n%s\n%s", i, printed[i], got)
			}
		}
	})
}
