package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

// farm is an Azure that notes what grows.
type farm struct {
	Azure
	grown []string
	err   error
}

func (f *farm) GrowDisk(id string, gib int64) error {
	f.grown = append(f.grown, fmt.Sprintf("%s %d", id, gib))
	return f.err
}

func (f *farm) GrowShare(account, name string, gib int64) error {
	return f.GrowDisk(account+"/"+name, gib)
}

var _ Azure = (*arm.Cloud)(nil)

// plot is a bound claim of 4Gi that asks for more.
func plot(t *testing.T, driver, handle, asks string) (
	*grower, *farm, func() *corev1.PersistentVolumeClaim) {
	t.Helper()
	storage := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{Capacity: storage("4Gi")}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = "default", "data"
	claim.Spec.VolumeName = "pv"
	claim.Spec.Resources.Requests = storage(asks)
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, storage("4Gi")
	f := &farm{}
	g := newGrower(Config{API: fake.NewClientset(pv, claim), Azure: f, Retry: time.Second,
		RetryMax: time.Second})
	g.events = record.NewFakeRecorder(10)
	return g, f, func() *corev1.PersistentVolumeClaim {
		claims := g.API.CoreV1().PersistentVolumeClaims("default")
		c, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func says(c *corev1.PersistentVolumeClaim) string {
	var list []string
	for _, x := range c.Status.Conditions {
		list = append(list, string(x.Type))
	}
	slices.Sort(list)
	size := c.Status.Capacity[corev1.ResourceStorage]
	at := c.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	return fmt.Sprint(size.String(), list, at)
}

func TestADiskGrowsAndItsFileSystemWaitsForAPod(t *testing.T) {
	g, f, claim := plot(t, diskDriver, "/disks/d", "5500Mi")
	again, err := g.grow(t.Context(), claim())
	if err != nil || !again || !slices.Equal(f.grown, []string{"/disks/d 6"}) {
		t.Fatalf("again %v, %v, grown %q", again, err, f.grown)
	}
	if got := says(claim()); got != "4Gi[FileSystemResizePending Resizing]NodeResizePending" {
		t.Errorf("the claim says %s", got)
	}
	pv, err := g.API.CoreV1().PersistentVolumes().Get(t.Context(), "pv", metav1.GetOptions{})
	if size := pv.Spec.Capacity[corev1.ResourceStorage]; err != nil || size.String() != "6Gi" {
		t.Errorf("the volume holds %s, %v", size.String(), err)
	}
	before := len(g.API.(*fake.Clientset).Actions())
	again, err = g.grow(t.Context(), claim())
	for _, a := range g.API.(*fake.Clientset).Actions()[before:] {
		if a.GetVerb() == "patch" {
			t.Errorf("while it waits something is written: %v", a)
		}
	}
	if err != nil || !again || len(f.grown) != 1 {
		t.Errorf("while it waits: again %v, %v, grown %q", again, err, f.grown)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	pod.Status.Phase = corev1.PodRunning
	_, err = g.API.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again, err = g.grow(t.Context(), claim())
	if got := says(claim()); err != nil || again || got != "6Gi[]" {
		t.Errorf("with a pod: again %v, %v, the claim says %s", again, err, got)
	}
}

func TestAShareGrowsAtOnce(t *testing.T) {
	g, f, claim := plot(t, fileDriver, "MC#account#share###default", "10Gi")
	again, err := g.grow(t.Context(), claim())
	got := says(claim())
	if err != nil || again || got != "10Gi[]" ||
		!slices.Equal(f.grown, []string{"account/share 10"}) {
		t.Errorf("again %v, %v, grown %q, the claim says %s", again, err, f.grown, got)
	}
}

func TestWhatDoesNotGrow(t *testing.T) {
	g, f, claim := plot(t, diskDriver, "/disks/d", "4Gi")
	_, err := g.grow(t.Context(), claim())
	if err != nil || len(f.grown) > 0 {
		t.Errorf("a claim that has what it asks for: %v, grown %q", err, f.grown)
	}
	g, f, claim = plot(t, "somebody.else", "x", "8Gi")
	_, err = g.grow(t.Context(), claim())
	if err != nil || len(f.grown) > 0 {
		t.Errorf("a volume of another driver: %v, grown %q", err, f.grown)
	}
	g, f, claim = plot(t, diskDriver, "/disks/d", "8Gi")
	f.err = errors.New("too large")
	_, err = g.grow(t.Context(), claim())
	got := says(claim())
	if !errors.Is(err, f.err) || got != "4Gi[Resizing]ControllerResizeInProgress" {
		t.Errorf("refused: %v, the claim says %s", err, got)
	}
	e := <-g.events.(*record.FakeRecorder).Events
	if e != "Warning VolumeResizeFailed pv does not grow to 8Gi: too large" {
		t.Errorf("the event is %q", e)
	}
}

// Claims are followed as they change, and all ends with the context.
func TestClaimsAreFollowed(t *testing.T) {
	g, _, claim := plot(t, fileDriver, "MC#account#share###default", "4Gi")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); g.run(ctx) }()
	more := []byte(`{"spec":{"resources":{"requests":{"storage":"7Gi"}}}}`)
	claims := g.API.CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Patch(ctx, "data", types.MergePatchType, more, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); says(claim()) != "7Gi[]"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the claim says %s", says(claim()))
		}
	}
	stop()
	<-ended
}
