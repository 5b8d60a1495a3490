package lifecycle

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Stranded is what belongs to nobody any more.
type Stranded struct {
	Machines []model.Instance // bought by us, no claim stands for them
	Nodes    []model.Node     // ours, but neither a claim nor a machine stands behind them
}

// Orphans finds what belongs to nobody. A machine counts when it is older than age and no claim has its name, or the
// claim of that name is another one (its UID differs); a node when it is older than age and neither a claim nor a
// machine in a list younger than the node has its provider id. Nothing is called an orphan before the first list.
func Orphans(w model.World, listedAt, now time.Time, age time.Duration) Stranded {
	var out Stranded
	if !w.InstancesSeen || listedAt.IsZero() {
		return out
	}
	uid, byProvider := map[string]string{}, map[string]bool{}
	for _, c := range w.Claims {
		uid[c.Name] = c.UID
		if c.ProviderID != "" {
			byProvider[c.ProviderID] = true
		}
	}
	listed := map[string]bool{}
	for _, m := range w.Instances {
		listed[m.ID] = true
		id, ok := uid[m.Claim]
		owned := ok && (m.ClaimUID == "" || m.ClaimUID == id) || byProvider[m.ID]
		if !owned && m.State != model.Stopping && !m.Created.IsZero() && now.Sub(m.Created) >= age {
			out.Machines = append(out.Machines, m)
		}
	}
	for _, n := range w.Nodes {
		if !n.Managed() || n.ProviderID == "" || byProvider[n.ProviderID] || listed[n.ProviderID] {
			continue
		}
		if now.Sub(n.Created) >= age && listedAt.After(n.Created) {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}
