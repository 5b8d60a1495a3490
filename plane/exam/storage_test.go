package exam

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/model"
)

func (w realWorld) Put(t *testing.T, o model.Object) {
	must(t, w.api.Create(t.Context(), encode(t, o)))
}

func (w realWorld) Remove(t *testing.T, o model.Object) {
	must(t, w.api.Delete(t.Context(), encode(t, o)))
}

// SetWindow writes the ConfigMap as AKS does (Karpenter's Azure provider reads it, pkg/controllers/nodeclass/status).
func (w realWorld) SetWindow(t *testing.T, x model.MaintenanceWindow) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "upcoming-maintenance-window"}, Data: map[string]string{
		"aksManagedNodeOSUpgradeSchedule-start": x.Opens.Format(time.RFC3339), "aksManagedNodeOSUpgradeSchedule-end": x.Closes.Format(time.RFC3339)}}
	must(t, client.IgnoreNotFound(w.api.Delete(t.Context(), config.DeepCopy())))
	must(t, w.api.Create(t.Context(), config))
	t.Cleanup(func() { must(t, w.api.Delete(context.Background(), config)) })
}

// encode writes the object as a person would.
func encode(t *testing.T, o model.Object) client.Object {
	switch o := o.(type) {
	case model.Namespace:
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: o.Labels}}
	case model.VolumeClaim:
		mode := corev1.ReadWriteOnce
		if o.OnePod {
			mode = corev1.ReadWriteOncePod
		}
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{mode},
				Resources:   corev1.VolumeResourceRequirements{Requests: size()}, StorageClassName: &o.Class, VolumeName: o.Volume,
			},
		}
	case model.PersistentVolume:
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: size(),
		}}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: o.Driver, VolumeHandle: o.Handle}
		if o.ClaimName != "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: o.ClaimNamespace, Name: o.ClaimName}
		}
		if len(o.Terms) > 0 {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
			for _, term := range o.Terms {
				var n corev1.NodeSelectorTerm
				for _, r := range term {
					n.MatchExpressions = append(n.MatchExpressions, corev1.NodeSelectorRequirement{
						Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Op), Values: r.Values,
					})
				}
				v.Spec.NodeAffinity.Required.NodeSelectorTerms = append(v.Spec.NodeAffinity.Required.NodeSelectorTerms, n)
			}
		}
		return v
	case model.StorageClass:
		mode := storagev1.VolumeBindingImmediate
		if o.Waits {
			mode = storagev1.VolumeBindingWaitForFirstConsumer
		}
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Provisioner: o.Provisioner, VolumeBindingMode: &mode}
		for _, term := range o.Terms {
			var n corev1.TopologySelectorTerm
			for _, r := range term {
				n.MatchLabelExpressions = append(n.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: r.Key, Values: r.Values})
			}
			c.AllowedTopologies = append(c.AllowedTopologies, n)
		}
		if o.Redundant {
			c.Parameters = map[string]string{"skuName": "StandardSSD_ZRS"}
		}
		return c
	case model.CSINode:
		n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: o.Name}}
		for driver, keys := range o.TopologyKeys {
			d := storagev1.CSINodeDriver{Name: driver, NodeID: o.Name, TopologyKeys: keys}
			if limit, ok := o.AttachLimits[driver]; ok {
				d.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(limit))}
			}
			n.Spec.Drivers = append(n.Spec.Drivers, d)
		}
		return n
	}
	t.Fatalf("no lever for a %T", o)
	return nil
}

func size() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
}
