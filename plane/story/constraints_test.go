package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// constraintPatience bounds how long the pods of one scenario may take to run; they need a few seconds.
const constraintPatience = 90 * time.Second

// scenario is one constraint: what is there, and what must hold once all pods run under the real scheduler.
type scenario struct {
	name      string
	also      []client.Object // beside the workloads
	workloads []workload
	holds     func(l *lab) string // "" or what is wrong
}

// TestConstraints asks for one constraint after the other in one lab. Each must be met with the first purchase.
func TestConstraints(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.remove(pool("general-purpose", nil))
	l.create(pool("open", nil))
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			l := *l
			l.t = t
			l.create(s.also...)
			for _, w := range s.workloads {
				l.create(w.deployment())
			}
			l.land(constraintPatience, s.workloads...)
			if wrong := s.holds(&l); wrong != "" {
				t.Error(wrong)
			}
			if again := l.boughtTwice(); len(again) > 0 {
				t.Errorf("bought for again: %s", strings.Join(again, ", "))
			}
			for _, w := range s.workloads {
				l.remove(w.deployment())
			}
			l.remove(s.also...)
			l.until("nothing is left", 3*time.Minute, l.nothingLeft)
		})
	}
}

// boughtTwice names the pods that more than one claim was bought for: the plan did not hold, and another was made.
func (l *lab) boughtTwice() []string {
	var out []string
	count := map[string]int{}
	for _, c := range l.claims() {
		for pod := range strings.SplitSeq(c.Annotations["karpenter.azure.com/planned-pods"], ",") {
			if count[pod]++; pod != "" && count[pod] == 2 {
				out = append(out, pod)
			}
		}
	}
	slices.Sort(out)
	return out
}

func skew(counts map[string]int) int {
	least, most := -1, 0
	for _, n := range counts {
		most = max(most, n)
		if least < 0 || n < least {
			least = n
		}
	}
	return most - least
}

func scenarios() []scenario {
	return append(neighbourScenarios(), placeScenarios()...)
}

// neighbourScenarios are about pods and other pods.
func neighbourScenarios() []scenario {
	zones := workload{name: "zones", pods: 6, cpu: "500m"}
	zones.edit = func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{TopologyKey: zoneKey, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: zones.selector()},
		}
	}
	three := int32(3)
	hosts := workload{name: "hosts", pods: 6, cpu: "100m"}
	hosts.edit = func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{TopologyKey: hostKey, MaxSkew: 1, MinDomains: &three, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: hosts.selector()},
		}
	}
	apart := workload{name: "apart", pods: 4, cpu: "100m"}
	apart.edit = func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: hostKey, LabelSelector: apart.selector()}},
		}}
	}
	db := workload{name: "db", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{zoneKey: "westus3-2"} }}
	web := workload{name: "web", pods: 4, cpu: "1500m", edit: func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: zoneKey, LabelSelector: db.selector()}},
		}}
	}}
	port := workload{name: "port", pods: 3, cpu: "100m", edit: func(s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
	}}
	return []scenario{
		{name: "spread over zones", workloads: []workload{zones}, holds: func(l *lab) string {
			if got := l.perDomain(zones, zoneKey); skew(got) > 1 || len(got) < 3 {
				return fmt.Sprintf("pods by zone: %v, want three zones or more and a skew of at most 1", got)
			}
			return ""
		}},
		{name: "spread over at least three hosts", workloads: []workload{hosts}, holds: func(l *lab) string {
			if got := l.perDomain(hosts, hostKey); skew(got) > 1 || len(got) < 3 {
				return fmt.Sprintf("pods by host: %v, want three hosts or more and a skew of at most 1", got)
			}
			return ""
		}},
		{name: "one per host", workloads: []workload{apart}, holds: func(l *lab) string {
			if got := l.perDomain(apart, hostKey); len(got) != 4 {
				return fmt.Sprintf("pods by host: %v, want four hosts", got)
			}
			return ""
		}},
		{name: "near another pod", workloads: []workload{db, web}, holds: func(l *lab) string {
			if got := l.perDomain(web, zoneKey); got["westus3-2"] != 4 {
				return fmt.Sprintf("pods by zone: %v, want all four where the database is", got)
			}
			return ""
		}},
		{name: "a port of the host", workloads: []workload{port}, holds: func(l *lab) string {
			if got := l.perDomain(port, hostKey); len(got) != 3 {
				return fmt.Sprintf("pods by host: %v, want three hosts", got)
			}
			return ""
		}},
	}
}

// placeScenarios are about pods and machines.
func placeScenarios() []scenario {
	chosen := workload{name: "chosen", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{zoneKey: "westus3-1", "karpenter.azure.com/sku-version": "5"}
	}}
	tainted := workload{name: "tainted", pods: 2, cpu: "500m", edit: func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "x"}}
		s.NodeSelector = map[string]string{karpv1.NodePoolLabelKey: "team-x"}
	}}
	plain := workload{name: "plain", pods: 2, cpu: "500m"}
	data := workload{name: "data", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) { mount(s, "data-0") }}
	full := workload{name: "full", pods: 1, cpu: "100m", edit: func(s *corev1.PodSpec) {
		for i := range 6 { // a machine of two cores takes four disks
			mount(s, fmt.Sprintf("full-%d", i))
		}
	}}
	var disks []client.Object
	for i := range 6 {
		disks = append(disks, disk(fmt.Sprintf("full-%d", i), "westus3-1")...)
	}
	return []scenario{
		{name: "a chosen node", workloads: []workload{chosen}, holds: func(l *lab) string {
			zone, version := l.perDomain(chosen, zoneKey), l.perDomain(chosen, "karpenter.azure.com/sku-version")
			if zone["westus3-1"] != 2 || version["5"] != 2 {
				return fmt.Sprintf("pods by zone %v and version %v", zone, version)
			}
			return ""
		}},
		{
			name: "taints keep others off", workloads: []workload{tainted, plain},
			also: []client.Object{pool("team-x", func(p *karpv1.NodePool) {
				p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
			})},
			holds: func(l *lab) string {
				in, out := l.perDomain(tainted, karpv1.NodePoolLabelKey), l.perDomain(plain, karpv1.NodePoolLabelKey)
				if in["team-x"] != 2 || out["open"] != 2 {
					return fmt.Sprintf("pods by pool: %v and %v", in, out)
				}
				return ""
			},
		},
		{name: "where its disk is", workloads: []workload{data}, also: disk("data-0", "westus3-3"), holds: func(l *lab) string {
			if got := l.perDomain(data, zoneKey); got["westus3-3"] != 1 {
				return fmt.Sprintf("pods by zone: %v, want westus3-3", got)
			}
			return ""
		}},
		{name: "a machine that takes all its disks", workloads: []workload{full}, also: disks, holds: func(l *lab) string {
			if got := l.perDomain(full, zoneKey); got["westus3-1"] != 1 {
				return fmt.Sprintf("pods by zone: %v, want westus3-1", got)
			}
			return ""
		}},
	}
}

func mount(s *corev1.PodSpec, claim string) {
	s.Volumes = append(s.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
}

// disk is an Azure disk in a zone, and the claim that has it.
func disk(name, zone string) []client.Object {
	none := ""
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: size,
		ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "topology.disk.csi.azure.com/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}},
	}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.azure.com", VolumeHandle: "/disks/" + name}
	return []client.Object{v, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &none, VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}}
}
