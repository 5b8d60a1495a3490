package worldgen

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

func TestSameSeedSameWorld(t *testing.T) {
	for seed := range uint64(50) {
		if a, b := Small(seed), Small(seed); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d draws two worlds", seed)
		}
	}
	if reflect.DeepEqual(Small(1), Small(2)) {
		t.Fatal("two seeds draw one world")
	}
}

func TestWorldsAreSmallSortedAndFit(t *testing.T) {
	for seed := range uint64(500) {
		w := Small(seed)
		used := map[string]model.Resources{}
		waiting := 0
		for _, p := range w.Pods {
			if p.Node != "" {
				used[p.Node] = used[p.Node].Add(p.Requests)
			}
			if p.Provisionable() {
				waiting++
			}
		}
		if waiting < 1 || waiting > MaxPods || len(w.Nodes) > MaxNodes || len(w.Pools) != pools {
			t.Errorf("seed %d: %d pods wait, %d nodes, %d pools", seed, waiting, len(w.Nodes), len(w.Pools))
		}
		if !slices.IsSortedFunc(w.Pods, func(a, b model.Pod) int { return compare(a.ObjectKey(), b.ObjectKey()) }) ||
			!slices.IsSortedFunc(w.Nodes, func(a, b model.Node) int { return compare(a.Name, b.Name) }) ||
			!slices.IsSortedFunc(w.Claims, func(a, b model.Claim) int { return compare(a.Name, b.Name) }) {
			t.Errorf("seed %d: a list is not sorted", seed)
		}
		for _, n := range w.Nodes {
			if short := used[n.Name].Short(n.Allocatable); short != "" {
				t.Errorf("seed %d: node %s has too little %s for its pods", seed, n.Name, short)
			}
		}
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestEveryConstraintOccurs counts what is drawn, so that a constraint does not silently disappear from every judge's sight.
func TestEveryConstraintOccurs(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(1000) {
		w := Small(seed)
		for _, p := range w.Pods {
			for word, yes := range map[string]bool{
				"node selector": len(p.NodeSelector) > 0, "node affinity": len(p.Affinity) > 0, "two terms": len(p.Affinity) > 1,
				"affinity": len(p.PodAffinity) > 0, "anti-affinity": len(p.PodAntiAffinity) > 0, "anti-affinity of a running pod": p.Node != "" && len(p.PodAntiAffinity) > 0,
				"host port": len(p.HostPorts) > 0, "volume": len(p.Volumes) > 0, "toleration": len(p.Tolerations) > 0, "priority": p.Priority != 0,
				"extended resource": len(p.Requests.Extended) > 0} {
				if yes {
					seen[word]++
				}
			}
			for _, s := range p.Spread {
				seen[fmt.Sprintf("spread by %s, hard %t", s.Key, s.Hard)]++
				if s.MinDomains > 0 {
					seen["minDomains"]++
				}
			}
			for _, x := range p.Prefers {
				seen[fmt.Sprintf("wish for pods %t, anti %t", x.Pod != nil, x.Anti)]++
			}
		}
		for word, n := range onTheirWay(w) {
			seen[word] += n
		}
		for _, p := range w.Pools {
			if len(p.Limits) > 0 {
				seen["limits"]++
			}
			for _, r := range p.Requirements {
				seen["pool "+string(r.Op)]++
				if r.MinValues > 0 {
					seen["minValues"]++
				}
			}
		}
	}
	for _, word := range []string{"node selector", "node affinity", "two terms", "affinity", "anti-affinity", "anti-affinity of a running pod", "host port",
		"volume", "toleration", "priority", "extended resource", "minDomains", "limits", "minValues", "pool In", "pool NotIn", "pool Gt", "pool Gte", "pool Lt", "pool Lte",
		"spread by " + model.LabelZone + ", hard true", "spread by " + model.LabelHostname + ", hard true", "spread by " + LabelRack + ", hard true",
		"node that leaves", "claim that leaves", "pod that moves", "pod that moves, with spread", "pod that moves, with affinity", "pod that moves, with anti-affinity",
		"pod that moves, with volume", "pod that moves, with host port", "pod that must not be disturbed", "pod that a budget keeps", "pod that is not ready", "pod that ends",
		"spread by " + model.LabelZone + ", hard false", "wish for pods false, anti false", "wish for pods true, anti false", "wish for pods true, anti true"} {
		if seen[word] < 20 {
			t.Errorf("%s occurs %d times in 1000 worlds", word, seen[word])
		}
	}
}

// onTheirWay counts what is drawn about nodes that leave.
func onTheirWay(w model.World) map[string]int {
	seen := map[string]int{}
	leaving := map[string]bool{}
	for _, n := range w.Nodes {
		if n.Deleting() {
			leaving[n.Name] = true
			seen["node that leaves"]++
		}
	}
	for _, c := range w.Claims {
		if c.Deleting() {
			leaving[c.NodeName] = true
			seen["claim that leaves"]++
		}
	}
	kept := map[model.PodKey]bool{}
	for _, b := range w.PDBs {
		for _, k := range b.Pods {
			kept[k] = kept[k] || b.Allowed == 0
		}
	}
	for _, p := range w.Pods {
		if !leaving[p.Node] || p.DaemonSet {
			continue
		}
		for word, yes := range map[string]bool{"": true, ", with spread": len(p.Spread) > 0, ", with affinity": len(p.PodAffinity) > 0,
			", with anti-affinity": len(p.PodAntiAffinity) > 0, ", with volume": len(p.Volumes) > 0, ", with host port": len(p.HostPorts) > 0} {
			if yes {
				seen["pod that moves"+word]++
			}
		}
		for word, yes := range map[string]bool{"pod that must not be disturbed": p.DoNotDisrupt == "true", "pod that a budget keeps": kept[p.Key()],
			"pod that is not ready": !p.PodReady, "pod that ends": p.Deleting()} {
			if yes {
				seen[word]++
			}
		}
	}
	return seen
}
