package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// constraintPatience bounds how long the pods of one scenario may take to run; they need a few seconds.
const constraintPatience = 90 * time.Second

// scenario is one constraint: what is there, and what must hold once all pods run under the real scheduler.
type scenario struct {
	name      string
	also      []client.Object // beside the workloads
	workloads []workload
	next      []workload // come when the workloads run
	waits     []waiter   // come together with next, and stay behind
	// play does, again and again, what somebody else in a cluster would do: a provisioner of disks, a device plugin. nil = nobody.
	play  func(l *lab)
	made  []client.Object     // by play, to be removed
	holds func(l *lab) string // "" or what is wrong
}

// waiter is a workload of which some pods stay behind.
type waiter struct {
	workload
	left int
	says string // what is said of them by the controller; "" = nothing at all
}

// sideBySide is how many labs share the scenarios. Most of a scenario's time is waiting: for machines to leave, above all.
const sideBySide = 2

// TestConstraints asks for one constraint after the other. Each must be met with the first purchase.
//
// Not here, because other stories have them: startup taints that a DaemonSet takes away, and DaemonSets' own requests (every node of
// the lab), pods of leaving nodes and limits (README), static pools, overlays' prices and buffers (TestFeaturesThatPeopleSwitchOn).
func TestConstraints(t *testing.T) {
	all := slices.Concat(podScenarios(), spreadScenarios(), neighbourScenarios(), machineScenarios(), poolScenarios(), volumeScenarios(), waitScenarios())
	for n := range sideBySide {
		t.Run(fmt.Sprintf("lab %d", n), func(t *testing.T) {
			t.Parallel()
			l := up(t, "--boot-time", "0s")
			l.apply("general-purpose.yaml")
			l.remove(pool("general-purpose", nil))
			l.create(pool("open", nil))
			for i := n; i < len(all); i += sideBySide {
				t.Run(all[i].name, func(t *testing.T) {
					l := *l
					l.t = t
					all[i].run(&l)
				})
			}
		})
	}
}

func (s scenario) run(l *lab) {
	defer s.clear(l) // also when it fails: the next one needs an empty cluster
	l.create(s.also...)
	play := func() {
		if s.play != nil {
			s.play(l)
		}
	}
	l.createAll(s.workloads)
	l.land(constraintPatience, play, s.workloads...)
	l.createAll(s.next)
	for _, w := range s.waits {
		l.createAll([]workload{w.workload})
	}
	l.land(constraintPatience, play, slices.Concat(s.workloads, s.next)...)
	for _, w := range s.waits {
		l.until("the rest of "+w.name+" waits, and is told why", constraintPatience, func() bool { return l.waits(w) })
	}
	if wrong := s.holds(l); wrong != "" {
		l.t.Error(wrong)
	}
	if again := l.boughtTwice(); len(again) > 0 {
		l.t.Errorf("bought for again: %s", strings.Join(again, ", "))
	}
}

func (s scenario) clear(l *lab) {
	all := slices.Concat(s.workloads, s.next)
	for _, w := range s.waits {
		all = append(all, w.workload)
	}
	for _, w := range all {
		l.remove(w.object())
	}
	for _, o := range slices.Concat(s.also, s.made) {
		if _, ok := o.(*corev1.Namespace); !ok { // deleting one takes long and is not what we look at
			l.remove(o)
		}
	}
	l.until("nothing is left", 3*time.Minute, l.nothingLeft)
}

func (l *lab) createAll(list []workload) {
	l.t.Helper()
	for _, w := range list {
		l.create(w.object())
	}
}

// waits reports whether exactly so many pods of the workload have no node, the others run, and the controller said of those left
// what it should.
func (l *lab) waits(w waiter) bool {
	left := map[string]bool{}
	pods := l.podsOf(w.workload)
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			left[p.Name] = true
		} else if !podReady(p) {
			return false
		}
	}
	if len(pods) != w.pods || len(left) != w.left {
		return false
	}
	said := map[string]bool{}
	for _, e := range l.events() {
		if e.Source.Component == "karpenter" || e.ReportingController == "karpenter" {
			if left[e.InvolvedObject.Name] && (w.says == "" || strings.Contains(e.Message, w.says)) {
				said[e.InvolvedObject.Name] = true
			}
		}
	}
	if w.says == "" {
		return len(said) == 0
	}
	return len(said) == w.left
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

// want compares counts by domain: nil counts mean that the domains do not matter.
func want(what string, got map[string]int, wanted map[string]int) string {
	for k, n := range wanted {
		if got[k] != n {
			return fmt.Sprintf("%s: %v, want %v", what, got, wanted)
		}
	}
	return ""
}

// spreadOut says whether pods are in at least so many domains with a skew of at most 1.
func spreadOut(what string, got map[string]int, domains int) string {
	if skew(got) > 1 || len(got) < domains {
		return fmt.Sprintf("%s: %v, want at least %d and a skew of at most 1", what, got, domains)
	}
	return ""
}

// first returns what is wrong first.
func first(wrong ...string) string {
	for _, w := range wrong {
		if w != "" {
			return w
		}
	}
	return ""
}

func always(*lab) string { return "" }
