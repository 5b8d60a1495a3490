// Package nomination answers: which new nodes may take pods now, and which pods are told of them?
//
// The nodes of one plan do not come at the same moment, and kube-scheduler fills each with whatever waits. Decide looks at
// what was planned for the machines on their way and says, for each node that is there, which pods should be told of it
// (status.nominatedNodeName), and how long its opening should wait for the others. It is pure: it tells nobody and opens nothing, does
// not make plans (place) and does not judge whether a node is in order (lifecycle).
package nomination

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// HoldLimit is how long after it was created a node is kept shut for others at most. A node needs about as long to get
	// ready, so that this costs little even when the others never come.
	HoldLimit = 30 * time.Second
	// pace is how soon a shut node is looked at again while those before it take their pods.
	pace = 100 * time.Millisecond
)

// Landing is what to do for the node of one claim.
type Landing struct {
	Claim, Node string
	// Hold is how long the node stays shut unless something changes; 0 = it may open.
	Hold time.Duration
	// Open is set when it takes pods already, as far as we are concerned.
	Open bool
	// Tell lists the waiting pods that should be told of the node, in the order of the plan: those planned for it that kube-scheduler
	// would let onto it, now or as soon as it opens. Of nodes that stay shut, pods are told when all nodes are ready, just before these open:
	// while nodes join, kube-scheduler tries pods again and again, and forgets. One that was told already is not in it.
	Tell []model.Pod
}

// site is a claim that waits for its pods.
type site struct {
	claim *model.Claim
	node  *model.Node // nil until it is there
	pods  []*model.Pod
	open  bool // registered
	// ready is set when nothing but our own taint keeps pods away.
	ready bool
	// tell are the pods for which room is to be kept on the node, told or not.
	tell []*model.Pod
	// rank says when the node opens: the lower, the earlier.
	rank rank
	// later is set while nodes that should be open before have pods to take.
	later bool
}

// rank is when a node opens, among those of the plans that land.
type rank int

const (
	// leads: the first of its pods decides where others go. Before it runs it could stray to any node, and all others would have to follow.
	leads rank = iota
	// free: where its pods go depends on nobody.
	free
	// follows: kube-scheduler lets its pods in one after the other, as others do. Room for them can be kept for a moment only.
	follows
)

// wave is the sites of all plans that land, and what holds for them together.
type wave struct {
	sites    []*site
	gathered bool // all that are shut are ready
	tied     bool // where some pod may go depends on others
	untold   bool // some pod must be told yet of a node whose turn it is
}

// Decide says what to do for the nodes of claims whose pods still wait, by claim name. Claims without such pods are not in it. Pods
// that are spent for a node are not told of it. O(pods × constraints of the planned pods).
func Decide(w model.World, now time.Time, spent Spent) []Landing {
	w = w.Indexed()
	sites := survey(&w)
	if len(sites) == 0 {
		return nil
	}
	v := newWave(sites, newBoard(&w, sites), spent)
	var out []Landing
	for _, s := range sites {
		if s.node == nil {
			continue
		}
		l := Landing{Claim: s.claim.Name, Node: s.node.Name, Open: s.open}
		if !s.open {
			l.Hold = v.hold(&w, s, now)
		}
		for _, p := range s.tell {
			if p.Promised != s.node.Name && (l.Hold == 0 || v.gathered && !s.later) {
				l.Tell = append(l.Tell, *p)
			}
		}
		if !s.open || len(l.Tell) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// newWave sorts the pods of all sites, and says whose turn it is. The nodes of one turn open together, each with its room kept for all its pods, also for those that
// cannot all be let in yet: in the moment between the first and the last a pod whose own node is still shut goes where there is room.
func newWave(sites []*site, b *board, spent Spent) *wave {
	v := &wave{sites: sites, gathered: true}
	for _, s := range sites {
		v.gathered = v.gathered && (s.open || s.ready)
	}
	now := follows
	for _, s := range sites {
		s.sort(b, spent, v.gathered)
		v.tied = v.tied || s.rank != free
		if len(s.tell) > 0 {
			now = min(now, s.rank)
		}
	}
	for _, s := range sites {
		s.later = v.gathered && s.rank > now
		v.untold = v.untold || !s.open && !s.later && s.untold()
	}
	return v
}

// survey lists the claims for which pods wait, by name. A pod that was planned for twice belongs to the newer claim.
func survey(w *model.World) []*site {
	idle := map[model.PodKey]*model.Pod{}
	for p := range w.Index.Unbound().All() {
		if (p.Provisionable() || p.Unjudged()) && !p.Virtual { // of the latter, those that were planned for with others of their template
			idle[p.Key()] = p
		}
	}
	if len(idle) == 0 {
		return nil
	}
	var claims []*model.Claim
	for i := range w.Claims {
		if c := &w.Claims[i]; !c.Deleting() && c.Annotations[planned.Annotation] != "" {
			claims = append(claims, c)
		}
	}
	slices.SortStableFunc(claims, func(a, b *model.Claim) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
	})
	var out []*site
	for _, c := range claims {
		s := &site{claim: c, open: c.Is(model.Registered), pods: take(idle, c)}
		if len(s.pods) == 0 {
			continue
		}
		if n := w.Index.NodeBy(c.ProviderID); n != nil && !n.Deleting() {
			s.node, s.ready = n, ready(n, c)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *site) int { return strings.Compare(a.claim.Name, b.claim.Name) })
	return out
}

// take lists the pods planned for the claim that still wait, and takes them out of idle.
func take(idle map[model.PodKey]*model.Pod, c *model.Claim) []*model.Pod {
	var out []*model.Pod
	for _, key := range planned.Pods(*c) {
		if p := idle[key]; p != nil {
			delete(idle, key)
			out = append(out, p)
		}
	}
	return out
}

// ready reports whether the node takes pods as soon as our own taint is gone.
func ready(n *model.Node, c *model.Claim) bool {
	return n.Ready == model.True && !slices.ContainsFunc(n.Taints, func(t model.Taint) bool {
		return t.Effect != model.PreferNoSchedule && t.Key != model.TaintUnregistered && !slices.Contains(c.Taints, t)
	})
}

// tied reports whether where a pod may go depends on where others are, beyond its own machine.
func tied(p *model.Pod) bool { return len(p.PodAffinity) > 0 || spreads(p) }

func spreads(p *model.Pod) bool {
	return slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Hard && s.Key != model.LabelHostname })
}

// rankOn says when the node opens.
func (s *site) rankOn(b *board) rank {
	out := free
	for _, p := range s.pods {
		switch {
		case !tied(p):
		case spreads(p) || s.node == nil || slices.ContainsFunc(p.PodAffinity, func(t model.PodTerm) bool { return !b.joins(p, s.node, &t) }):
			return follows
		default:
			out = leads
		}
	}
	return out
}

// sort lists the pods that are to be told of the node: those that may be bound to it now, and, before it opens with the others, all that it holds. Before the node takes
// pods nobody is told: kube-scheduler forgets a node on which it tried a pod in vain, and then tries every other pod again.
func (s *site) sort(b *board, spent Spent, gathered bool) {
	if s.rank = s.rankOn(b); !s.ready {
		return
	}
	for _, p := range s.pods {
		if p.Promised != s.node.Name {
			if spent.has(p, s.node.Name) || !b.holds(p, s.node) || (s.open || !gathered) && !b.admits(p, s.node) {
				continue
			}
			b.tell(p, s.node)
		}
		s.tell = append(s.tell, p)
	}
}

// hold says how long the node of s stays shut: until it is ready but for us, so that all its pods are told at the moment when it takes
// them; and, where other pods decide where a pod may go, until the other nodes are, everybody was told, and it is its turn.
func (v *wave) hold(w *model.World, s *site, now time.Time) time.Duration {
	left := s.node.Created.Add(HoldLimit).Sub(now)
	switch {
	case left <= 0 || len(v.sites) < 2 || hindered(w, s.claim):
		return 0
	case !s.ready:
		return left
	case !v.tied:
		return 0
	case !v.gathered:
		return left
	case s.later || v.untold:
		return min(left, pace)
	}
	return 0
}

// untold reports whether some pod must be told of the node yet.
func (s *site) untold() bool {
	return slices.ContainsFunc(s.tell, func(p *model.Pod) bool { return p.Promised != s.node.Name })
}

// hindered reports whether a DaemonSet may be needed to get the node ready that does not run beside our taint.
func hindered(w *model.World, c *model.Claim) bool {
	ours := []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}
	start := append([]model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}}, c.StartupTaints...)
	return slices.ContainsFunc(w.Daemons, func(d model.Daemon) bool {
		if _, bad := model.Untolerated(ours, d.Pod.Tolerations); !bad {
			return false
		}
		return slices.ContainsFunc(start, func(t model.Taint) bool {
			_, bad := model.Untolerated([]model.Taint{t}, d.Pod.Tolerations)
			return !bad
		})
	})
}
