package story

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func near(terms ...corev1.PodAffinityTerm) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
}

func apart(terms ...corev1.PodAffinityTerm) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
}

// by is the term that looks for the workload's pods in a domain of the node label.
func (w workload) by(key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: w.selector()}
}

// neighbourScenarios are about pods that want to be near others, or far from them.
func neighbourScenarios() []scenario {
	alone := workload{name: "alone", pods: 4, cpu: "100m"}
	alone.edit = apart(alone.by(hostKey))
	db := workload{name: "db", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{zoneKey: "westus3-2"} }}
	web := workload{name: "web", pods: 4, cpu: "1500m", edit: near(db.by(zoneKey))}
	crew := workload{name: "crew", pods: 3, cpu: "1"}
	crew.edit = near(crew.by(hostKey))
	shy := workload{name: "shy", pods: 4, cpu: "100m"}
	shy.edit = func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: shy.by(hostKey)},
		}}}
	}
	fan := workload{name: "fan", pods: 1, cpu: "1", edit: func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: db.by(zoneKey)},
		}}}
	}}
	return []scenario{
		{name: "one per host", workloads: []workload{alone}, holds: func(l *lab) string {
			if got := l.perDomain(alone, hostKey); len(got) != 4 {
				return fmt.Sprintf("pods by host: %v, want four hosts", got)
			}
			return ""
		}},
		{name: "near another pod", workloads: []workload{db, web}, holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(web, zoneKey), map[string]int{"westus3-2": 4})
		}},
		{name: "all on one host", workloads: []workload{crew}, holds: func(l *lab) string {
			if got := l.perDomain(crew, hostKey); len(got) != 1 {
				return fmt.Sprintf("pods by host: %v, want one host", got)
			}
			return ""
		}},
		{name: "a wish to be apart buys nothing", workloads: []workload{shy}, holds: func(l *lab) string {
			if n := len(l.nodes()); n != 1 {
				return fmt.Sprintf("%d nodes, want one", n)
			}
			return ""
		}},
		{name: "a wish to be near costs nothing and is granted", workloads: []workload{db}, next: []workload{fan}, holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(fan, zoneKey), map[string]int{"westus3-2": 1})
		}},
		namespaceScenario(), hermitScenario(),
	}
}

// namespaceScenario looks for pods in another namespace, by its name and by its label. They run already: kube-scheduler does not think
// again about a pod that was refused because nobody was there when one comes that only a selector of namespaces finds.
func namespaceScenario() scenario {
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Labels: map[string]string{"team": "a"}}}
	store := workload{name: "store", ns: team.Name, pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-3") }}
	decoy := workload{name: "store", pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-1") }}
	named, chosen := store.by(zoneKey), store.by(zoneKey)
	named.Namespaces = []string{team.Name}
	chosen.NamespaceSelector = &metav1.LabelSelector{MatchLabels: team.Labels}
	byName := workload{name: "by-name", pods: 2, cpu: "1", edit: near(named)}
	byLabel := workload{name: "by-label", pods: 2, cpu: "1", edit: near(chosen)}
	return scenario{
		name: "near a pod of another namespace", also: []client.Object{team}, workloads: []workload{store, decoy}, next: []workload{byName, byLabel},
		holds: func(l *lab) string {
			there := map[string]int{"westus3-3": 2}
			return first(want("by name", l.perDomain(byName, zoneKey), there), want("by label", l.perDomain(byLabel, zoneKey), there))
		},
	}
}

// hermitScenario has a running pod that refuses others in its zone: they do not say so themselves. They have a term of their own about
// something else, because of pods without any kube-scheduler does not think again when a node comes, but five minutes later.
func hermitScenario() scenario {
	guest := workload{name: "guest", pods: 2, cpu: "100m", edit: apart(workload{name: "nobody"}.by(hostKey))}
	hermit := workload{name: "hermit", pods: 1, cpu: "100m", edit: apart(guest.by(zoneKey))}
	return scenario{name: "a running pod refuses newcomers", workloads: []workload{hermit}, next: []workload{guest}, holds: func(l *lab) string {
		theirs := l.perDomain(guest, zoneKey)
		for zone := range l.perDomain(hermit, zoneKey) {
			if theirs[zone] > 0 {
				return fmt.Sprintf("guests by zone: %v, and the hermit is in %s", theirs, zone)
			}
		}
		return ""
	}}
}
