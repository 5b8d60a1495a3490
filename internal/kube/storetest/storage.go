package storetest

import (
	"reflect"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

const examDriver = "disk.csi.azure.com"

func zones(values ...string) []model.Term {
	return []model.Term{{{Key: "topology.disk.csi.azure.com/zone", Op: model.In, Values: values}}}
}

// told puts the object, sees it told as it was put, takes it away and sees it gone.
func told[T model.Object](t *testing.T, w World, p *picture, want T) {
	t.Helper()
	w.Put(t, want)
	if got := see(t, p, want, any1); !reflect.DeepEqual(got, want) {
		t.Errorf("told\n%+v\nwant\n%+v", got, want)
	}
	w.Remove(t, want)
	gone(t, p, want)
}

func storageIsTold(t *testing.T, w World) {
	p := newPicture()
	follow(t, w.Store(), p)
	told(t, w, p, model.StorageClass{Name: "exam-now", Provisioner: examDriver})
	told(t, w, p, model.PersistentVolume{Name: "exam-everywhere", Driver: examDriver, Handle: "disk-0"})
	told(t, w, p, model.PersistentVolume{Name: "exam-zoned", Driver: examDriver, Handle: "disk-1", Terms: append(zones("eastus-1"), zones("")...)})
	told(t, w, p, model.CSINode{Name: "exam-node", AttachLimits: map[string]int64{examDriver: 8},
		TopologyKeys: map[string][]string{examDriver: {"topology.disk.csi.azure.com/zone"}, "file.csi.azure.com": nil}})
	told(t, w, p, model.StorageClass{Name: "exam-redundant", Provisioner: examDriver, Waits: true, Redundant: true})
	told(t, w, p, model.CSINode{Name: "exam-bare"})

	class := model.StorageClass{Name: "exam-waits", Provisioner: examDriver, Waits: true, Terms: zones("eastus-1", "eastus-2")}
	w.Put(t, class)
	if got := see(t, p, class, any1); !reflect.DeepEqual(got, class) {
		t.Errorf("told\n%+v\nwant\n%+v", got, class)
	}
	told(t, w, p, model.VolumeClaim{Namespace: "default", Name: "data", Class: class.Name})
	told(t, w, p, model.VolumeClaim{Namespace: "default", Name: "alone", Class: class.Name, OnePod: true})

	ns := model.Namespace{Name: "exam-team", Labels: map[string]string{"team": "x"}}
	w.Put(t, ns)
	see(t, p, ns, func(n model.Namespace) bool { return n.Labels["team"] == "x" }) // the API server adds one of its own
	w.Remove(t, ns)
	gone(t, p, ns)
}

func boundClaim(t *testing.T, w World) {
	p := newPicture()
	follow(t, w.Store(), p)
	volume := model.PersistentVolume{Name: "exam-bound", Driver: examDriver, Handle: "disk-2", Terms: zones("eastus-1"), ClaimNamespace: "default", ClaimName: "mine"}
	w.Put(t, volume)
	w.Put(t, model.VolumeClaim{Namespace: "default", Name: "mine", Volume: volume.Name})
	want := model.VolumeClaim{Namespace: "default", Name: "mine", Volume: volume.Name, Bound: true}
	if got := see(t, p, want, func(c model.VolumeClaim) bool { return c.Bound }); got != want {
		t.Errorf("told %+v, want %+v", got, want)
	}
	if got := see(t, p, volume, any1); !reflect.DeepEqual(got, volume) {
		t.Errorf("told\n%+v\nwant\n%+v", got, volume)
	}
}
