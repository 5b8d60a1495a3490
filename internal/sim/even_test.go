package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// One app runs in two pools that share no nodes, spread over zones with taints honoured: every pod gets a machine, each pool has some
// in both zones, and nothing is bought beside what the first plan says.
func TestOneAppInTwoPools(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(class(), daemon())
		for _, team := range []string{"red", "blue"} {
			p := pool()
			p.Name, p.UID, p.Limits = team, team, nil
			p.Taints = []model.Taint{{Key: "team", Value: team, Effect: model.NoSchedule}}
			s.Store.Put(p)
			pod := oneCore()
			pod.Tolerations = []model.Toleration{{Key: "team", Op: "Equal", Value: team}}
			pod.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, HonorAffinity: true, HonorTaints: true,
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"red", "blue"}}}}}}
			s.Scale(team, 6, pod)
		}
		s.Until("all run", 5*time.Minute, func() bool { return s.Running("red") == 6 && s.Running("blue") == 6 })
		zone := map[string]string{}
		for _, n := range s.Store.Objects().Nodes {
			zone[n.Name] = n.Labels[model.LabelZone]
		}
		in := map[string]int{}
		for _, team := range []string{"red", "blue"} {
			for _, p := range s.Pods(team) {
				in[team+" "+zone[p.Node]]++
			}
		}
		least := 6
		for _, n := range in {
			least = min(least, n)
		}
		if len(in)%2 != 0 || len(in) < 4 || least < 12/len(in) {
			t.Errorf("the pods of each pool are uneven: %s", fmt.Sprint(in))
		}
	})
}
