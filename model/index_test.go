package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawPod makes a pod out of few names, so that pods meet.
func drawPod(r *rand.Rand, name int) *Pod {
	p := &Pod{Namespace: fmt.Sprint("ns", name%2), Name: fmt.Sprintf("p%04d", name), UID: fmt.Sprint(r.Uint32()),
		Labels: map[string]string{"app": fmt.Sprint(r.IntN(5))}, Requests: Resources{CPU: int64(r.IntN(900)), Pods: 1}, Terminal: r.IntN(8) == 0,
		DaemonSet: r.IntN(6) == 0}
	if r.IntN(4) > 0 {
		p.Node = fmt.Sprint("n", r.IntN(40))
	}
	if r.IntN(5) == 0 {
		p.PodAntiAffinity = []PodTerm{{Key: "zone", Selector: &Selector{Requirements: []Requirement{{Key: "app", Op: In, Values: []string{fmt.Sprint(r.IntN(3))}}}}}}
	}
	if r.IntN(5) == 0 {
		p.Volumes = []Volume{{ID: fmt.Sprint("v", r.IntN(9))}}
	}
	if r.IntN(9) == 0 {
		p.HostPorts = []HostPort{{Port: 80}}
	}
	return p
}

// numberOf is what the pod was drawn with.
func numberOf(p *Pod) (n int) {
	if _, err := fmt.Sscanf(p.Name, "p%04d", &n); err != nil {
		panic(err)
	}
	return n
}

// said writes everything that an index answers.
func said(x *Index) []string {
	var out []string
	list := func(what string, rows Rows[Pod]) {
		line := fmt.Sprint(what, " ", rows.Len())
		for p := range rows.All() {
			line += " " + p.UID
		}
		out = append(out, line)
	}
	list("all", x.All())
	list("unbound", x.Unbound())
	list("ports", x.WithPorts())
	for n := range 40 {
		on := x.On(fmt.Sprint("n", n))
		line := fmt.Sprint("on ", n, on.Used, on.Daemons, on.Tenants, on.Tenant != nil)
		for _, p := range on.Pods {
			line += " " + p.UID
		}
		out = append(out, line)
	}
	for k := range x.Kinds().All() {
		list("kind "+k.key, k.Pods)
	}
	for k := range x.Refusing().All() {
		list("refusing "+k.key, k.Pods)
	}
	out = append(out, fmt.Sprint("per node ", x.PerNode("use", 2, func(_ int, on NodePods, out []int64) {
		out[0], out[1] = on.Used.CPU, int64(len(on.Pods))
	})))
	labels, tied := x.AskedLabels()
	out = append(out, fmt.Sprint(labels, tied, x.Running()))
	for v := range 9 {
		line := fmt.Sprint("volume ", v)
		for _, p := range x.VolumeUsers(fmt.Sprint("v", v)) {
			line += " " + p.UID
		}
		out = append(out, line)
	}
	return out
}

// However an index came about, it answers as one that is made at once of the same pods; those before it answer as they did.
func TestAnIndexMadeByEditsAnswersAsOneMadeAtOnce(t *testing.T) {
	const names = 900 // several chunks
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		there := map[int]*Pod{}
		x := NewIndex()
		var nodes []Node
		var before *Index
		var then []string
		for round := range 30 {
			many := 1 + r.IntN(5)
			if round%10 == 0 {
				many = names / 2
			}
			seen := map[int]bool{}
			var edits []Edit[Pod]
			for range many {
				n := r.IntN(names)
				if seen[n] {
					continue
				}
				seen[n] = true
				e := Edit[Pod]{Old: there[n]}
				if e.Old == nil || r.IntN(3) > 0 {
					e.New = drawPod(r, n)
				}
				edits = append(edits, e)
			}
			slices.SortFunc(edits, func(a, b Edit[Pod]) int { return ComparePods(a.Row(), b.Row()) })
			before, then = x, said(x)
			if r.IntN(3) == 0 {
				nodes = nil
				for n := range 20 + r.IntN(nodesPerChunk) {
					nodes = append(nodes, Node{Name: fmt.Sprint("n", n)})
				}
			}
			if r.IntN(8) == 0 {
				edits = nil // nodes alone
			}
			for _, e := range edits {
				if e.New != nil {
					there[numberOf(e.New)] = e.New
				} else {
					delete(there, numberOf(e.Old))
				}
			}
			x = x.Next(nodes, nil, edits)
			var pods []Pod
			for _, p := range there {
				pods = append(pods, *p)
			}
			slices.SortFunc(pods, func(a, b Pod) int { return ComparePods(&a, &b) })
			want, got := said(World{Nodes: nodes, Pods: pods}.Indexed().Index), said(x)
			if i := slices.IndexFunc(got, func(line string) bool { return !slices.Contains(want, line) }); i >= 0 || len(want) != len(got) {
				t.Fatalf("seed %d round %d: %d lines, want %d; one that should not be there: %v", seed, round, len(got), len(want), got[max(i, 0)])
			}
			if !slices.Equal(said(before), then) {
				t.Fatalf("seed %d round %d: the index before it changed", seed, round)
			}
			for _, p := range there {
				if q := x.Pod(p.Key()); q == nil || q.UID != p.UID {
					t.Fatalf("seed %d round %d: pod %s is not found", seed, round, p.Key())
				}
			}
			if q := x.Pod(PodKey{"ns0", "nobody"}); q != nil {
				t.Fatalf("found %s for nobody", q.Key())
			}
		}
	}
}

// A world that is changed after it was indexed has another index: no answer is about lists that are there no more.
func TestAWorldWithOtherListsHasAnotherIndex(t *testing.T) {
	w := World{Pods: []Pod{{Name: "a", Node: "n"}}, Nodes: []Node{{Name: "n", ProviderID: "x"}}, Claims: []Claim{{Name: "c", ProviderID: "x"}}}.Indexed()
	if w.Index.ClaimOf(w.Index.NodeBy("x")) != w.Index.Claim("c") || w.Index.Node("n") == nil || w.Index.Node("") != nil {
		t.Error("node and claim of one machine must find each other")
	}
	if again := w.Indexed(); again.Index != w.Index {
		t.Error("the same lists have the same index")
	}
	w.Pods = append(w.Pods, Pod{Name: "b", Node: "n"})
	if n := len(w.Indexed().Index.On("n").Pods); n != 2 {
		t.Errorf("%d pods on the node, want 2", n)
	}
}
