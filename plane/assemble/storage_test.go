package assemble

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// store asks for volumes without nodes: shares are made at once, disks of AKS' own classes wait for a pod, and a disk of a class
// that does not wait has nowhere to go. Shares grow at once. Disks on machines are in package story.
func store(t *testing.T, l *Lab) {
	claims := l.ident.api.CoreV1().PersistentVolumeClaims("default")
	immediate := storagev1.VolumeBindingImmediate
	_, err := l.ident.api.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: "disk.csi.azure.com", VolumeBindingMode: &immediate}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, class string) {
		t.Helper()
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}},
		}}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		if _, err := claims.Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ask("share", "azurefile-csi")
	ask("disk", "") // of the default class
	ask("nowhere", "at-once")
	held := func() string {
		var out []string
		for _, r := range l.cloud.Resources() {
			out = append(out, r.Size)
		}
		return strings.Join(out, ", ")
	}
	eventually(t, "a share that is bound", func() bool {
		c, err := claims.Get(t.Context(), "share", metav1.GetOptions{})
		return err == nil && c.Status.Phase == corev1.ClaimBound
	})
	eventually(t, "why a disk can be nowhere", func() bool {
		got, err := l.ident.api.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ProvisioningFailed"})
		return err == nil && len(got.Items) > 0 && strings.Contains(got.Items[0].Message, "no available topology found")
	})
	c, err := claims.Get(t.Context(), "disk", metav1.GetOptions{})
	if err != nil || c.Status.Phase != corev1.ClaimPending || c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != "default" {
		t.Errorf("the disk's claim is %+v, %v; want it to wait, with the class default", c, err)
	}
	if got := held(); got != "Standard_LRS 5Gi" {
		t.Errorf("Azure holds %q", got)
	}
	more := []byte(`{"spec":{"resources":{"requests":{"storage":"9Gi"}}}}`)
	if _, err = claims.Patch(t.Context(), "share", types.MergePatchType, more, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a share that has grown", func() bool {
		c, err := claims.Get(t.Context(), "share", metav1.GetOptions{})
		size := c.Status.Capacity[corev1.ResourceStorage]
		growing := slices.ContainsFunc(c.Status.Conditions, func(x corev1.PersistentVolumeClaimCondition) bool {
			return x.Type == corev1.PersistentVolumeClaimResizing || x.Type == corev1.PersistentVolumeClaimFileSystemResizePending
		})
		return err == nil && size.String() == "9Gi" && !growing && held() == "Standard_LRS 9Gi"
	})
	for _, name := range []string{"share", "disk", "nowhere"} {
		if err := claims.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the share is gone, and its volume", func() bool {
		left, err := l.ident.api.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(left.Items) == 0 && held() == ""
	})
	if _, err := claims.Get(t.Context(), "share", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim is there: %v", err)
	}
}
