package story

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	diskDriver = "disk.csi.azure.com"
	diskZone   = "topology.disk.csi.azure.com/zone"
)

// volumeScenarios are about disks.
func volumeScenarios() []scenario {
	data := workload{name: "data", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) { mount(s, "data-0") }}
	return []scenario{
		{name: "where its disk is", workloads: []workload{data}, also: disks("data", 1, "westus3-3"), holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(data, zoneKey), map[string]int{"westus3-3": 1})
		}},
		fullScenario(), noSlotScenario(), laterScenario(), setScenario(),
	}
}

// fullScenario needs a machine of more than two cores: those of two take four disks.
func fullScenario() scenario {
	full := workload{name: "full", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) {
		for i := range 6 {
			mount(s, fmt.Sprintf("full-%d", i))
		}
	}}
	return scenario{name: "a machine that takes all its disks", workloads: []workload{full}, also: disks("full", 6, "westus3-1"), holds: func(l *lab) string {
		return want("pods by zone", l.perDomain(full, zoneKey), map[string]int{"westus3-1": 1})
	}}
}

// noSlotScenario has a machine with room for everything but a further disk.
func noSlotScenario() scenario {
	four := workload{name: "four", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) {
		for i := range 4 {
			mount(s, fmt.Sprintf("slot-%d", i))
		}
	}}
	fifth := workload{name: "fifth", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) { mount(s, "slot-4") }}
	return scenario{
		name: "a running machine that takes no further disk", workloads: []workload{four}, next: []workload{fifth}, also: disks("slot", 5, "westus3-1"),
		holds: func(l *lab) string {
			for host := range l.perDomain(fifth, hostKey) {
				if l.perDomain(four, hostKey)[host] > 0 && l.cores(four)[0] == 2 {
					return "five disks are on one machine of two cores"
				}
			}
			return ""
		},
	}
}

// laterScenario has a disk that is made when its pod has a node, in one of the zones that its class allows.
func laterScenario() scenario {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Provisioner: diskDriver, VolumeBindingMode: &wait,
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: diskZone, Values: []string{"westus3-2"}}}}}}
	claim := volumeClaim("fresh-0", &class.Name, "")
	fresh := workload{name: "newborn", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) { mount(s, claim.Name) }}
	return scenario{
		name: "a disk that is made where its pod goes", workloads: []workload{fresh}, also: []client.Object{class, claim},
		holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(fresh, zoneKey), map[string]int{"westus3-2": 1})
		},
	}
}

// setScenario is a database as people write it: a StatefulSet over three zones whose pods each get a disk of AKS' own class. Its
// pods come one after the other; without minDomains kube-scheduler spreads over the zones that have nodes, and the first has all.
// That the disks go with the claims, clear sees: it waits until Azure holds nothing.
func setScenario() scenario {
	db := workload{name: "db", pods: 3, cpu: "100m", class: "managed-csi", edit: func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, MinDomains: new(int32(3)), TopologyKey: zoneKey,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: workload{name: "db"}.selector()}}
	}}
	return scenario{name: "a StatefulSet with a disk for each pod", workloads: []workload{db}, holds: func(l *lab) string {
		zones := map[string]int{}
		for _, r := range l.resources() {
			if r.Size == "StandardSSD_LRS 4Gi" && r.Owner != "" {
				zones["westus3-"+r.Zone]++
			}
		}
		each := map[string]int{"westus3-1": 1, "westus3-2": 1, "westus3-3": 1}
		return want("pods by zone", l.perDomain(db, zoneKey), each) + want("attached disks by zone", zones, each)
	}}
}

func mount(s *corev1.PodSpec, claim string) {
	s.Volumes = append(s.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
}

// disks are so many Azure disks in a zone, and the claims that have them: name-0, name-1 and so on.
func disks(name string, n int, zone string) []client.Object {
	var out []client.Object
	none := ""
	for i := range n {
		d := disk(fmt.Sprintf("%s-%d", name, i), zone)
		out = append(out, d, volumeClaim(d.Name, &none, d.Name))
	}
	return out
}

func diskSize() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")}
}

// disk is an Azure disk in a zone, kept for the claim of its name.
func disk(name, zone string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: diskSize(),
		ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: diskZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}},
	}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: diskDriver, VolumeHandle: "/disks/" + name}
	return v
}

func volumeClaim(name string, class *string, volume string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: class, VolumeName: volume,
			Resources: corev1.VolumeResourceRequirements{Requests: diskSize()},
		},
	}
}
