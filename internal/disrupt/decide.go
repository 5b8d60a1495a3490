package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/model"
)

// budgetPoll is when a node that only a budget keeps looks again: budgets open and close by the minute.
const budgetPoll = time.Minute

// Decide names the empty nodes that leave now, as many at once as the budgets of their pools allow, dearest first, and
// says why every other node stays. Each move is one claim, so that one that fails stops no other. O(pods + nodes log nodes).
func Decide(in Input) Decision {
	s := survey(in)
	var d Decision
	empty := map[string][]site{} // by pool
	for _, x := range s.sites {
		why, detail, after := s.stays(x)
		switch {
		case why != "":
			d.keep(x, why, detail, after)
			if x.marked() {
				d.Unmark = append(d.Unmark, x.node.Name)
			}
		case x.marked(): // its budget was asked when it was marked, and counts it since
			d.Moves = append(d.Moves, x.move())
		default:
			empty[x.pool.Name] = append(empty[x.pool.Name], x)
		}
	}
	for _, p := range in.World.Pools {
		list := empty[p.Name]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b site) int {
			return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(a.claim.Name, b.claim.Name))
		})
		total, leaving := s.census(p.Name)
		n := min(budget.Allowed(p, budget.Empty, total, leaving, in.Now), len(list))
		for _, x := range list[:n] {
			d.Moves = append(d.Moves, x.move())
		}
		for _, x := range list[n:] {
			d.keep(x, model.WhyBudget, fmt.Sprintf("the budgets of NodePool %s allow %d of %d empty nodes to leave now", p.Name, n, len(list)), budgetPoll)
		}
	}
	slices.SortFunc(d.Moves, func(a, b Move) int { return cmp.Compare(a.Claims[0], b.Claims[0]) })
	slices.Sort(d.Unmark)
	slices.SortFunc(d.Kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Node, b.Node)) })
	return d
}

func (d *Decision) keep(x site, why model.Why, detail string, after time.Duration) {
	d.Kept = append(d.Kept, Kept{Claim: x.claim.Name, Node: x.node.Name, Why: why, Detail: detail})
	if after > 0 && (d.After == 0 || after < d.After) {
		d.After = after
	}
}

// site is a claim with all that belongs to it.
type site struct {
	claim *model.Claim
	node  *model.Node // nobody's when none has joined
	pool  *model.Pool
	there model.NodePods
	price model.Price // zero when the cloud does not sell it any more
}

// picture is the input sorted by site.
type picture struct {
	Input
	sites []site
	// nominated are the nodes for which kube-scheduler has made room for a pod.
	nominated map[string]model.PodKey
	closed    map[model.PodKey]string // pods whose budget is spent, and its name
	// expected is the answer of Expected, once it was asked.
	expected map[string]bool
	asked    bool
}

func survey(in Input) *picture {
	in.World = in.World.Indexed()
	s := &picture{Input: in, nominated: map[string]model.PodKey{}, closed: map[model.PodKey]string{}}
	w, none := &s.World, &model.Node{}
	for p := range w.Index.Unbound().All() {
		if p.Nominated != "" {
			s.nominated[p.Nominated] = p.Key()
		}
	}
	for _, b := range w.PDBs {
		if b.Allowed > 0 {
			continue
		}
		for _, k := range b.Pods {
			s.closed[k] = b.Namespace + "/" + b.Name
		}
	}
	pools := make(map[string]*model.Pool, len(w.Pools))
	for i := range w.Pools {
		pools[w.Pools[i].Name] = &w.Pools[i]
	}
	prices := prices{w: w}
	s.sites = make([]site, 0, len(w.Claims))
	for i := range w.Claims {
		c := &w.Claims[i]
		x := site{claim: c, node: w.Index.NodeBy(c.ProviderID), price: prices.of(c)}
		if c.Pool != "" {
			x.pool = pools[c.Pool]
		}
		if x.node == nil {
			x.node = none
		} else {
			x.there = w.Index.On(x.node.Name)
		}
		s.sites = append(s.sites, x)
	}
	return s
}

// prices knows what machines cost now; each kind is looked up once.
type prices struct {
	w     *model.World
	known map[priced]model.Price
}

type priced struct {
	pool  string
	class model.ClassRef
	key   model.OfferingKey
}

func (l *prices) of(c *model.Claim) model.Price {
	k := priced{c.Pool, c.Class, model.OfferingKey{Type: c.Labels[model.LabelInstanceType], Zone: c.Labels[model.LabelZone],
		CapacityType: c.Labels[model.LabelCapacityType]}}
	price, ok := l.known[k]
	if ok {
		return price
	}
	t, _ := l.w.Catalog(c.Pool, c.Class).Type(k.key.Type)
	for _, o := range t.Offerings {
		if o.Zone == k.key.Zone && o.CapacityType == k.key.CapacityType {
			price = o.Price
			break
		}
	}
	if l.known == nil {
		l.known = map[priced]model.Price{}
	}
	l.known[k] = price
	return price
}

// census counts the pool's nodes as budgets see them: initialized ones whose machine is not on its way out already,
// and among these the ones that are leaving or not ready.
func (s *picture) census(pool string) (total, leaving int) {
	for _, x := range s.sites {
		if x.claim.Pool != pool || x.node.Name == "" || !x.claim.Is(model.Initialized) || x.claim.Is(model.InstanceTerminating) {
			continue
		}
		total++
		if x.leaves() || x.marked() || x.node.Ready != model.True {
			leaving++
		}
	}
	return total, leaving
}

// leaves reports whether there is no way back.
func (x site) leaves() bool { return x.claim.Deleting() || x.node.Deleting() }

// marked reports whether the node is chosen to leave, but may still stay.
func (x site) marked() bool { return !x.leaves() && x.node.HasTaint(model.TaintDisrupted) }

func (x site) move() Move {
	return Move{Claims: []string{x.claim.Name}, Nodes: []string{x.node.Name}, Why: model.WhyEmpty, Saves: x.price, Marked: x.marked()}
}
