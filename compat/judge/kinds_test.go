package judge_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// kind is one kind of random worlds, each about one thing that worlds of all kinds have too little of.
type kind struct {
	name string
	draw func(t testing.TB, seed uint64) drawn
	// worlds is how many the tests look at.
	worlds int
	// rival says that upstream reads these worlds as we do, so that its plans are a measure; mostMissed and mostDearer bound its better ones.
	rival                  bool
	mostMissed, mostDearer int
	// stricter reports whether we are known to be stricter about the pod than kube-scheduler is.
	stricter func(drawn, model.Pod) bool
}

func kinds(t testing.TB) []kind {
	region, err := bench.Region(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	region = bench.Capped(region, 8) // upstream takes seconds for a world with all of it
	only := func(draw func(uint64) model.World) func(testing.TB, uint64) drawn {
		return func(_ testing.TB, seed uint64) drawn { return drawn{world: draw(seed)} }
	}
	return []kind{
		{name: "ports", draw: only(worldgen.Ports), worlds: 60, rival: true, mostDearer: 1},
		{name: "chains", draw: only(worldgen.Chains), worlds: 60, rival: true, mostMissed: 1, mostDearer: 2},
		{name: "exclusive", draw: only(worldgen.Exclusive), worlds: 60, rival: true, mostMissed: 1, mostDearer: 1},
		{name: "choice", draw: only(func(seed uint64) model.World { return worldgen.Choice(seed, region) }), worlds: 8, rival: true, mostDearer: 1},
		{name: "storage", draw: stored, worlds: 60, stricter: lyingReady},
	}
}

func (k kind) land(t testing.TB, seed uint64, tally map[string]int) {
	land(t, seed, k.draw(t, seed), tally)
}

// TestPlansOfEachKindLand asks kube-scheduler about every placement on worlds of each kind, as TestPlansLand does on worlds of all kinds.
func TestPlansOfEachKindLand(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			tally := map[string]int{}
			for seed := range uint64(k.worlds) {
				k.land(t, seed, tally)
			}
			t.Logf("%v", tally)
			if tally["landed"] < 3*k.worlds {
				t.Errorf("only %d pods were placed in %d worlds: there is little to judge", tally["landed"], k.worlds)
			}
			if tally["refused"] > 0 {
				t.Errorf("the audit refused %d plans", tally["refused"])
			}
		})
	}
}

// TestAPodOfEachKindFitsWhereKubeSchedulerSaysSo is TestAPodFitsWhereKubeSchedulerSaysSo on worlds of each kind; we are stricter in no more than the
// kind says.
func TestAPodOfEachKindFitsWhereKubeSchedulerSaysSo(t *testing.T) {
	for _, k := range kinds(t) {
		if k.name == "choice" {
			continue // there are no nodes
		}
		t.Run(k.name, func(t *testing.T) {
			both := map[bool]int{}
			for seed := range uint64(k.worlds / 2) {
				x := k.draw(t, seed)
				fits(t, seed, judge.Question{World: x.world, Storage: x.storage}, both, func(p model.Pod) bool { return k.stricter != nil && k.stricter(x, p) })
			}
			t.Logf("%d pods fit, %d do not", both[true], both[false])
			if both[true] < k.worlds/2 || both[false] < k.worlds/2 {
				t.Errorf("%d pods fit and %d do not: there is little to judge", both[true], both[false])
			}
		})
	}
}

// TestUpstreamOnEachKind: on worlds of each kind upstream seldom places a pod that we leave, and is seldom cheaper.
func TestUpstreamOnEachKind(t *testing.T) {
	for _, k := range kinds(t) {
		if !k.rival {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			tally := map[string]int{}
			var all bill
			for seed := range uint64(k.worlds) {
				compare(t, seed, k.draw(t, seed).world, tally)
				all.add(t, seed, k.draw(t, seed).world)
			}
			t.Logf("%v; %d worlds compare, ours cost %s, upstream's %s", tally, all.compared, all.ours, all.theirs)
			if tally["missed"] > k.mostMissed {
				t.Errorf("upstream places %d pods that we leave, at most %d were known", tally["missed"], k.mostMissed)
			}
			if all.dearer > k.mostDearer {
				t.Errorf("ours is dearer in %d worlds, in at most %d it was known to be", all.dearer, k.mostDearer)
			}
			if all.compared < k.worlds/3 || tally["ours"] < tally["upstream, accepted"] || all.ours > all.theirs {
				t.Errorf("%d worlds of %d compare, we place %d pods and upstream %d, ours cost %s and upstream's %s", all.compared, k.worlds, tally["ours"],
					tally["upstream, accepted"], all.ours, all.theirs)
			}
		})
	}
}

// BenchmarkPlansOfEachKindLand judges b.N worlds of each kind beyond those of the test.
func BenchmarkPlansOfEachKindLand(b *testing.B) {
	for _, k := range kinds(b) {
		b.Run(k.name, func(b *testing.B) {
			tally := map[string]int{}
			for i := range b.N {
				k.land(b, uint64(k.worlds+i), tally)
			}
			b.ReportMetric(float64(tally["refused"])/float64(b.N), "refused/world")
			b.ReportMetric(float64(tally["rejected"])/float64(b.N), "rejected/world")
			b.ReportMetric(float64(tally["landed"])/float64(b.N), "pods/world")
		})
	}
}

// BenchmarkUpstreamOnEachKind compares with upstream on b.N worlds of each kind beyond those of the tests.
func BenchmarkUpstreamOnEachKind(b *testing.B) {
	for _, k := range kinds(b) {
		if !k.rival {
			continue
		}
		b.Run(k.name, func(b *testing.B) {
			tally := map[string]int{}
			var all bill
			for i := range b.N {
				seed := uint64(k.worlds + i)
				compare(b, seed, k.draw(b, seed).world, tally)
				all.add(b, seed, k.draw(b, seed).world)
			}
			b.ReportMetric(float64(tally["missed"])/float64(b.N), "missed/world")
			b.ReportMetric(float64(tally["ours"])/float64(b.N), "pods/world")
			b.ReportMetric(float64(tally["upstream, accepted"])/float64(b.N), "their-pods/world")
			b.ReportMetric(float64(all.dearer)/float64(max(all.compared, 1)), "dearer/world")
			b.ReportMetric(all.ours.Float()/max(all.theirs.Float(), 1e-6), "of-their-price")
		})
	}
}

// lyingReady reports whether a claim of the pod, not bound yet, may get a volume that lies ready, or one that was made for it. kube-scheduler looks
// which of these a node reaches, and for which other pods it took them already; we look only where one could be made, and wait otherwise.
func lyingReady(x drawn, p model.Pod) bool {
	return slices.ContainsFunc(x.storage.Claims, func(c *corev1.PersistentVolumeClaim) bool {
		return c.Namespace == p.Namespace && slices.Contains(p.VolumeClaims, c.Name) && c.Spec.VolumeName == "" &&
			slices.ContainsFunc(x.storage.Volumes, func(v *corev1.PersistentVolume) bool {
				return v.Spec.StorageClassName == *c.Spec.StorageClassName && v.Status.Phase == corev1.VolumeAvailable
			})
	})
}

// stored draws a world whose claims came through our door and our mirror, which say what they stand for.
func stored(t testing.TB, seed uint64) drawn {
	t.Helper()
	w, s := worldgen.Stored(seed)
	out := drawn{storage: &objects.Storage{Drivers: []string{worldgen.Driver, worldgen.FileDriver, worldgen.HostDriver, worldgen.OwnDriver},
		Keys: map[string][]string{worldgen.Driver: {model.LabelZone}, worldgen.HostDriver: {model.LabelHostname}, worldgen.OwnDriver: {worldgen.NodeLabel}}}}
	for i := range w.Nodes {
		w.Nodes[i].Labels = judge.Labels(w.Nodes[i].Labels, map[string]string{worldgen.NodeLabel: w.Nodes[i].Name})
	}
	bound := map[string]bool{}
	for _, c := range s.Claims {
		out.storage.Claims = append(out.storage.Claims, objects.VolumeClaim(c))
		bound[c.Volume] = bound[c.Volume] || c.Bound
	}
	for _, v := range s.Volumes {
		out.storage.Volumes = append(out.storage.Volumes, objects.Volume(v, s.ClassOf[v.Name], bound[v.Name]))
	}
	for _, c := range s.Classes {
		out.storage.Classes = append(out.storage.Classes, objects.StorageClass(c))
	}
	m := world.New()
	r, err := apikube.NewReader(m)
	if err != nil {
		t.Fatal(err)
	}
	tell := func(o client.Object) {
		if err := r.Tell(o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range out.storage.Claims {
		tell(o)
	}
	for _, o := range out.storage.Volumes {
		tell(o)
	}
	for _, o := range out.storage.Classes {
		tell(o)
	}
	tell(out.storage.CSINode(model.Node{Name: "some-node"})) // the drivers are there before anything is planned
	for _, p := range w.Pods {
		m.Apply(model.Change{Object: p})
	}
	w.Pods = m.Snapshot().Flat().Pods
	out.world = w
	return out
}
