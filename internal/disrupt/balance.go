package disrupt

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/model"
)

// balance scores moves of pools with the policy Balanced: the share of the pool's price that is saved
// over the share of what moving all its pods would cost. A move of several pools has to be worth it for
// each of them; each is said to save as much of it as it has of the price of what goes.
type balance struct {
	s    *picture
	of   map[string]sums // by pool
	made bool
}

// sums are the price and the cost of moving of several nodes.
type sums struct {
	price model.Price
	cost  float64
}

func (a sums) add(x *candidate) sums { return sums{a.price + x.price, a.cost + x.cost()} }

// enough is the least score: half as much may be saved as is disrupted, as users of Karpenter know it.
const enough = 0.5

// judge says why the nodes stay, if a pool of theirs says so. O(nodes of the move), and once O(all nodes
// and pods).
func (b *balance) judge(members []*candidate, saves model.Price) reason {
	going, all := map[string]sums{}, sums{}
	var pools []string
	for _, x := range members {
		all = all.add(x)
		if x.pool.Policy != model.Balanced {
			continue
		}
		sum, known := going[x.pool.Name]
		if !known {
			pools = append(pools, x.pool.Name)
		}
		going[x.pool.Name] = sum.add(x)
	}
	for _, pool := range pools {
		whole, part := b.sums(pool), going[pool]
		saved := saves.Float() * part.price.Float() / all.price.Float() / whole.price.Float()
		disrupted := part.cost / whole.cost
		if saved < enough*disrupted {
			return reason{why: model.WhySavingTooSmall, detail: fmt.Sprintf(
				"the move would save %.1f%% of what NodePool %s costs and disrupt %.1f%% of it",
				saved*100, pool, disrupted*100)}
		}
	}
	return reason{}
}

// sums are those of all nodes of a pool, those that stay for other reasons among them.
func (b *balance) sums(pool string) sums {
	if !b.made {
		b.of, b.made = map[string]sums{}, true
		for _, y := range b.s.candidates {
			if y.pool != nil && y.pool.Policy == model.Balanced && y.node.Name != "" {
				b.of[y.pool.Name] = b.of[y.pool.Name].add(y)
			}
		}
	}
	return b.of[pool]
}
