package held

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/plan/topology"
	"github.com/karpenter-aks/karpenter/model"
)

// Four pods of one budget leave two machines, three and one: as many stay in the count of a spread over machines as
// the budget lets go together; all of those that look for each other; and nobody where all may leave at once.
func TestWhoIsHeldBackStaysInTheCount(t *testing.T) {
	var pods []*model.Pod
	var keys []model.PodKey
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, &model.Pod{Namespace: "default", Name: name})
		keys = append(keys, pods[len(pods)-1].Key())
	}
	spread := &topology.Class{Rules: topology.Rules{
		Spread: []topology.SpreadRule{{Term: &topology.Term{}, Self: 1}}}}
	near := &topology.Class{Rules: topology.Rules{
		Near: topology.NearRule{Self: true, Terms: []*topology.Term{{Key: 1}}}}}
	for name, x := range map[string]struct {
		class   *topology.Class
		allowed int32
		want    []int32 // pods on each machine
	}{
		"one at a time":               {spread, 1, []int32{1, 1}},
		"two at a time":               {spread, 2, []int32{2, 1}},
		"none now":                    {spread, 0, []int32{1, 1}},
		"all at once":                 {spread, 4, nil},
		"near, one at a time":         {near, 1, []int32{3, 1}},
		"near, all at once":           {near, 4, nil},
		"nobody minds, one at a time": {&topology.Class{}, 1, nil},
	} {
		b := Budgets{PDBs: []model.PDB{{Allowed: x.allowed, Pods: keys}}}
		three := Pods{x.class, pods[:3], []int32{7, 0}}
		one := Pods{x.class, pods[3:], []int32{8, 0}}
		got := b.Anchors([]Pods{three, one})
		if len(got) != len(x.want) {
			t.Errorf("%s: %+v, want %v", name, got, x.want)
			continue
		}
		for i, a := range got {
			if a.N != x.want[i] {
				t.Errorf("%s: %d pods, want %d", name, a.N, x.want[i])
			}
		}
	}
	var none Budgets
	if got := none.Anchors([]Pods{{spread, pods, []int32{7, 0}}}); got != nil {
		t.Errorf("without budgets: %+v", got)
	}
}
