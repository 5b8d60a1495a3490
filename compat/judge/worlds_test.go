package judge_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/compat/judge"
	"github.com/karpenter-aks/karpenter/compat/upstream"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// worlds is how many random worlds a test looks at; the benchmarks look at as many others as one likes.
const worlds = 300

// TestPlansLand asks kube-scheduler about every placement of the engine on random worlds: once when each machine is bought
// as its first option says, once when it is bought as some other option says.
func TestPlansLand(t *testing.T) {
	landed := 0
	for seed := range uint64(worlds) {
		landed += land(t, seed)
	}
	if landed < worlds/2 {
		t.Errorf("only %d pods were placed in %d worlds: there is little to judge", landed, worlds)
	}
}

// BenchmarkPlansLand judges b.N worlds beyond those of the test: go test -run - -bench PlansLand -benchtime 5000x.
func BenchmarkPlansLand(b *testing.B) {
	for i := range b.N {
		land(b, uint64(worlds+i))
	}
}

func land(t testing.TB, seed uint64) int {
	t.Helper()
	w := undecided(worldgen.Small(seed))
	plan := place.Decide(place.Input{World: w})
	landed := 0
	for _, choose := range []judge.Choose{judge.First, func(i, n int) int { return (int(seed) + 7*i + 1) % n }} {
		q, err := judge.Plan(w, plan, choose)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return 0
		}
		a, err := judge.Ask(t.Context(), q)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return 0
		}
		for _, r := range a.Rejected {
			t.Errorf("seed %d: kube-scheduler refuses %s", seed, r)
		}
		landed = a.Accepted
	}
	return landed
}

// undecided marks pods whose constraints the engine leaves to others, as the cluster's door does.
func undecided(w model.World) model.World {
	alone := slices.ContainsFunc(w.Pods, func(p model.Pod) bool { return len(p.PodAntiAffinity) > 0 })
	for i := range w.Pods {
		p := &w.Pods[i]
		for _, x := range []struct {
			why model.Why
			yes bool
		}{{model.WhyTopologySpread, slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Hard })},
			{model.WhyPodAffinity, alone || len(p.PodAffinity) > 0}, {model.WhyVolumes, len(p.Volumes) > 0}, {model.WhyHostPorts, len(p.HostPorts) > 0}} {
			if x.yes {
				p.Needs = append(p.Needs, x.why)
			}
		}
	}
	return w
}

// accepted lists, by our reason for leaving a pod, why it is right that upstream places more pods.
func accepted() map[string]string {
	return map[string]string{
		"undecided": "the engine says that it does not decide one of the pod's constraints",
	}
}

// TestUpstreamPlacesNoMore: every pod that upstream's scheduler places, and kube-scheduler then accepts, we place. Where we
// place as many pods of the world but others, nobody is worse off.
func TestUpstreamPlacesNoMore(t *testing.T) {
	tally := map[string]int{}
	for seed := range uint64(worlds) {
		compare(t, seed, tally)
	}
	for _, k := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%5d pods: %s", tally[k], k)
	}
	if tally["upstream, accepted"] < worlds {
		t.Errorf("upstream placed only %d pods in %d worlds: there is little to compare", tally["upstream, accepted"], worlds)
	}
}

// BenchmarkUpstreamPlacesNoMore compares b.N worlds beyond those of the test.
func BenchmarkUpstreamPlacesNoMore(b *testing.B) {
	for i := range b.N {
		compare(b, uint64(worlds+i), map[string]int{})
	}
}

func compare(t testing.TB, seed uint64, tally map[string]int) {
	t.Helper()
	w := undecided(worldgen.Small(seed))
	landed, err := theirs(t, w)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	plan := place.Decide(place.Input{World: w})
	ours := len(place.Waiting(w)) - len(plan.Left)
	tally["upstream, accepted"] += len(landed)
	tally["ours"] += ours
	if ours >= len(landed) {
		return
	}
	for _, l := range plan.Left {
		if !landed[l.Pod] {
			continue
		}
		key := reason(w, l)
		tally["left by us alone: "+key]++
		if accepted()[key] == "" {
			t.Errorf("seed %d: upstream places %d pods, we place %d: we leave %s: %s", seed, len(landed), ours, l.Pod, words(l))
		}
	}
}

// theirs returns the pods that upstream places and kube-scheduler accepts there.
func theirs(t testing.TB, w model.World) (map[model.PodKey]bool, error) {
	p, err := upstream.Prepare(w, place.Waiting(w), upstream.Options{})
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
	q, err := upstream.Question(w, r)
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
	for _, x := range a.Rejected {
		delete(landed, x.Pod)
	}
	return landed, nil
}

// reason is our reason for leaving the pod, in one word per pool.
func reason(w model.World, l place.Leftover) string {
	for _, p := range w.Pods {
		if p.Key() == l.Pod && len(p.Needs) > 0 {
			return "undecided"
		}
	}
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

func words(l place.Leftover) string {
	out := []string{cmp.Or(string(l.Why)+" "+l.Detail, "-")}
	for _, r := range l.Refusals {
		out = append(out, r.Pool+": "+string(r.Why)+", "+r.Detail)
	}
	return strings.Join(out, "; ")
}
