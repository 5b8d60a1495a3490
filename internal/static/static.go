// Package static answers: how many nodes should a static pool have?
//
// A static pool has a fixed number of replicas, whatever pods wait. Decide says which claims to create and which to delete so that
// the pool comes to that number. It is pure. What a machine of the pool is, it asks package place; it neither creates nor
// deletes (control does), and no disruption budget is asked, because the number is a person's word.
//
// Its answer for a picture in which half of it has been done is the other half: names of new claims come from the pool, its
// generation and their number, so that the same plan carried out twice creates nothing twice.
package static

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/model"
)

// MostAtOnce bounds how many claims one decision creates; the next one goes on. It keeps a typing error in replicas from
// filling the cluster before anyone sees it, and one pass short.
const MostAtOnce = 100

// Decision is what to do now.
type Decision struct {
	Create []Creation
	Delete []string // names of claims, those that cost least to lose first
	// Why says why fewer are created than are missing, with words for people; "" when none are held back.
	Why    model.Why
	Detail string
	// Asked is the picture in which place was asked for one machine of the pool, and Plan its answer, which all of Create follows: for
	// the audit. Zero when nothing is created.
	Asked model.World
	Plan  place.Plan
}

// Creation is one claim to create.
type Creation struct {
	Name     string
	Purchase place.NewClaim // without pods
}

// Decide compares what the pool has with what it should have. A pool without replicas, or one that cannot be read, is left alone. Claims that are on
// their way out do not count as there, but they do count against limits.nodes until they are gone.
// O(claims + pods + place.Decide for one pod).
func Decide(w model.World, pool model.Pool) Decision { return DecideWith(place.Decide, w, pool, nil) }

// DecideWith is Decide that asks another than place.Decide what to buy. spare are claims, by name, that replace others which are still there
// (disrupt.Spares): they are neither missing nor too many until those go.
func DecideWith(ask func(place.Input) place.Plan, w model.World, pool model.Pool, spare map[string]bool) Decision {
	if pool.Replicas == nil || pool.Deleting || pool.Unreadable != "" {
		return Decision{}
	}
	x := count(&w, pool.Name, spare)
	missing := *pool.Replicas - int64(len(x.live))
	if missing <= 0 {
		return Decision{Delete: surplus(w, x.live, int(-missing))}
	}
	return create(w, pool, lack{missing: missing, machines: x.machines, taken: x.taken, ask: ask})
}

// census is what a pool has.
type census struct {
	live     []model.Claim // that stay, without the spare ones
	taken    map[string]bool
	machines int64 // all that count against limits.nodes
}

func count(w *model.World, pool string, spare map[string]bool) census {
	out := census{taken: map[string]bool{}}
	claimed := map[string]bool{} // provider ids
	for _, c := range w.Claims {
		out.taken[c.Name] = true
		if c.Pool != pool {
			continue
		}
		out.machines++
		claimed[c.ProviderID] = true
		if !c.Deleting() && !spare[c.Name] {
			out.live = append(out.live, c)
		}
	}
	for _, n := range w.Nodes {
		if n.Labels[model.LabelPool] == pool && (n.ProviderID == "" || !claimed[n.ProviderID]) {
			out.machines++
		}
	}
	return out
}

// Another is one machine more, in place of one that is to go when this one is there; began is how many of these are decided about and not in the
// picture yet. It says why there is none: limits.nodes leaves no room for both, or nothing can be bought.
func Another(w model.World, pool model.Pool, began int64) (place.NewClaim, model.Why, string) {
	has := count(&w, pool.Name, nil).machines + began
	limit, ok := pool.Limits[model.ResourceNodes]
	if ok && has+1 > limit {
		return place.NewClaim{}, model.WhyLimits, fmt.Sprintf(
			"NodePool %s may have %d nodes and has %d: none can come before one goes", pool.Name, limit, has)
	}
	asked := alone(w, pool)
	return machine(place.Decide(place.Input{World: asked, Pods: asked.Pods}))
}

// lack is what is known when claims are missing.
type lack struct {
	missing, machines int64
	taken             map[string]bool // names of claims
	ask               func(place.Input) place.Plan
}

func create(w model.World, pool model.Pool, in lack) Decision {
	var d Decision
	n := min(in.missing, MostAtOnce)
	if limit, ok := pool.Limits[model.ResourceNodes]; ok && in.machines+n > limit {
		n = max(0, limit-in.machines)
		d.Why, d.Detail = model.WhyLimits, fmt.Sprintf("%d of %d missing nodes are held back: the pool may have %d nodes and has %d",
			in.missing-n, in.missing, limit, in.machines)
	}
	if n == 0 {
		return d
	}
	d.Asked = alone(w, pool)
	d.Plan = in.ask(place.Input{World: d.Asked, Pods: d.Asked.Pods})
	b, why, detail := machine(d.Plan)
	if why != "" {
		return Decision{Why: why, Detail: detail}
	}
	seed := b
	seed.Pods = []model.PodKey{{Namespace: pool.UID, Name: "replica of generation " + strconv.FormatInt(pool.Generation, 10)}}
	for i := 0; int64(len(d.Create)) < n; i++ { // at most one name per claim that there is is taken
		if name := offer.ClaimName(seed, i, 0); !in.taken[name] {
			d.Create = append(d.Create, Creation{Name: name, Purchase: b})
		}
	}
	return d
}

// probe is all that a pod asks for in whose stead a machine of a static pool is bought.
func probe() model.Resources { return model.Resources{Pods: 1} }

// alone is the picture to ask place in what it would buy for a pod that asks for nothing and accepts everything, were the pool empty,
// alone and not static. That way daemons, minValues, what is sold out and every other rule about buying count as for any pool.
func alone(w model.World, pool model.Pool) model.World {
	pool.Replicas, pool.Limits = nil, nil
	w.Pools, w.Claims, w.Nodes, w.PDBs = []model.Pool{pool}, nil, nil, nil
	w.Pods = []model.Pod{{Namespace: "static", Name: pool.Name, UID: "static", Unschedulable: true,
		Requests: probe(), Tolerations: []model.Toleration{{Op: "Exists"}}}}
	return w
}

// machine is what the plan buys, without the pod, or why it buys nothing.
func machine(plan place.Plan) (place.NewClaim, model.Why, string) {
	if len(plan.NewClaims) == 1 {
		b := plan.NewClaims[0]
		b.Pods, b.Requests = nil, b.Requests.Sub(probe())
		return b, "", ""
	}
	if len(plan.Unscheduled) > 0 {
		l := plan.Unscheduled[0]
		if len(l.Refusals) > 0 {
			return place.NewClaim{}, l.Refusals[0].Why, l.Refusals[0].Detail
		}
		return place.NewClaim{}, l.Why, l.Detail
	}
	return place.NewClaim{}, model.WhyNoOfferings, "no machine of the pool can be bought"
}

// How far a claim has come, and what is lost with it: less is deleted first.
const (
	unlaunched = iota // no machine yet
	unjoined          // no node yet
	unready           // the node is not ready for pods
	empty             // no pod needs another place
	occupied
	protected // a pod or a person asks that it stays, or a disruption budget does
)

// surplus names the n claims that cost least to lose: by stage, then by what moving their pods costs, then the youngest.
func surplus(w model.World, live []model.Claim, n int) []string {
	if n == 0 {
		return nil
	}
	at := survey(w)
	type candidate struct {
		claim model.Claim
		stage int
		cost  float64
	}
	var list []candidate
	for _, c := range live {
		stage, cost := at.weigh(c)
		list = append(list, candidate{c, stage, cost})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.cost, b.cost), b.claim.Created.Compare(a.claim.Created),
			cmp.Compare(a.claim.Name, b.claim.Name))
	})
	var out []string
	for _, c := range list[:n] {
		out = append(out, c.claim.Name)
	}
	return out
}

// picture is the world, and the pods that a disruption budget holds.
type picture struct {
	*model.Index
	held map[model.PodKey]bool
}

func survey(w model.World) picture {
	p := picture{Index: w.Indexed().Index, held: map[model.PodKey]bool{}}
	for _, b := range w.PDBs {
		for _, k := range b.Pods {
			p.held[k] = p.held[k] || b.Allowed <= 0
		}
	}
	return p
}

func (p picture) weigh(c model.Claim) (stage int, cost float64) {
	if c.ProviderID == "" {
		return unlaunched, 0
	}
	n := p.NodeBy(c.ProviderID)
	if n == nil {
		return unjoined, 0
	}
	stage = empty
	if !c.Is(model.Initialized) || n.Ready != model.True {
		stage = unready
	}
	for _, x := range p.On(n.Name).Pods {
		if !x.Reschedulable() {
			continue
		}
		cost += x.EvictionCost()
		stage = max(stage, occupied)
		if x.DoNotDisrupt != "" || p.held[x.Key()] {
			stage = protected
		}
	}
	if c.Annotations[model.AnnotationDoNotDisrupt] == "true" || n.Annotations[model.AnnotationDoNotDisrupt] == "true" {
		stage = protected
	}
	return stage, cost
}
