package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// How often a machine is looked at: the younger what it is doing, the more often, so that one that takes t seconds costs about
// 3 + 2 log2(t/10) looks.
const (
	LookFirst = 5 * time.Second
	LookLast  = time.Minute
)

// Sight says what is known of machines, and from when.
type Sight struct {
	// IDOf is the id that the machine of a claim would have.
	IDOf func(claim string) string
	// SeenAt is when the cloud was last asked about a machine in any way, LookedAt when it was asked about that one.
	SeenAt, LookedAt func(id string) time.Time
}

// Look is a machine to look at, and when.
type Look struct {
	ID  string
	Due time.Time
}

// Follow lists the machines whose next news matters to a claim or a node: those on their way in or out, and those of nodes that are
// not ready. Sorted by when they are due, then by id. All others are left to the seldom list.
func Follow(w model.World, s Sight) []Look {
	var out []Look
	add := func(id string, since, seen time.Time, first time.Duration) {
		due := since.Add(first)
		if seen.After(since) {
			due = seen.Add(min(max(seen.Sub(since)/2, LookFirst), LookLast))
		}
		if id != "" {
			out = append(out, Look{ID: id, Due: due})
		}
	}
	w = w.Indexed()
	present, claimed := map[string]bool{}, map[string]bool{}
	for i := range w.Instances {
		present[w.Instances[i].ID] = true
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		id := cmp.Or(c.ProviderID, s.IDOf(c.Name))
		claimed[id] = true
		n := w.Index.NodeBy(id)
		joined := n != nil
		if !joined {
			n = &model.Node{}
		}
		x, _ := model.FindCondition(c.Conditions, model.Launched)
		switch ending, _ := model.FindCondition(c.Conditions, model.InstanceTerminating); {
		case c.Deleting() && c.Is(model.InstanceTerminating):
			add(id, later(ending.Since, n.DeletedAt), s.SeenAt(id), LookFirst)
		case c.Deleting() && !present[id]:
			add(id, later(c.DeletedAt, n.DeletedAt), s.SeenAt(id), 0)
		case joined && n.Ready != model.True && c.Is(model.Registered):
			add(id, n.ReadySince, s.LookedAt(id), 0)
		case c.Deleting() || !c.Is(model.Launched) || c.Is(model.Registered):
			// Nothing is awaited of its machine.
		case joined: // the node speaks for it
			add(id, x.Since, s.SeenAt(id), LookLast)
		default:
			add(id, x.Since, s.SeenAt(id), LookFirst)
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if id := n.ProviderID; n.Deleting() && n.Managed() && w.Index.NodeBy(id) == n && !claimed[id] {
			add(id, n.DeletedAt, s.SeenAt(id), 0)
		}
	}
	slices.SortFunc(out, func(a, b Look) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
