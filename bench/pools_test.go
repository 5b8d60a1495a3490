package bench

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/bound"
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
		plan := decide(alone(w, i))
		apart, machines = apart+plan.Price, machines+len(plan.NewClaims)
	}
	t.Logf("together %s on %d machines, one by one %s on %d", together.Price, len(together.NewClaims), apart, machines)
	if over := together.Price.Float()/apart.Float() - 1; over > 0.01 {
		t.Errorf("%.2f %% dearer than plans made one by one", 100*over)
	}
}

// TestSmallPoolsAreNearTheBest: where each of a hundred pools has some dozen pods, plans stand 4 to 5 % over the bound, and so does the best packing
// that column generation finds when it works for long on one pool alone: a few pods seldom fill a machine, and the bound sells parts of machines.
func TestSmallPoolsAreNearTheBest(t *testing.T) {
	w := workload.Teams(workload.Families(), workload.Shapes(2_500, 1), 100)
	var plans, best, least model.Price
	for i := 0; i < len(w.Pools); i += 10 {
		one := alone(w, i)
		plan := decide(one)
		price, floor := longSearch(t, bound.FromWorld(one, one.Pods), plan.Price)
		plans, best, least = plans+plan.Price, best+price, least+floor
	}
	over, above := 100*(plans.Float()/best.Float()-1), 100*(best.Float()/least.Float()-1)
	t.Logf("plans %s, the best known %s, %.2f %% less; the highest bound known is %s, %.2f %% under that", plans, best, over, least, above)
	if over > 1 {
		t.Errorf("plans for small pools are %.2f %% over the best known, at most 1", over)
	}
}

// alone is the world of one pool and of its pods.
func alone(w model.World, pool int) model.World {
	one := w
	one.Pools, one.Pods = w.Pools[pool:pool+1], nil
	for _, p := range w.Pods {
		if p.NodeSelector["team"] == one.Pools[0].Name {
			one.Pods = append(one.Pods, p)
		}
	}
	return one
}
