package story

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// apartPods is how many pods TestLandingBeforeAllAreJudged keeps one per host, beside nine times as many small ones.
var apartPods = flag.Int("apart", 40, "how many pods, one per host, land beside nine times as many small ones")

// TestLandingBeforeAllAreJudged creates many pods while machines may be had: the first of them get theirs while kube-scheduler has yet to look at most. As many
// machines are bought as there are pods that refuse each other, for the others fit beside them.
func TestLandingBeforeAllAreJudged(t *testing.T) {
	n := *apartPods
	l := up(t, "--boot-time", "0s", "--boot-spread", "3s")
	l.apply("general-purpose.yaml")
	l.remove(pool("general-purpose", nil))
	l.create(pool("landing", func(p *karpv1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	}))
	one, small := workload{name: "apart", pods: n, cpu: "200m"}, workload{name: "small", pods: 9 * n, cpu: "100m"}
	one.edit = func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: hostKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "apart"}}}}}}
	}
	l.create(one.deployment())
	l.until("kube-scheduler found no place for one of them", time.Minute, func() bool { return slices.ContainsFunc(l.pods(one.name), unschedulable) || len(l.claims()) > 0 })
	began, ours, theirs := time.Now(), l.processor("karpenter"), l.processor("karpenter-lab")
	l.create(small.deployment())
	l.land(landingPatience*time.Duration(1+n/100), func() {}, one, small)
	took, again := time.Since(began), l.boughtTwice()
	ours, theirs = l.processor("karpenter")-ours, l.processor("karpenter-lab")-theirs
	l.until("each claim has its node", time.Minute, func() bool { return len(l.claims()) == len(l.nodes()) }) // the last pod may run before
	there := len(l.nodes())
	t.Logf("landing of %d pods, %d of them one per host: told true; machines planned %d, there %d; bought for again %d; seconds %.0f", 10*n, n, n, there, len(again), took.Seconds())
	t.Logf("processor time while they landed: controller %v, control plane %v", ours, theirs)
	if ours > theirs*3/5 {
		t.Errorf("the controller took %v of processor time where API server and scheduler took %v: at most three fifths", ours, theirs)
	}
	if there > n+n/10 {
		t.Errorf("%d machines are there, %d are enough; bought for again: %s", there, n, strings.Join(again, ", "))
	}
	l.do("kubectl", "delete", "deployments", "--all")
	l.do("kubectl", "delete", "nodepool", "landing", "--wait=false")
	l.until("nothing is left", 2*time.Minute*time.Duration(1+n/100), l.nothingLeft)
}

// processor returns for how long the lab's children of this program have had a processor. The kernel counts in hundredths of a second (proc_pid_stat(5)).
func (l *lab) processor(program string) (out time.Duration) {
	for _, pid := range descendants(l.proc.PID()) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		head, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); strings.HasSuffix(head, "("+program) && len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11]) // digits, by the kernel
			system, _ := strconv.Atoi(fields[12])
			out += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return out
}
