package apikube

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// Annotations on volume claims, as the volume controller and kube-scheduler write them.
const (
	annotationBindCompleted = "pv.kubernetes.io/bind-completed"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
)

// The drivers to which Kubernetes hands volumes that are written in the old, built-in form.
const (
	driverAzureDisk = "disk.csi.azure.com"
	driverAzureFile = "file.csi.azure.com"
	driverEBS       = "ebs.csi.aws.com"
)

// provisioner maps the names that old storage classes use to those drivers.
func provisioner(name string) string {
	switch name {
	case "kubernetes.io/azure-disk":
		return driverAzureDisk
	case "kubernetes.io/azure-file":
		return driverAzureFile
	case "kubernetes.io/aws-ebs":
		return driverEBS
	}
	return name
}

func decodeVolumeClaim(c *corev1.PersistentVolumeClaim) model.VolumeClaim {
	_, bound := c.Annotations[annotationBindCompleted]
	out := model.VolumeClaim{
		Namespace: c.Namespace, Name: c.Name, Volume: c.Spec.VolumeName, Bound: bound && c.Spec.VolumeName != "",
		SelectedNode: c.Annotations[annotationSelectedNode],
		OnePod:       slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod),
		Lost:         c.Status.Phase == corev1.ClaimLost, Deleting: c.DeletionTimestamp != nil,
	}
	if old, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		out.Class = old
	} else if c.Spec.StorageClassName != nil {
		out.Class = *c.Spec.StorageClassName
	}
	return out
}

// decodeVolume reads a volume. Where it can be reached is its node affinity and, for volumes from before that existed, its
// zone and region labels too.
func decodeVolume(v *corev1.PersistentVolume) model.PersistentVolume {
	out := model.PersistentVolume{Name: v.Name}
	if c := v.Spec.ClaimRef; c != nil {
		out.ClaimNamespace, out.ClaimName = c.Namespace, c.Name
	}
	switch s := v.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		out.Driver, out.Handle = s.CSI.Driver, s.CSI.VolumeHandle
	case s.AzureDisk != nil:
		out.Driver, out.Handle = driverAzureDisk, s.AzureDisk.DataDiskURI
	case s.AWSElasticBlockStore != nil:
		out.Driver, out.Handle = driverEBS, s.AWSElasticBlockStore.VolumeID
	}
	labelled := volumeLabels(v.Labels)
	if a := v.Spec.NodeAffinity; a != nil && a.Required != nil {
		out.Terms = make([]model.Term, 0, len(a.Required.NodeSelectorTerms))
		for _, t := range a.Required.NodeSelectorTerms {
			m := term(t)
			if len(t.MatchFields) > 0 {
				m = nil // by field: it names a node that exists, and no label of it
			}
			if len(m) > 0 {
				m = append(m, labelled...)
			}
			out.Terms = append(out.Terms, m)
		}
	} else if len(labelled) > 0 {
		out.Terms = []model.Term{labelled}
	}
	return out
}

// volumeLabels reads the labels that say where a volume is; several values stand in one, between double underscores.
func volumeLabels(labels map[string]string) model.Term {
	var out model.Term
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		switch k {
		case corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion:
			values := strings.Split(labels[k], "__")
			slices.Sort(values)
			out = append(out, model.Requirement{Key: k, Op: model.In, Values: slices.Compact(values)})
		}
	}
	return out
}

func decodeStorageClass(c *storagev1.StorageClass) model.StorageClass {
	out := model.StorageClass{
		Name: c.Name, Provisioner: provisioner(c.Provisioner),
		Waits: c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
	}
	for _, t := range c.AllowedTopologies {
		var m model.Term
		for _, e := range t.MatchLabelExpressions {
			m = append(m, model.Requirement{Key: e.Key, Op: model.In, Values: slices.Clone(e.Values)})
		}
		out.Terms = append(out.Terms, m) // one that says nothing matches no node (MatchTopologySelectorTerms of k8s.io/kubernetes/pkg/apis/core/v1/helper)
	}
	for k, v := range c.Parameters { // names and values are read in any case (docs/driver-parameters.md of kubernetes-sigs/azuredisk-csi-driver)
		k, v = strings.ToLower(k), strings.ToUpper(v)
		if out.Provisioner == driverAzureDisk && (k == "skuname" || k == "storageaccounttype") && strings.HasSuffix(v, "_ZRS") {
			out.Redundant = true
		}
	}
	return out
}

func decodeCSINode(n *storagev1.CSINode) model.CSINode {
	out := model.CSINode{Name: n.Name}
	for _, d := range n.Spec.Drivers {
		if out.TopologyKeys == nil {
			out.TopologyKeys = map[string][]string{}
		}
		out.TopologyKeys[d.Name] = append([]string(nil), d.TopologyKeys...)
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			if out.AttachLimits == nil {
				out.AttachLimits = map[string]int64{}
			}
			out.AttachLimits[d.Name] = int64(*d.Allocatable.Count)
		}
	}
	return out
}

func decodeNamespace(n *corev1.Namespace) model.Namespace {
	return model.Namespace{Name: n.Name, Labels: maps.Clone(n.Labels)}
}
