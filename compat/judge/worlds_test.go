package judge_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// worlds is how many random worlds a test looks at; the benchmarks look at as many others as one likes.
const worlds = 300

// TestPlansLand asks kube-scheduler about every placement of the engine on random worlds: once when each machine is bought
// as its first option says, once when it is bought as some other option says. A plan that the audit refuses is never
// carried out; there must be none.
func TestPlansLand(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(worlds) {
		land(t, seed, drawn{world: worldgen.Small(seed)}, tally)
	}
	t.Logf("%d pods landed, %d of them from nodes that leave, %d only when such nodes are gone; the audit refused %d plans of %d", tally["landed"], tally["moved"],
		tally["waited"], tally["refused"], worlds)
	if tally["landed"] < 3*worlds || tally["moved"] < worlds/4 {
		t.Errorf("only %d pods were placed in %d worlds, %d from nodes that leave: there is little to judge", tally["landed"], worlds, tally["moved"])
	}
	if tally["refused"] > mostRefused {
		t.Errorf("the audit refused %d plans, at most %d were known", tally["refused"], mostRefused)
	}
}

// mostRefused is how many plans of the test's worlds the audit may refuse.
const mostRefused = 0

// BenchmarkPlansLand judges b.N worlds beyond those of the test: go test -run - -bench PlansLand -benchtime 5000x.
func BenchmarkPlansLand(b *testing.B) {
	tally := map[string]int{}
	for i := range b.N {
		land(b, uint64(worlds+i), drawn{world: worldgen.Small(uint64(worlds + i))}, tally)
	}
	b.ReportMetric(float64(tally["refused"])/float64(b.N), "refused/world")
	b.ReportMetric(float64(tally["landed"])/float64(b.N), "pods/world")
	b.ReportMetric(float64(tally["waited"])/float64(b.N), "waited/world")
}

// moved counts placements of pods that run on a node that is leaving.
func moved(w model.World, q judge.Question) (n int) {
	gone := judge.Leaving(w)
	for _, p := range w.Pods {
		if gone[p.Node] && slices.ContainsFunc(q.Placements, func(x judge.Placement) bool { return x.Pod == p.Key() }) {
			n++
		}
	}
	return n
}

// drawn is a world, and what the API server holds of its volumes where claims are yet to be bound.
type drawn struct {
	world   model.World
	storage *objects.Storage
}

func land(t testing.TB, seed uint64, x drawn, tally map[string]int) {
	t.Helper()
	w := x.world
	plan := place.Decide(place.Input{World: w})
	bad := audit.Check(w, plan)
	for i, choose := range []judge.Choose{judge.First, func(i, n int) int { return (int(seed) + 7*i + 1) % n }} {
		q, err := judge.Plan(w, plan, choose)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		q.Storage = x.storage
		for i, m := range q.Machines {
			q.Machines[i].Labels = judge.Labels(m.Labels, map[string]string{worldgen.NodeLabel: m.Name}) // as its driver does
		}
		a, err := judge.Ask(t.Context(), q)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		if i == 0 && len(a.Rejected) > 0 {
			tally["rejected"]++
		}
		if len(a.Rejected) > 0 && len(bad) == 0 {
			t.Errorf("seed %d: kube-scheduler refuses what the audit let pass: %s", seed, a.Rejected[0])
		}
		if i == 0 && len(bad) > 0 {
			t.Logf("seed %d: the audit refuses the plan: %s", seed, bad[0])
			tally["refused"]++
		}
		if i == 0 {
			tally["landed"] += a.Accepted
			tally["waited"] += len(a.Waited)
			tally["moved"] += moved(w, q)
		}
	}
}

// mostMissed bounds the pods of the test's worlds that upstream places and we do not, although kube-scheduler would take
// them. Each is a weakness of ours and is logged with our reason; accepted lists the reasons that may occur in other worlds, and why.
const mostMissed = 0

func accepted() map[string]string {
	return map[string]string{
		"limits":          "a machine too many, for ties to other pods or for a spread over domains which nothing is in yet, spends the limit",
		"pod-affinity":    "who comes first may keep others out for good, and so may those that nobody minds; few orders are tried; and nobody starts near a pod that ends, nor before it is gone",
		"topology-spread": "which domains are filled first is decided by price; what then cannot be filled up holds the others back",
		"min-values":      "of what the pool has to have on offer, we count what attaches the pods' volumes; and pods that must be together need a choice in one domain",
		"resources":       "nothing of one pool holds the pod, and the other pool has one of the reasons above",
		"requirements":    "one pool sells nothing, and the other has one of the reasons above",
		"node-selector":   "one pool sells nothing that the pod selects, and the other has one of the reasons above",
		"unavailable":     "everything that one pool sells is sold out, and the other has one of the reasons above",
		"volumes":         "nothing of one pool attaches the volumes, and the other has one of the reasons above",
		"taint":           "the pod may not run in one pool, and the other pool has one of the reasons above",
	}
}

// TestUpstreamPlacesNoMore: every pod that upstream's scheduler places, and kube-scheduler then accepts, we place. Where we
// place as many pods of the world but others, nobody is worse off; nor where we place more of those that matter more.
func TestUpstreamPlacesNoMore(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(worlds) {
		compare(t, seed, worldgen.Small(seed), tally)
	}
	for _, k := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%5d pods: %s", tally[k], k)
	}
	if tally["missed"] > mostMissed {
		t.Errorf("upstream places %d pods that we leave, at most %d were known", tally["missed"], mostMissed)
	}
	if tally["upstream, accepted"] < worlds {
		t.Errorf("upstream placed only %d pods in %d worlds: there is little to compare", tally["upstream, accepted"], worlds)
	}
}

// BenchmarkUpstreamPlacesNoMore compares b.N worlds beyond those of the test.
func BenchmarkUpstreamPlacesNoMore(b *testing.B) {
	tally := map[string]int{}
	for i := range b.N {
		compare(b, uint64(worlds+i), worldgen.Small(uint64(worlds+i)), tally)
	}
	b.ReportMetric(float64(tally["missed"])/float64(b.N), "missed/world")
}

func compare(t testing.TB, seed uint64, w model.World, tally map[string]int) {
	t.Helper()
	landed, err := theirs(t, w)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	plan := place.Decide(place.Input{World: w})
	ours := len(place.Waiting(w)) - len(plan.Unscheduled)
	tally["upstream, accepted"] += len(landed)
	tally["ours"] += ours
	if ours >= len(landed) || mattersMore(w, plan, landed) {
		return
	}
	for _, l := range plan.Unscheduled {
		if !landed[l.Pod] {
			continue
		}
		key := reason(l)
		tally["left by us alone: "+key]++
		tally["missed"]++
		t.Logf("seed %d: upstream places %d pods, we place %d: we leave %s: %s", seed, len(landed), ours, l.Pod, words(l))
		for _, why := range strings.Split(key, "+") {
			if accepted()[why] == "" {
				t.Errorf("seed %d: %s is not a reason for which we may place less than upstream", seed, why)
			}
		}
	}
}

// mattersMore reports whether the first priority, from the highest, of which we place not as many pods as upstream does has more of ours.
// Upstream does not look at priorities; kube-scheduler binds important pods first.
func mattersMore(w model.World, plan place.Plan, landed map[model.PodKey]bool) bool {
	left := map[model.PodKey]bool{}
	for _, l := range plan.Unscheduled {
		left[l.Pod] = true
	}
	more := map[int32]int{}
	for _, p := range place.Waiting(w) {
		if !left[p.Key()] {
			more[p.Priority]++
		}
		if landed[p.Key()] {
			more[p.Priority]--
		}
	}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(more))) {
		if more[p] != 0 {
			return more[p] > 0
		}
	}
	return false
}

// theirs returns the pods that upstream places and kube-scheduler accepts there.
func theirs(t testing.TB, w model.World) (map[model.PodKey]bool, error) {
	pods := place.Waiting(w)
	p, err := upstream.Prepare(w, pods, upstream.Options{})
	if err != nil {
		return nil, err
	}
	run, err := p.Fresh()
	if err != nil {
		return nil, err
	}
	if err := run.Solve(); err != nil {
		return nil, err
	}
	r, err := run.Result()
	if err != nil {
		return nil, err
	}
	r.Buy = withinLimits(w, lawfulClaims(w, r.Buy))
	q, err := upstream.Question(w, r, pods)
	if err != nil {
		return nil, err
	}
	a, err := judge.Ask(t.Context(), q)
	if err != nil {
		return nil, err
	}
	landed := map[model.PodKey]bool{}
	for _, x := range q.Placements {
		landed[x.Pod] = true
	}
	for _, x := range slices.Concat(a.Rejected, a.Waited) { // who has to wait for a node to be gone has no place now
		delete(landed, x.Pod)
	}
	return landed, nil
}

// lawfulClaims drops machines whose claim the API server would refuse: the CRD of NodeClaims wants a requirement with minValues and operator In to
// list that many values. Upstream counts what types are sold as, whatever zone or capacity type pods leave of it, and then cannot create the claim.
func lawfulClaims(w model.World, buy []upstream.Machine) []upstream.Machine {
	return slices.DeleteFunc(slices.Clone(buy), func(b upstream.Machine) bool {
		pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })]
		return slices.ContainsFunc(pool.Requirements, func(want model.Requirement) bool {
			return slices.ContainsFunc(b.Claim.Requirements, func(r model.Requirement) bool {
				return r.Key == want.Key && r.Op == model.In && len(r.Values) < want.MinValues
			})
		})
	})
}

// withinLimits drops machines that break a limit of their pool, those with the fewest pods first. Upstream counts no node of the plan
// that it is making against limits.nodes.
func withinLimits(w model.World, buy []upstream.Machine) []upstream.Machine {
	buy = slices.Clone(buy)
	slices.SortStableFunc(buy, func(a, b upstream.Machine) int { return len(b.Pods) - len(a.Pods) })
	var out []upstream.Machine
	for _, b := range buy {
		pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == b.Pool })]
		have := func(name string) (n int64) {
			add := func(r model.Resources) {
				if n += r.Get(name); name == model.ResourceNodes {
					n++
				}
			}
			for _, c := range w.Claims { // each of their nodes has one
				if c.Pool == pool.Name {
					add(c.Capacity)
				}
			}
			for _, x := range append(slices.Clone(out), b) {
				if t, _ := w.Catalog(x.Pool, pool.Class).Type(x.Cheapest.Type); x.Pool == pool.Name {
					add(t.Capacity)
				}
			}
			return n
		}
		over := false
		for name, limit := range pool.Limits {
			over = over || have(name) > limit
		}
		if !over {
			out = append(out, b)
		}
	}
	return out
}

// reason is our reason for leaving the pod, in one word per pool.
func reason(l place.Unscheduled) string {
	if l.Why != "" {
		return string(l.Why)
	}
	var all []string
	for _, r := range l.Refusals {
		all = append(all, string(r.Why))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "+")
}

func words(l place.Unscheduled) string {
	out := []string{cmp.Or(string(l.Why)+" "+l.Detail, "-")}
	for _, r := range l.Refusals {
		out = append(out, r.Pool+": "+string(r.Why)+", "+r.Detail)
	}
	return strings.Join(out, "; ")
}
