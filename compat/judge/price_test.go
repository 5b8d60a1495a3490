package judge_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// mostDearer bounds in how many of the test's worlds we may be dearer than upstream. Each is a weakness of ours, of one of these kinds:
// seats were taken in an order from which no single change leads to the cheaper plan; pods were kept apart so that they can be bound in any
// order, where upstream's plan needs one order; a pool with minValues got a machine less well filled. Upstream draws lots among equal domains,
// so its price, and with it their number, varies from run to run: one or two were seen.
const mostDearer = 2

// TestSeldomDearerThanUpstream: where both place the same pods, and kube-scheduler accepts all that upstream planned, our plan costs no more, but
// for a few known worlds; over all worlds it costs less.
func TestSeldomDearerThanUpstream(t *testing.T) {
	var all bill
	for seed := range uint64(worlds) {
		all.add(t, seed, worldgen.Small(seed))
	}
	t.Logf("%d worlds of %d compare; ours cost %s, upstream's %s; ours is dearer in %d", all.compared, worlds, all.ours, all.theirs, all.dearer)
	if all.compared < worlds/2 {
		t.Errorf("only %d worlds of %d compare: there is little to judge", all.compared, worlds)
	}
	if all.dearer > mostDearer {
		t.Errorf("ours is dearer in %d worlds, in at most %d it was known to be", all.dearer, mostDearer)
	}
	if all.ours > all.theirs*95/100 {
		t.Errorf("ours cost %s in all, upstream's %s: that was a twentieth less at least", all.ours, all.theirs)
	}
}

// BenchmarkDearerThanUpstream compares b.N worlds beyond those of the test.
func BenchmarkDearerThanUpstream(b *testing.B) {
	var all bill
	for i := range b.N {
		all.add(b, uint64(worlds+i), worldgen.Small(uint64(worlds+i)))
	}
	b.ReportMetric(float64(all.dearer)/float64(max(all.compared, 1)), "dearer/world")
	b.ReportMetric(all.ours.Float()/max(all.theirs.Float(), 1e-6), "of-their-price")
}

// bill sums up what plans cost in worlds that compare.
type bill struct {
	compared, dearer int
	ours, theirs     model.Price
}

func (b *bill) add(t testing.TB, seed uint64, w model.World) {
	t.Helper()
	w = plain(w)
	r, ok := soundly(t, w)
	if !ok {
		return
	}
	plan := place.Decide(place.Input{World: w, Preferences: place.Ignore})
	if bad := audit.Check(w, plan); len(bad) > 0 {
		t.Errorf("seed %d: the audit refuses the plan: %s", seed, bad[0])
	}
	left := map[model.PodKey]bool{}
	for _, l := range plan.Unscheduled {
		left[l.Pod] = true
	}
	// As many pods left, and the same ones.
	if len(r.Left) != len(plan.Unscheduled) || slices.ContainsFunc(r.Left, func(l upstream.Left) bool { return !left[l.Pod] }) {
		return
	}
	b.compared, b.ours, b.theirs = b.compared+1, b.ours+plan.Price, b.theirs+r.Price
	if plan.Price > r.Price {
		b.dearer++
		t.Logf("seed %d: ours costs %s with %d machines, upstream's %s with %d", seed, plan.Price, len(plan.NewClaims), r.Price, len(r.Buy))
	}
}

// soundly returns what upstream plans without preferences, if the limits of pools bear it and kube-scheduler accepts all of it.
func soundly(t testing.TB, w model.World) (upstream.Result, bool) {
	t.Helper()
	pods := place.Waiting(w)
	p, err := upstream.Prepare(w, pods, upstream.Options{IgnorePreferences: true})
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Fresh()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Solve(); err != nil {
		t.Fatal(err)
	}
	r, err := run.Result()
	if err != nil {
		t.Fatal(err)
	}
	q, err := upstream.Question(w, r, pods)
	if err != nil {
		t.Fatal(err)
	}
	a, err := judge.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r, len(a.Rejected) == 0 && len(withinLimits(w, lawfulClaims(w, r.Buy))) == len(r.Buy)
}

// plain takes out of a world what has a price and means another thing to upstream: priorities, which it does not know, and taints that pools would
// rather not be shared for, which make it ask a lighter pool first.
func plain(w model.World) model.World {
	for i := range w.Pods {
		w.Pods[i].Priority = 0
	}
	soft := func(t model.Taint) bool { return t.Effect == model.PreferNoSchedule }
	for i := range w.Pools {
		w.Pools[i].Taints = slices.DeleteFunc(slices.Clone(w.Pools[i].Taints), soft)
	}
	for i := range w.Nodes {
		w.Nodes[i].Taints = slices.DeleteFunc(slices.Clone(w.Nodes[i].Taints), soft)
	}
	for i := range w.Claims {
		w.Claims[i].Taints = slices.DeleteFunc(slices.Clone(w.Claims[i].Taints), soft)
	}
	return w
}
