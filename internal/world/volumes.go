package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// noProvisioner is the storage class of volumes that nobody makes: a claim gets one that lies ready somewhere.
const noProvisioner = "kubernetes.io/no-provisioner"

// withVolumes gives the pod the volumes that its claims stand for, and WhyVolumes among its needs when nobody can say yet where they
// will be. A pod without claims stays as it is. Whatever was there before from other facts is replaced.
func (w *World) withVolumes(p *model.Pod) {
	if len(p.VolumeClaims) == 0 {
		return
	}
	p.Volumes = nil
	undecided := false
	for _, name := range p.VolumeClaims {
		v, ok := w.volume(model.VolumeClaim{Namespace: p.Namespace, Name: name})
		undecided = undecided || !ok
		if v.ID != "" {
			p.Volumes = append(p.Volumes, v)
		}
	}
	slices.SortFunc(p.Volumes, func(a, b model.Volume) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Said, b.Said))
	})
	p.Volumes = slices.CompactFunc(p.Volumes, func(a, b model.Volume) bool { return a.ID == b.ID })
	if has := slices.Contains(p.Needs, model.WhyVolumes); has != undecided {
		needs := slices.DeleteFunc(slices.Clone(p.Needs), func(y model.Why) bool { return y == model.WhyVolumes })
		if undecided {
			needs = slices.Insert(needs, 0, model.WhyVolumes) // it is the first of the needs that there still are
		}
		if len(needs) == 0 {
			needs = nil
		}
		p.Needs = needs
	}
}

// volume says what the claim stands for, and whether that is enough to place a pod that waits for it. Rules: those of
// kube-scheduler's volume binding. What is there is told also when it is not enough, because a pod that runs uses it.
func (w *World) volume(like model.VolumeClaim) (model.Volume, bool) {
	c, ok := w.volumeClaims.get(like)
	if !ok {
		return model.Volume{}, false // no such claim (yet)
	}
	sound := !c.Lost && !c.Deleting
	class, known := w.storageClasses.get(model.StorageClass{Name: c.Class})
	known = known && c.Class != ""
	if c.Volume != "" {
		v, ok := w.volumes.get(model.PersistentVolume{Name: c.Volume})
		if !ok {
			return model.Volume{}, false
		}
		// A claim that names its volume beforehand is bound by the volume controller, whatever its class: until it has, kube-scheduler
		// takes the pod for nobody's (GetPodVolumeClaims in its plugin volumebinding counts it among unbound immediate claims).
		return model.Volume{ID: volumeID(v), Driver: v.Driver, Terms: v.Terms, OnePod: c.OnePod,
			Said: fmt.Sprintf("claim %s (volume %s)", c.ObjectKey(), v.Name)}, sound && c.Bound
	}
	if !known || !class.Waits || class.Provisioner == noProvisioner {
		return model.Volume{}, false
	}
	out := model.Volume{ID: "claim " + c.ObjectKey(), Driver: class.Provisioner, Terms: class.Terms, OnePod: c.OnePod,
		Said: fmt.Sprintf("claim %s (storage class %s)", c.ObjectKey(), class.Name)}
	if !class.Redundant {
		out.Within = w.within(class.Provisioner)
	}
	if c.SelectedNode != "" {
		out.Within = nil
		out.Terms = onNode(c.SelectedNode, class.Terms)
		out.Said = fmt.Sprintf("claim %s (about to be bound for node %s)", c.ObjectKey(), c.SelectedNode)
	}
	return out, sound
}

// diskZone is where the Azure disk driver says in which zone a machine's disks must be (deploy/example/topology of
// kubernetes-sigs/azuredisk-csi-driver).
const diskZone = "topology.disk.csi.azure.com/zone"

// within are the node labels by which the driver says where a volume is reached from: kube-scheduler has it made for the first pod's node, and the driver writes
// that node's values of these labels into the volume's node affinity. Nodes say them (CSINode); until one has the driver, what Azure's disk driver is known to say.
func (w *World) within(driver string) []string {
	if keys, seen := w.driverKeys[driver]; seen {
		return keys
	}
	if driver == "disk.csi.azure.com" {
		return []string{diskZone}
	}
	return nil
}

// learnKeys remembers by which labels the node's drivers tell where a volume is reached from. Nodes that are gone said the same.
func (w *World) learnKeys(n model.CSINode) {
	for driver, keys := range n.TopologyKeys {
		keys = slices.Sorted(slices.Values(keys))
		if old, seen := w.driverKeys[driver]; !seen || !slices.Equal(old, keys) {
			w.driverKeys[driver], w.movedClasses = keys, true
		}
	}
}

// onNode narrows the topologies of a class to the node for which the volume is being made; kube-scheduler asks for both.
func onNode(name string, terms []model.Term) []model.Term {
	host := model.Requirement{Key: model.LabelHostname, Op: model.In, Values: []string{name}}
	if terms == nil {
		return []model.Term{{host}}
	}
	var out []model.Term
	for _, t := range terms {
		if len(t) > 0 { // one that says nothing stays one that matches nothing
			t = append(slices.Clone(t), host)
		}
		out = append(out, t)
	}
	return out
}

// volumeID names a volume as its driver does, because two persistent volumes may be one disk.
func volumeID(v model.PersistentVolume) string {
	if v.Driver == "" || v.Handle == "" {
		return v.Name
	}
	return v.Driver + "/" + v.Handle
}

// settleVolumes finishes anew the pods whose claims stand for something else now. O(such pods), and O(claims) when volumes or classes moved.
func (w *World) settleVolumes() {
	if len(w.movedVolumes) > 0 || w.movedClasses {
		w.volumeClaims.settle()
		for c := range w.volumeClaims.rows.All() {
			if w.movedClasses || w.movedVolumes[c.Volume] {
				w.movedClaims[c.ObjectKey()] = true
			}
		}
	}
	for claim := range w.movedClaims {
		w.finish(w.mounted[claim])
	}
	clear(w.movedClaims)
	clear(w.movedVolumes)
	w.movedClasses = false
}

// withLimits gives the node the attach limits that its CSI drivers report.
func (w *World) withLimits(n *model.Node) {
	if c, ok := w.csiNodes.get(model.CSINode{Name: n.Name}); ok {
		n.AttachLimits = c.AttachLimits
	} else if w.movedDrivers[n.Name] {
		n.AttachLimits = nil
	}
}

// settleLimits finishes anew the nodes whose drivers changed.
func (w *World) settleLimits() {
	if len(w.movedDrivers) > 0 {
		for node := range w.movedDrivers {
			w.nodes.again(model.Node{Name: node})
		}
		clear(w.movedDrivers)
	}
}
