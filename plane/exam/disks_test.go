package exam

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rack is a cloud with one disk, which is attached as soon as somebody allows it.
type rack struct {
	mu      sync.Mutex // guards the fields below
	allowed bool
	at      string   // the node that has it
	did     []string // what happened to it, in order
}

// AttachDisk implements kubelet.Disks.
func (r *rack) AttachDisk(_, node string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.allowed:
		return errors.New("not yet")
	case r.at == node:
		return nil
	case r.at != "":
		r.did = append(r.did, "refused to "+node)
		return errors.New("it is attached to " + r.at)
	}
	r.at = node
	r.did = append(r.did, "attached to "+node)
	return nil
}

// DetachDisk implements kubelet.Disks.
func (r *rack) DetachDisk(_, node string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == node {
		r.at = ""
		r.did = append(r.did, "detached from "+node)
	}
	return nil
}

func (r *rack) allow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed = true
}

func (r *rack) story() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.did)
}

// testDisks has a pod wait for its disk, and then the disk for the pod.
func (y *yard) testDisks(t *testing.T) {
	for _, name := range []string{"left", "right"} {
		y.host.Boot(y.machine(name, nil))
		defer y.host.Halt(name)
		y.node(t, name, "ready without startup taint", usable)
	}
	y.disk(t, "data")
	withDisk := func(machine, name string) *corev1.Pod {
		p := podFor(machine, name, "100m")
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		return p
	}
	creating := func(p *corev1.Pod) bool {
		c := p.Status.ContainerStatuses
		return len(c) == 1 && c[0].State.Waiting != nil && c[0].State.Waiting.Reason == "ContainerCreating"
	}

	y.create(t, withDisk("left", "first"))
	y.refused(t, "left", "not yet")
	y.pod(t, "first", "waits for its disk", creating)
	y.logged(t, "left", "pod default/first waits for the disk of claim data")
	y.rack.allow()
	y.pod(t, "first", "running", podReady)

	y.create(t, withDisk("right", "second"))
	y.logged(t, "right", "pod default/second waits for the disk of claim data")
	y.pod(t, "second", "waits for the disk that another has", creating)
	none := int64(0)
	if err := y.api.CoreV1().Pods("default").Delete(t.Context(), "first",
		metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	y.pod(t, "second", "running", podReady)
	want := []string{"attached to left", "detached from left", "attached to right"}
	if got := y.rack.story(); !slices.Equal(got, want) {
		t.Errorf("the disk was %v; want %v", got, want)
	}
}

// disk is a claim of that name, bound to a disk.
func (y *yard) disk(t *testing.T, name string) {
	t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: modes, Capacity: size,
		ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name}}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.azure.com", VolumeHandle: "/disks/" + name}
	if _, err := y.api.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	class := ""
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class, VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: size}}}
	_, err := y.api.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// refused waits until an attachment to the node says why it cannot be.
func (y *yard) refused(t *testing.T, node, why string) {
	t.Helper()
	eventually(t, "an attachment to "+node+" that is refused", func(ctx context.Context) bool {
		list, err := y.api.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, a := range list.Items {
			e := a.Status.AttachError
			if a.Spec.NodeName == node && e != nil && strings.Contains(e.Message, why) {
				return true
			}
		}
		return false
	})
}
