package world

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/model"
)

func inZone(zones ...string) []model.Term {
	return []model.Term{{{Key: "topology.disk.csi.azure.com/zone", Op: model.In, Values: zones}}}
}

// Whom a volume that is yet to be made ties together depends on what its driver says on nodes, and, before there is one, on what is known of Azure's.
func TestWhereAVolumeYetToBeMadeWillBeReached(t *testing.T) {
	const disk = "disk.csi.azure.com"
	node := func(driver string, keys ...string) model.CSINode {
		return model.CSINode{Name: "n", TopologyKeys: map[string][]string{driver: keys}}
	}
	claim := model.VolumeClaim{Namespace: "d", Name: "data", Class: "waits"}
	for name, tc := range map[string]struct {
		class model.StorageClass
		more  []model.Object
		want  []string
	}{
		"Azure's disks":             {model.StorageClass{Provisioner: disk}, nil, []string{diskZone}},
		"in all zones":              {model.StorageClass{Provisioner: disk, Redundant: true}, nil, nil},
		"Azure's files":             {model.StorageClass{Provisioner: "file.csi.azure.com"}, nil, nil},
		"a driver nobody knows":     {model.StorageClass{Provisioner: "x"}, nil, nil},
		"a driver that says it":     {model.StorageClass{Provisioner: "x"}, []model.Object{node("x", "z", "a")}, []string{"a", "z"}},
		"a driver that says so":     {model.StorageClass{Provisioner: disk}, []model.Object{node(disk)}, nil},
		"said by a node that left":  {model.StorageClass{Provisioner: "x"}, []model.Object{node("x", "z"), model.CSINode{Name: "n"}}, []string{"z"}},
		"being made for a node now": {model.StorageClass{Provisioner: disk}, []model.Object{model.VolumeClaim{Namespace: "d", Name: "data", Class: "waits", SelectedNode: "n"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := New()
			tc.class.Name, tc.class.Waits = "waits", true
			put(w, claim, tc.class, model.Pod{Namespace: "d", Name: "p", VolumeClaims: []string{"data"}})
			w.Snapshot()
			put(w, tc.more...)
			if got := w.Snapshot().Flat().Pods[0].Volumes[0].Within; !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// What a pod's claim stands for decides where the pod can go, and whether anybody can say so yet.
func TestVolumesOfAPod(t *testing.T) {
	claim := model.VolumeClaim{Namespace: "d", Name: "data", Volume: "pv", Bound: true, Class: "waits"}
	volume := model.PersistentVolume{Name: "pv", Driver: "disk", Handle: "h", Terms: inZone("eastus-1"), ClaimNamespace: "d", ClaimName: "data"}
	waits := model.StorageClass{Name: "waits", Provisioner: "disk", Waits: true, Terms: inZone("eastus-2")}
	unbound := claim
	unbound.Volume, unbound.Bound = "", false
	edit := func(c model.VolumeClaim, f func(*model.VolumeClaim)) model.VolumeClaim { f(&c); return c }
	bound := []model.Volume{{ID: "disk/h", Driver: "disk", Terms: inZone("eastus-1"), Said: "claim d/data (volume pv)"}}
	toMake := []model.Volume{{ID: "claim d/data", Driver: "disk", Terms: inZone("eastus-2"), Said: "claim d/data (storage class waits)"}}
	for name, tc := range map[string]struct {
		objects   []model.Object
		want      []model.Volume
		undecided bool
	}{
		"no such claim":                  {nil, nil, true},
		"bound":                          {[]model.Object{claim, volume}, bound, false},
		"told in the other order":        {[]model.Object{volume, claim}, bound, false},
		"bound, the volume not seen yet": {[]model.Object{claim}, nil, true},
		"lost":                           {[]model.Object{edit(claim, func(c *model.VolumeClaim) { c.Lost = true }), volume}, bound, true},
		"being deleted":                  {[]model.Object{edit(claim, func(c *model.VolumeClaim) { c.Deleting = true }), volume}, bound, true},
		"made where the pod goes":        {[]model.Object{unbound, waits}, toMake, false},
		"no such class":                  {[]model.Object{unbound}, nil, true},
		"no class at all":                {[]model.Object{edit(unbound, func(c *model.VolumeClaim) { c.Class = "" }), waits}, nil, true},
		"made at once":                   {[]model.Object{unbound, model.StorageClass{Name: "waits", Provisioner: "disk"}}, nil, true},
		"made by nobody":                 {[]model.Object{unbound, model.StorageClass{Name: "waits", Provisioner: noProvisioner, Waits: true}}, nil, true},
		"being made for a node": {[]model.Object{edit(unbound, func(c *model.VolumeClaim) { c.SelectedNode = "n1" }), waits},
			[]model.Volume{{ID: "claim d/data", Driver: "disk", Terms: []model.Term{append(slices.Clone(inZone("eastus-2")[0]),
				model.Requirement{Key: model.LabelHostname, Op: model.In, Values: []string{"n1"}})}, Said: "claim d/data (about to be bound for node n1)"}}, false},
		"being made for a node, of a class of everywhere": {[]model.Object{edit(unbound, func(c *model.VolumeClaim) { c.SelectedNode = "n1" }), model.StorageClass{Name: "waits", Provisioner: "disk", Waits: true}},
			[]model.Volume{{ID: "claim d/data", Driver: "disk", Terms: []model.Term{{{Key: model.LabelHostname, Op: model.In, Values: []string{"n1"}}}}, Said: "claim d/data (about to be bound for node n1)"}}, false},
		"being made for a node, by no topology": {[]model.Object{edit(unbound, func(c *model.VolumeClaim) { c.SelectedNode = "n1" }),
			model.StorageClass{Name: "waits", Provisioner: "disk", Waits: true, Terms: []model.Term{nil}}}, []model.Volume{{ID: "claim d/data", Driver: "disk", Terms: []model.Term{nil}, Said: "claim d/data (about to be bound for node n1)"}}, false},
		"named beforehand, its class waits": {[]model.Object{edit(claim, func(c *model.VolumeClaim) { c.Bound = false }), volume, waits}, bound, true},
		"named beforehand, not bound yet":   {[]model.Object{edit(claim, func(c *model.VolumeClaim) { c.Bound = false }), volume}, bound, true},
		"a volume without a driver":         {[]model.Object{claim, model.PersistentVolume{Name: "pv"}}, []model.Volume{{ID: "pv", Said: "claim d/data (volume pv)"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := model.Pod{Namespace: "d", Name: "p", VolumeClaims: []string{"data"}, Needs: []model.Why{model.WhyMatchFields}}
			for _, early := range []bool{true, false} {
				w := New()
				if early {
					put(w, pod)
					w.Snapshot()
				}
				put(w, tc.objects...)
				if !early {
					put(w, pod)
				}
				want := pod
				want.Volumes = tc.want
				if tc.undecided {
					want.Needs = []model.Why{model.WhyVolumes, model.WhyMatchFields}
				}
				if diff := cmp.Diff([]model.Pod{want}, w.Snapshot().Flat().Pods); diff != "" {
					t.Errorf("pod told early %v (-want +got):\n%s", early, diff)
				}
			}
		})
	}
}

func TestVolumesAreSortedAndCountedOnce(t *testing.T) {
	w := New()
	put(w,
		model.VolumeClaim{Namespace: "d", Name: "a", Volume: "v9", Bound: true},
		model.VolumeClaim{Namespace: "d", Name: "b", Volume: "v1", Bound: true},
		model.VolumeClaim{Namespace: "d", Name: "c", Volume: "v2", Bound: true},
		model.PersistentVolume{Name: "v9"},
		model.PersistentVolume{Name: "v1", Driver: "disk", Handle: "same"},
		model.PersistentVolume{Name: "v2", Driver: "disk", Handle: "same"},
		model.Pod{Namespace: "d", Name: "p", VolumeClaims: []string{"a", "b", "c"}},
	)
	got := w.Snapshot().Flat().Pods[0]
	if diff := cmp.Diff([]model.Volume{{ID: "disk/same", Driver: "disk", Said: "claim d/b (volume v1)"}, {ID: "v9", Said: "claim d/a (volume v9)"}}, got.Volumes); diff != "" || got.Needs != nil {
		t.Errorf("needs %v, volumes (-want +got):\n%s", got.Needs, diff)
	}
}

// A pod is looked at again when what its claim stands for changes, and a picture already taken stays.
func TestAPodFollowsItsVolume(t *testing.T) {
	w := New()
	claim := model.VolumeClaim{Namespace: "d", Name: "data", Class: "waits"}
	put(w, claim, model.StorageClass{Name: "waits", Provisioner: "disk", Waits: true}, model.Pod{Namespace: "d", Name: "p", VolumeClaims: []string{"data"}})
	before := w.Snapshot()
	claim.Volume, claim.Bound = "pv", true
	put(w, claim, model.PersistentVolume{Name: "pv", Driver: "disk", Handle: "h", Terms: inZone("eastus-1"), ClaimNamespace: "d", ClaimName: "data"})
	after := w.Snapshot()
	if before.Flat().Pods[0].Volumes[0].ID != "claim d/data" || after.Flat().Pods[0].Volumes[0].ID != "disk/h" {
		t.Errorf("before %+v, after %+v", before.Flat().Pods[0].Volumes, after.Flat().Pods[0].Volumes)
	}
	w.Apply(model.Change{Object: model.PersistentVolume{Name: "pv"}, Gone: true})
	if p := w.Snapshot().Flat().Pods[0]; len(p.Volumes) != 0 || len(p.Needs) != 1 {
		t.Errorf("the volume is gone, yet: %+v needs %v", p.Volumes, p.Needs)
	}
}

func TestAttachmentsLearnTheirClaimInEitherOrder(t *testing.T) {
	attachment := model.Attachment{Name: "x", Node: "n", Volume: "pv"}
	volume := model.PersistentVolume{Name: "pv", ClaimNamespace: "d", ClaimName: "data"}
	pod := model.Pod{Namespace: "d", Name: "p", Node: "n", VolumeClaims: []string{"data"}}
	want := []model.Attachment{{Name: "x", Node: "n", Volume: "pv", ClaimNamespace: "d", ClaimName: "data", Pods: []model.PodKey{pod.Key()}}}
	for _, objects := range [][]model.Object{{attachment, volume, pod}, {pod, volume, attachment}} {
		w := New()
		for _, o := range objects {
			put(w, o)
			w.Snapshot()
		}
		if diff := cmp.Diff(want, w.Snapshot().Attachments); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.Apply(model.Change{Object: model.PersistentVolume{Name: "pv"}, Gone: true})
		if got := w.Snapshot().Attachments[0]; got.ClaimName != "" || got.Pods != nil {
			t.Errorf("the volume is gone, yet its attachment is %+v", got)
		}
	}
}

func TestNodesHaveTheLimitsOfTheirDrivers(t *testing.T) {
	limits := map[string]int64{"disk": 8}
	for name, objects := range map[string][]model.Object{
		"node first":   {model.Node{Name: "n"}, model.CSINode{Name: "n", AttachLimits: limits}},
		"driver first": {model.CSINode{Name: "n", AttachLimits: limits}, model.Node{Name: "n"}},
	} {
		w := New()
		for _, o := range objects {
			put(w, o)
			w.Snapshot()
		}
		if got := w.Snapshot().Nodes[0].AttachLimits; got["disk"] != 8 {
			t.Errorf("%s: limits %v", name, got)
		}
		w.Apply(model.Change{Object: model.CSINode{Name: "n"}, Gone: true})
		if got := w.Snapshot().Nodes[0].AttachLimits; got != nil {
			t.Errorf("%s: no drivers, yet limits %v", name, got)
		}
	}
}

func TestNamespacesAreInThePicture(t *testing.T) {
	w := New()
	put(w, model.Namespace{Name: "b"}, model.Namespace{Name: "a", Labels: map[string]string{"team": "x"}})
	if diff := cmp.Diff([]model.Namespace{{Name: "a", Labels: map[string]string{"team": "x"}}, {Name: "b"}}, w.Snapshot().Namespaces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
