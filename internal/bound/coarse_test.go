package bound

import (
	"math/rand"
	"testing"
)

// TestClustersLoseNextToNothing: what many groups cost when pods may be cut is found by looking at a few clusters of them.
func TestClustersLoseNextToNothing(t *testing.T) {
	for seed := range int64(3) {
		p := families(rand.New(rand.NewSource(seed)), 45, 500)
		for _, q := range parts(p, Patient) {
			prices := q.aggregate()
			start := q.worthOf(prices)
			full := q.sum(q.generate(start, Patient))
			list := q.clusters(crowds[0], prices)
			if len(list) >= len(q.groups) {
				t.Fatalf("%d clusters of %d groups are none", len(list), len(q.groups))
			}
			c := q.coarse(list)
			few := q.sum(q.valid(q.refine(list, c, c.generate(c.worthOf(prices), Patient)), Patient))
			if few > full*(1+2*closeTo) || few < full*0.998 {
				t.Errorf("seed %d: %d clusters say %.5f, all %d groups %.5f", seed, len(list), few, len(q.groups), full)
			}
		}
	}
}

// TestManyGroupsGetTheUpperTier: hundreds of groups, and more room lost to large pods than sand would lose.
func TestManyGroupsGetTheUpperTier(t *testing.T) {
	p := families(rand.New(rand.NewSource(1)), 400, 800)
	for g := range p.Groups {
		p.Groups[g].Need[0] *= 8
		p.Groups[g].Need[1] *= 8
	}
	low := upTo(p, L1, Brisk)
	c := upTo(p, L1Split, Brisk)
	if v, err := Check(c, p); err != nil || v != c.Value {
		t.Fatal(v, err)
	}
	if c.Tier != L1Split || c.Value < low.Value+low.Value/400 {
		t.Errorf("%s, as sand %s", c, low)
	}
}
