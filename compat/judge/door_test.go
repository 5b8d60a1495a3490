package judge_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // what the API server knows of pods
	"k8s.io/kubernetes/pkg/registry/core/pod"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// revision is the label by which pods of a deployment's revisions are told apart.
const revision = "pod-template-hash"

// writer writes pods as people do: with what only the API knows and our nouns do not have.
type writer struct{ r *rand.Rand }

func (w writer) chance(percent int) bool { return w.r.IntN(100) < percent }

func (w writer) keys() []string {
	var out []string
	for _, k := range []string{revision, "tier", "absent"} {
		if w.chance(40) {
			out = append(out, k)
		}
	}
	return out
}

func (w writer) policy() *corev1.NodeInclusionPolicy {
	return [3]*corev1.NodeInclusionPolicy{nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore)}[w.r.IntN(3)]
}

// ties draws keys and policies of the constraints. No key may be in a selector, too.
func (w writer) ties(p *corev1.Pod) {
	if w.chance(80) {
		p.Labels = judge.Labels(p.Labels, map[string]string{revision: fmt.Sprint("r", w.r.IntN(2))})
	}
	free := func(s *metav1.LabelSelector) []string {
		if s == nil || w.chance(40) {
			return nil
		}
		return slices.DeleteFunc(w.keys(), func(k string) bool {
			return slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == k })
		})
	}
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		c.NodeAffinityPolicy, c.NodeTaintsPolicy, c.MatchLabelKeys = w.policy(), w.policy(), free(c.LabelSelector)
	}
	term := func(t *corev1.PodAffinityTerm) {
		t.MatchLabelKeys = free(t.LabelSelector)
		t.MismatchLabelKeys = slices.DeleteFunc(free(t.LabelSelector), func(k string) bool { return slices.Contains(t.MatchLabelKeys, k) })
	}
	a := p.Spec.Affinity
	if a != nil && a.PodAffinity != nil {
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			term(&a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
	}
	if a != nil && a.PodAntiAffinity != nil {
		for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			term(&a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
	}
}

// shutZone taints all nodes of one zone, so that it matters whether a spread counts them.
func (w writer) shutZone(x *model.World) {
	zone := fmt.Sprint("zone-", 1+w.r.IntN(3))
	for i := range x.Nodes {
		if n := &x.Nodes[i]; n.Labels[model.LabelZone] == zone {
			n.Taints = append(slices.Clone(n.Taints), model.Taint{Key: "shut", Effect: model.NoSchedule})
		}
	}
}

// containers draws what is around the main container: init containers and sidecars with requests and host ports, limits that stand
// for requests, overhead, and amounts for the whole pod. initPorts reports whether an init container that ends takes a port.
func (w writer) containers(p *corev1.Pod) (initPorts bool) {
	amount := func() corev1.ResourceList {
		return corev1.ResourceList{"cpu": *resource.NewMilliQuantity(int64(50+w.r.IntN(1500)), resource.DecimalSI), "memory": resource.MustParse([]string{"64Mi", "900Mi", "3Gi"}[w.r.IntN(3)])}
	}
	for i := range w.r.IntN(3) {
		c := corev1.Container{Name: fmt.Sprint("init-", i), Image: "i", Resources: corev1.ResourceRequirements{Requests: amount()}}
		if w.chance(30) {
			c.Resources = corev1.ResourceRequirements{Limits: amount()}
		}
		if w.chance(50) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		if w.chance(15) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 9090, HostPort: 9090}}
			initPorts = initPorts || c.RestartPolicy == nil
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if w.chance(15) {
		p.Spec.Overhead = amount()
	}
	if w.chance(10) {
		whole := corev1.ResourceList{"cpu": resource.MustParse("9"), "memory": resource.MustParse("14Gi")}
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: whole}
	}
	if w.chance(10) {
		p.Spec.HostNetwork = true
	}
	return initPorts
}

// created is the pod as the API server keeps it: with its defaults, and with the keys folded into the selectors. It fails
// the test when the API server would refuse it.
func created(t testing.TB, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	out := p.DeepCopy()
	for i := range out.Spec.Containers {
		out.Spec.Containers[i].ImagePullPolicy = corev1.PullAlways
	}
	legacyscheme.Scheme.Default(out)
	var kept core.Pod
	if err := legacyscheme.Scheme.Convert(out, &kept, nil); err != nil {
		t.Fatal(err)
	}
	pod.Strategy.PrepareForCreate(context.Background(), &kept)
	if errs := pod.Strategy.Validate(context.Background(), &kept); len(errs) > 0 {
		t.Fatalf("the API server refuses pod %s: %v", p.Name, errs)
	}
	back := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(&kept, back, nil); err != nil {
		t.Fatal(err)
	}
	back.Status = p.Status
	return back
}

// door gathers what the product's own door makes of pods.
type door struct{ pods []model.Pod }

func (d *door) Begin()               {}
func (d *door) Synced()              {}
func (d *door) Apply(c model.Change) { d.pods = append(d.pods, c.Object.(model.Pod)) }

func decoded(t testing.TB, p *corev1.Pod) model.Pod {
	t.Helper()
	var d door
	r, err := apikube.NewReader(&d)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Tell(p); err != nil {
		t.Fatal(err)
	}
	return d.pods[0]
}

// rewritten is a random world whose pods came through the API server and our door.
type rewritten struct {
	world     model.World
	pods      map[model.PodKey]*corev1.Pod
	initPorts map[model.PodKey]bool
}

func rewrite(t testing.TB, seed uint64) rewritten {
	t.Helper()
	out := rewritten{world: worldgen.Small(seed), pods: map[model.PodKey]*corev1.Pod{}, initPorts: map[model.PodKey]bool{}}
	w := writer{rand.New(rand.NewPCG(seed, 99))}
	if w.chance(40) {
		w.shutZone(&out.world)
	}
	for i, p := range out.world.Pods {
		p.Volumes, p.VolumeClaims = nil, nil // how claims become volumes is another story
		if p.Node == "" && len(p.Spread) == 0 && w.chance(40) {
			p.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, MinDomains: int32(2 * w.r.IntN(2)),
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{p.Labels["app"]}}}}}}
			if w.chance(50) { // then it matters whether zones count that it cannot go to
				p.NodeSelector = map[string]string{model.LabelZone: fmt.Sprint("zone-", 1+w.r.IntN(3))}
			}
		}
		v1 := objects.Pod(p)
		v1.Spec.TerminationGracePeriodSeconds = new(int64(30))
		w.ties(v1)
		if p.Node == "" {
			out.initPorts[p.Key()] = w.containers(v1)
		}
		v1 = lawful(v1)
		kept := created(t, v1)
		m := decoded(t, kept)
		// Written by somebody who leaves the keys to the reader, it means the same.
		if d := cmp.Diff(m, decoded(t, unfolded(kept, v1)), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("seed %d: pod %s, folded by the API server and by us: %s", seed, p.Key(), d)
		}
		out.world.Pods[i], out.pods[m.Key()] = m, kept
	}
	return out
}

// lawful adds what the API server asks for and our nouns leave out: no more of a device than was asked for.
func lawful(p *corev1.Pod) *corev1.Pod {
	main := &p.Spec.Containers[0].Resources
	if n, ok := main.Requests["example.com/gpu"]; ok {
		main.Limits = corev1.ResourceList{"example.com/gpu": n}
	}
	return p
}

// unfolded is the pod with the constraints as they were before the API server folded keys into selectors.
func unfolded(kept, before *corev1.Pod) *corev1.Pod {
	out := kept.DeepCopy()
	for i := range out.Spec.TopologySpreadConstraints {
		out.Spec.TopologySpreadConstraints[i].LabelSelector = before.Spec.TopologySpreadConstraints[i].LabelSelector
	}
	if out.Spec.Affinity != nil {
		out.Spec.Affinity.PodAffinity, out.Spec.Affinity.PodAntiAffinity = before.Spec.Affinity.PodAffinity, before.Spec.Affinity.PodAntiAffinity
	}
	return out
}

// TestWrittenPodsLand plans for pods that came through the API server's own code and our door, and asks kube-scheduler's plugins about the
// pods as the API server keeps them: what our door makes of a pod must be what kube-scheduler reads in it.
func TestWrittenPodsLand(t *testing.T) {
	landed := 0
	for seed := range uint64(worlds) {
		x := rewrite(t, seed)
		name := fmt.Sprintf("seed %d", seed)
		h := hear(t, hearing{name: name, world: x.world, ask: func(q *judge.Question) { q.Written = x.pods }})
		h.lands(t, name)
		landed += h.answer.Accepted
	}
	if landed < 2*worlds {
		t.Errorf("only %d pods were placed in %d worlds: there is little to judge", landed, worlds)
	}
}

// TestAPodFitsWhereKubeSchedulerSaysSo asks both, for each waiting pod by itself, whether any node takes it. We are stricter in one thing
// only: kube-scheduler lets init containers take ports that are taken.
func TestAPodFitsWhereKubeSchedulerSaysSo(t *testing.T) {
	both := map[bool]int{}
	for seed := range uint64(worlds) {
		x := rewrite(t, seed)
		fits(t, seed, judge.Question{World: x.world, Written: x.pods}, both, func(p model.Pod) bool { return x.initPorts[p.Key()] })
	}
	t.Logf("%d pods fit, %d do not", both[true], both[false])
	if both[true] < worlds/2 || both[false] < worlds/2 {
		t.Errorf("%d pods fit and %d do not: there is little to judge", both[true], both[false])
	}
}

// fits asks us and kube-scheduler, for each waiting pod of the question's world by itself, whether any node takes it, and counts what we say.
// They must agree, except that we may say no where we are known to be stricter.
func fits(t testing.TB, seed uint64, q judge.Question, both map[bool]int, stricter func(model.Pod) bool) {
	t.Helper()
	w := q.World
	gone := judge.Leaving(w)
	w.Pools, w.Claims = nil, slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return !c.Deleting() })
	var waiting []model.Pod
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(p model.Pod) bool {
		if p.Node == "" {
			waiting = append(waiting, p)
		}
		return p.Node == ""
	})
	for _, p := range waiting {
		q.World = w
		q.World.Pods = append(slices.Clone(w.Pods), p)
		ours := len(place.Decide(place.Input{World: q.World, Pods: []model.Pod{p}}).Existing) > 0
		theirs := ""
		var said string
		for _, n := range w.Nodes {
			if gone[n.Name] || n.Cordoned {
				continue // however well it fits, the node takes nobody any more, nor do we count on one that somebody closed
			}
			q.Placements = []judge.Placement{{Pod: p.Key(), Node: n.Name}}
			a, err := judge.Ask(t.Context(), q)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if len(a.Rejected)+len(a.Waited) == 0 {
				theirs = n.Name
				break
			}
			said = a.Text()
		}
		both[ours]++
		if ours != (theirs != "") && (ours || !stricter(p)) {
			t.Errorf("seed %d: pod %s fits: we say %v, kube-scheduler says %q\n%s", seed, p.Key(), ours, theirs, said)
		}
	}
}
