package bench

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

// TestPoolsOfTheirOwn: a plan for pods of many pools, none of which may use another's machines, costs what the plans for the pools cost that are
// made one by one.
func TestPoolsOfTheirOwn(t *testing.T) {
	const pools, pods = 50, 2_500
	all, err := Azure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := workload.Teams(Capped(all, 32), workload.Shapes(pods, 1), pools)
	together, apart, machines := decide(w), model.Price(0), 0
	for i := range w.Pools {
		one := w
		one.Pools, one.Pods = w.Pools[i:i+1], nil
		for _, p := range w.Pods {
			if p.NodeSelector["team"] == w.Pools[i].Name {
				one.Pods = append(one.Pods, p)
			}
		}
		plan := decide(one)
		apart, machines = apart+plan.Price, machines+len(plan.NewClaims)
	}
	t.Logf("together %s on %d machines, one by one %s on %d", together.Price, len(together.NewClaims), apart, machines)
	if over := together.Price.Float()/apart.Float() - 1; over > 0.01 {
		t.Errorf("%.2f %% dearer than plans made one by one", 100*over)
	}
}
