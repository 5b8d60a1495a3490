package story

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const rackKey = "example.com/rack"

// spread is a constraint over the workload's own pods, hard and with a skew of 1 unless edited. kube-scheduler knows only domains
// that have a node: where a test counts domains it asks for minDomains, or the node that comes first takes more than its share.
func (w workload) spread(key string, edit func(*corev1.TopologySpreadConstraint)) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		c := corev1.TopologySpreadConstraint{TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: w.selector()}
		if edit != nil {
			edit(&c)
		}
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, c)
	}
}

// rack is a pool whose machines stand in a rack of the user's own naming.
func rack(name string, edit func(*karpv1.NodePool)) *karpv1.NodePool {
	return pool("rack-"+name, func(p *karpv1.NodePool) {
		p.Spec.Template.Labels[rackKey] = name
		if edit != nil {
			edit(p)
		}
	})
}

func toPool(name string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{karpv1.NodePoolLabelKey: name} }
}

// inZones is the required node affinity for zones.
func inZones(zones ...string) *corev1.Affinity {
	return anyOf(corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpIn, Values: zones})
}

// anyOf makes each requirement a term of its own: one of them must hold.
func anyOf(list ...corev1.NodeSelectorRequirement) *corev1.Affinity {
	n := &corev1.NodeSelector{}
	for _, r := range list {
		n.NodeSelectorTerms = append(n.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: n}}
}

// spreadScenarios are about topology spread.
func spreadScenarios() []scenario {
	zones := workload{name: "zones", pods: 6, cpu: "500m"}
	three := int32(3)
	atLeastThree := func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &three }
	zones.edit = zones.spread(zoneKey, atLeastThree)
	hosts := workload{name: "hosts", pods: 6, cpu: "100m"}
	hosts.edit = hosts.spread(hostKey, atLeastThree)
	both := workload{name: "both", pods: 6, cpu: "100m"}
	both.edit = func(s *corev1.PodSpec) {
		both.spread(zoneKey, atLeastThree)(s)
		both.spread(hostKey, func(c *corev1.TopologySpreadConstraint) { c.MaxSkew = 2 })(s)
	}
	wish := workload{name: "wish", pods: 4, cpu: "100m"}
	wish.edit = wish.spread(hostKey, func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })
	return []scenario{
		{name: "spread over zones", workloads: []workload{zones}, holds: func(l *lab) string {
			return spreadOut("pods by zone", l.perDomain(zones, zoneKey), 3)
		}},
		{name: "spread over at least three hosts", workloads: []workload{hosts}, holds: func(l *lab) string {
			return spreadOut("pods by host", l.perDomain(hosts, hostKey), 3)
		}},
		{name: "spread over zones and hosts at once", workloads: []workload{both}, holds: func(l *lab) string {
			return spreadOut("pods by zone", l.perDomain(both, zoneKey), 3)
		}},
		{name: "spread that is only a wish", workloads: []workload{wish}, holds: func(l *lab) string {
			if n := len(l.nodes()); n != 1 {
				return "a wish bought further machines"
			}
			return ""
		}},
		rackScenario(), revisionScenario(), policyScenario(),
	}
}

// rackScenario spreads over a label that only the user's pools have; one domain is taken by a tainted machine.
func rackScenario() scenario {
	honor, two := corev1.NodeInclusionPolicyHonor, int32(2)
	keeper := workload{name: "keeper", pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) {
		toPool("rack-c")(s)
		s.Tolerations = []corev1.Toleration{{Key: "reserved", Operator: corev1.TolerationOpExists}}
	}}
	racks := workload{name: "racks", pods: 4, cpu: "500m"}
	racks.edit = racks.spread(rackKey, func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy, c.MinDomains = &honor, &two })
	return scenario{
		name: "spread over a label of one's own, but not onto tainted machines", workloads: []workload{keeper}, next: []workload{racks},
		also: []client.Object{rack("a", nil), rack("b", nil), rack("c", func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}}
		})},
		holds: func(l *lab) string {
			return want("pods by rack", l.perDomain(racks, rackKey), map[string]int{"a": 2, "b": 2})
		},
	}
}

// revisionScenario has two revisions of one application; each is spread by itself (matchLabelKeys).
func revisionScenario() scenario {
	old := workload{name: "old", group: "shop", pods: 3, cpu: "500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-1") }}
	three := int32(3)
	fresh := workload{name: "fresh", group: "shop", pods: 3, cpu: "500m"}
	fresh.edit = func(s *corev1.PodSpec) {
		s.Affinity = inZones("westus3-1", "westus3-2", "westus3-3")
		fresh.spread(zoneKey, func(c *corev1.TopologySpreadConstraint) {
			c.LabelSelector.MatchLabels = map[string]string{"group": "shop"}
			c.MatchLabelKeys, c.MinDomains = []string{"app"}, &three
		})(s)
	}
	return scenario{name: "a new revision is spread by itself", workloads: []workload{old}, next: []workload{fresh}, holds: func(l *lab) string {
		return want("pods by zone", l.perDomain(fresh, zoneKey), map[string]int{"westus3-1": 1, "westus3-2": 1, "westus3-3": 1})
	}}
}

// policyScenario counts zones that the pods may not use: with nobody in the third, each of the other two takes one pod.
func policyScenario() scenario {
	ignore := corev1.NodeInclusionPolicyIgnore
	there := workload{name: "there", pods: 1, cpu: "500m", edit: func(s *corev1.PodSpec) { s.Affinity = inZones("westus3-3") }}
	counted := workload{name: "counted", pods: 3, cpu: "500m"}
	counted.edit = func(s *corev1.PodSpec) {
		s.Affinity = inZones("westus3-1", "westus3-2")
		counted.spread(zoneKey, func(c *corev1.TopologySpreadConstraint) { c.NodeAffinityPolicy = &ignore })(s)
	}
	return scenario{
		name: "spread that counts zones out of reach", workloads: []workload{there},
		waits: []waiter{{workload: counted, left: 1, says: "topology-spread"}}, holds: func(l *lab) string {
			return want("pods by zone", l.perDomain(counted, zoneKey), map[string]int{"westus3-1": 1, "westus3-2": 1})
		},
	}
}
