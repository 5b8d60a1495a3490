package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// landingPatience bounds how long 500 pods may take to run once their machines are bought. A busy machine needs a minute; a pod that waits
// until kube-scheduler flushes its queue needs five.
const landingPatience = 150 * time.Second

// missed bounds for how many of the 500 pods another machine may be bought, or was before they found another place, when kube-scheduler is told what was planned: a part of
// those for which one is bought in the same run when it is told nothing. None is the rule. But nodes do not open in one instant, and a machine that has several times as much to
// do as it can may cost a pod its place in between.
const missed = 4

// TestLanding lets 500 pods of mixed shapes wait, then opens a pool for them: one plan is made, kube-scheduler is told of it, and the real one must
// bind the pods to what was bought for them. When it is told nothing everybody finds a place nevertheless, on machines that were bought for others or in a second round.
func TestLanding(t *testing.T) {
	untold := 0
	t.Run("kube-scheduler is told nothing", func(t *testing.T) {
		landed(t, false, func(again []string) {
			if untold = len(again); untold == 0 {
				t.Fatal("all got what was bought for them: is kube-scheduler told nothing, and are nominations of use?")
			}
		})
	})
	t.Run("kube-scheduler is told", func(t *testing.T) {
		landed(t, true, func(again []string) {
			if len(again)*missed > untold {
				t.Fatalf("another machine was bought for %d pods, and for %d when kube-scheduler was told nothing: nominations are of little use", len(again), untold)
			}
		})
	})
}

// landed plays a landing to the end, says what came of it, for make bench-compare to read, and has the pods judged that more than one machine was bought for.
func landed(t *testing.T, told bool, judge func(again []string)) {
	l := up(t, "--boot-time", "0s", "--boot-spread", "3s", "--feature-gates", fmt.Sprintf("nominatedNodes=%v", told))
	x := l.landMixture()
	t.Logf("landing of 500 pods of mixed shapes: told %v; machines planned %d, there %d; bought for again %d; seconds %.0f", told, x.planned, len(l.nodes()), len(x.again), x.took.Seconds())
	if len(x.again) > 0 {
		t.Logf("bought for again: %s", strings.Join(x.again, ", "))
	}
	judge(x.again) // before anything is cleared away: a failure shows who is where
	l.do("kubectl", "delete", "deployments", "--all")
	l.do("kubectl", "delete", "nodepool", "landing", "--wait=false")
	l.until("nothing is left", 2*time.Minute, l.nothingLeft)
}

// landing is what came of one.
type landing struct {
	planned int           // machines, at first
	again   []string      // pods that another machine was bought for
	took    time.Duration // from the first purchase until all run
}

func (l *lab) landMixture() landing {
	l.t.Helper()
	l.apply("general-purpose.yaml")
	l.remove(pool("general-purpose", nil))
	list := mixture()
	total := 0
	for _, w := range list {
		l.create(w.deployment())
		total += w.pods
	}
	if total != 500 {
		l.t.Fatalf("the mixture has %d pods", total)
	}
	l.until("the scheduler found no place for any of them", 2*time.Minute, func() bool {
		waiting := 0
		for _, w := range list {
			for _, p := range l.pods(w.name) {
				if unschedulable(p) {
					waiting++
				}
			}
		}
		return waiting == total
	})
	l.create(pool("landing", func(p *karpv1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	}))
	first := map[string]bool{}
	l.until("a machine is bought for every pod", time.Minute, func() bool {
		pods := map[string]bool{}
		clear(first)
		for _, c := range l.claims() {
			first[c.Name] = true
			for pod := range strings.SplitSeq(c.Annotations["karpenter.azure.com/planned-pods"], ",") {
				pods[pod] = true
			}
		}
		return len(pods) == total
	})
	began := time.Now()
	l.land(landingPatience, func() {}, list...)
	x := landing{planned: len(first), took: time.Since(began), again: l.boughtTwice()}
	l.until("each claim has its node", time.Minute, func() bool { return len(l.claims()) == len(l.nodes()) }) // the last pod may run before
	for _, c := range l.claims() {
		if !first[c.Name] {
			x.again = append(x.again, strings.FieldsFunc(c.Annotations["karpenter.azure.com/planned-pods"], func(r rune) bool { return r == ',' })...)
		}
	}
	slices.Sort(x.again)
	x.again = slices.Compact(x.again)
	return x
}

func unschedulable(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// mixture is 500 pods: half of them plain in five sizes, the others with every kind of constraint.
func mixture() []workload {
	var out []workload
	add := func(kind string, pods int, cpu string, edit func(w workload, s *corev1.PodSpec)) {
		w := workload{name: fmt.Sprintf("%s-%d", kind, len(out)), pods: pods, cpu: cpu}
		bare := w
		w.edit = func(s *corev1.PodSpec) {
			if edit != nil {
				edit(bare, s)
			}
		}
		out = append(out, w)
	}
	for _, cpu := range []string{"100m", "250m", "500m", "1", "1900m"} {
		add("plain", 50, cpu, nil)
	}
	spread := func(key string) func(workload, *corev1.PodSpec) {
		return func(w workload, s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: w.selector()},
			}
		}
	}
	for _, cpu := range []string{"200m", "400m", "700m", "1"} {
		add("zones", 30, cpu, spread(zoneKey))
	}
	add("hosts", 20, "300m", spread(hostKey))
	add("apart", 15, "600m", func(w workload, s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: hostKey, LabelSelector: w.selector()}},
		}}
	})
	add("together", 20, "500m", func(w workload, s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: zoneKey, LabelSelector: w.selector()}},
		}}
	})
	add("port", 10, "150m", func(_ workload, s *corev1.PodSpec) {
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9000, HostPort: 9000}}
	})
	add("west", 30, "400m", func(_ workload, s *corev1.PodSpec) { s.NodeSelector = map[string]string{zoneKey: "westus3-1"} })
	add("large", 5, "7", nil)
	add("soft", 30, "250m", func(w workload, s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{TopologyKey: zoneKey, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: w.selector()},
		}
	})
	return out
}
