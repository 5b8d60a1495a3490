package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// What stories tell of nodes that fail, machines that are announced to go, and pools of a fixed size.

const (
	// noticed is how long after an announcement that a machine goes its node may stay without leaving.
	noticed = time.Minute
	// fixedPool is the pool with a number of nodes that a person says.
	fixedPool = "fixed"
	// mostFixed is its largest number.
	mostFixed = 4
	// sickShare is the share of a pool's nodes, in per cent, beyond which nothing is repaired (upstream's node.health controller).
	sickShare = 20
	// silentFor is how long a node may be not ready before it is replaced (upstream's provider for Azure, RepairPolicies).
	silentFor = 10 * time.Minute
)

// more draws what else happens in two of five stories. It has a source of its own, so that the rest of a story is what it would be without.
func (d *drawer) more(seed uint64) {
	base := d.r
	d.r = rand.New(rand.NewPCG(seed, 0x6f7574616765))
	defer func() { d.r = base }()
	if !d.chance(40) {
		return
	}
	end := d.at + 10*time.Minute
	when := func() { d.at = time.Duration(d.r.Int64N(int64(end))).Round(100 * time.Millisecond) }
	if d.chance(50) {
		d.at = 0
		d.add("pool", fixedPool, fmt.Sprintf("replicas=%d", d.r.IntN(mostFixed+1)), "budget="+pick(d, "100%", "1"))
		for range d.r.IntN(3) {
			when()
			if d.chance(70) {
				d.add("pool", fixedPool, fmt.Sprintf("replicas=%d", d.r.IntN(mostFixed+1)))
			} else {
				d.add("pool", fixedPool, fmt.Sprintf("hash=f%d", d.r.IntN(9)))
			}
		}
	}
	for range d.r.IntN(4) {
		when()
		n := d.r.IntN(8)
		if d.chance(50) {
			d.add("ill", n, pick(d, "20s", "5m", "40m"))
		} else {
			d.add("notice", n, pick(d, "preempt", "terminate", "freeze"), pick(d, "30s", "2m", "15m"))
		}
	}
	slices.SortStableFunc(d.st.Acts, func(a, b Act) int { return int(a.At - b.At) })
}

// tell has an agent write a condition on the node; status "" takes it away.
func (p *player) tell(node string, c model.Condition) {
	p.s.Store.EditNode(node, func(n *model.Node) {
		list := slices.DeleteFunc(slices.Clone(n.Conditions), func(x model.Condition) bool { return x.Type == c.Type })
		if c.Status != "" {
			c.Since = time.Now()
			list = append(list, c)
		}
		n.Conditions = list
	})
}

// ill has the agent of a node say for a while that it does not work.
func (p *player) ill(a Act) {
	nodes := p.nodes()
	if len(nodes) == 0 {
		return
	}
	name := nodes[number(a.word(0))%len(nodes)].Name
	p.tell(name, model.Condition{Type: model.NodeHealthy, Status: model.False, Reason: "KernelDeadlock"})
	p.in(span(a.word(1)), a, func() { p.tell(name, model.Condition{Type: model.NodeHealthy}) })
}

// notice has the cloud announce what it does to a machine, as AKS shows it on its node. Who is to be evicted or deleted is gone after that; a machine
// that is frozen goes on.
func (p *player) notice(a Act) {
	what := a.word(1)
	nodes := slices.DeleteFunc(p.nodes(), func(n model.Node) bool {
		return what == "preempt" && n.Labels[model.LabelCapacityType] != model.Spot
	})
	if len(nodes) == 0 {
		return
	}
	n := nodes[number(a.word(0))%len(nodes)]
	wait := span(a.word(2))
	at := time.Now().Add(wait).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	c := model.Condition{Type: model.VMEventScheduled, Status: model.True, Reason: "TerminateScheduled", Message: "Terminate Scheduled: " + at}
	switch what {
	case "preempt":
		c.Type, c.Reason, c.Message = model.PreemptionScheduled, "SpotEvictionIncoming", "Preempt Scheduled: "+at
	case "freeze":
		c.Reason, c.Message = "FreezeScheduled", "Freeze Scheduled: "+at
	}
	p.tell(n.Name, c)
	p.in(wait, a, func() {
		if what == "freeze" {
			p.tell(n.Name, model.Condition{Type: c.Type})
			return
		}
		p.s.Cloud.Evict(n.ProviderID)
	})
}

// saysOfIt reports whether the node has a condition of the type and status that announces or says something but a freeze.
func saysOfIt(n model.Node, typ string, status model.Status) (time.Time, bool) {
	for _, c := range n.Conditions {
		if c.Type == typ && c.Status == status && !strings.HasPrefix(c.Reason, "Freeze") {
			return c.Since, true
		}
	}
	return time.Time{}, false
}

// doomed returns since when it is announced that the node's machine goes.
func doomed(n model.Node) (since time.Time, ok bool) {
	since, ok = saysOfIt(n, model.PreemptionScheduled, model.True)
	if !ok {
		since, ok = saysOfIt(n, model.VMEventScheduled, model.True)
	}
	return since, ok
}

// ails returns since when something is wrong with the node, and from when on it is to be replaced.
func ails(n model.Node) (since, due time.Time, ok bool) {
	since, ok = saysOfIt(n, model.NodeHealthy, model.False)
	if ok {
		return since, since, true
	}
	if n.Ready == model.True {
		return since, due, false
	}
	since = n.ReadySince
	if since.Before(n.Created) {
		since = n.Created
	}
	return since, since.Add(silentFor), true
}

// fails takes note of nodes that do not work, or whose machine goes. A node that was never initialized is not ready for a while as a matter of course, and
// is repaired like others once it is due: upstream's node.health controller looks at every managed node. mu is held.
func (j *judge) fails(o model.World) {
	for _, n := range o.Nodes {
		_, due, ill := ails(n)
		_, goes := doomed(n)
		if ill && (n.Labels[model.LabelInitialized] == "true" || !due.After(j.s.now())) || goes {
			j.failing[n.Name] = true
		}
	}
}

// noticed looks for nodes whose machine goes, and that nobody has leave. mu is held.
func (j *judge) noticed(o model.World) {
	for _, n := range o.Nodes {
		since, ok := doomed(n)
		c, owned := claimOf(o, n)
		if !ok || !owned || c.Deleting() || n.Deleting() {
			continue
		}
		if time.Since(since) > noticed && !j.blind() && !j.s.absent() {
			j.s.note("notice: the machine of node %s is announced to go, and the node stays", n.Name)
		}
	}
}

// healed looks for nodes that do not work, and that nobody replaces. mu is held.
func (j *judge) healed(o model.World) {
	for _, n := range o.Nodes {
		_, due, ill := ails(n)
		c, owned := claimOf(o, n)
		if !ill || !owned || c.Deleting() || n.Deleting() || n.Labels[model.LabelInitialized] != "true" || crowdedWard(o, n.Labels[model.LabelPool]) {
			delete(j.ailing, n.Name)
			continue
		}
		from, known := j.ailing[n.Name]
		if !known {
			from = time.Now()
			j.ailing[n.Name] = from
		}
		if from.Before(due) {
			from = due
		}
		// Where too many were ill a while ago, it is looked at again after five minutes.
		if time.Since(from) > 5*time.Minute+lag && !j.blind() && !j.s.absent() {
			j.s.note("repair: node %s does not work since %v, and stays", n.Name, time.Since(due).Round(time.Minute))
		}
	}
}

// crowdedWard reports whether so many nodes of the pool are ill that something else must be wrong.
func crowdedWard(o model.World, pool string) bool {
	all, sick := 0, 0
	for _, n := range o.Nodes {
		if n.Labels[model.LabelPool] != pool || n.Labels[model.LabelInitialized] != "true" {
			continue
		}
		all++
		if _, _, ill := ails(n); ill {
			sick++
		}
	}
	return sick > (all*sickShare+99)/100
}

// hasty looks at a claim that the controller is about to delete because its node does not work: it has to wait for a while. mu is held.
func (j *judge) hasty(o model.World, c model.Claim, n model.Node) {
	_, due, ill := ails(n)
	_, goes := doomed(n)
	switch {
	case !ill || goes || n.Deleting() || c.Deleting() || n.HasTaint(model.TaintDisrupted) || !due.After(j.s.now().Add(lag)):
		return
	case !c.Is(model.Initialized) || !j.owned(o, c) || !j.running(c) || j.blind() || fixed(o, c.Pool):
		return
	case c.ExpireAfter != nil && !c.Created.Add(*c.ExpireAfter).After(j.s.now()):
		return
	}
	j.s.note("repair: node %s is replaced before it is due", n.Name)
}

// fewer looks at a claim of a static pool that the controller is about to delete by its own choice: the others must be as many as a person wants. mu is held.
func (j *judge) fewer(o model.World, c model.Claim) {
	i := slices.IndexFunc(o.Pools, func(p model.Pool) bool { return p.Name == c.Pool && p.Replicas != nil })
	if i < 0 || j.blind() || j.since(lag, "pool") {
		return
	}
	others := 0
	for _, x := range o.Claims {
		if x.Pool == c.Pool && x.Name != c.Name && !x.Deleting() {
			others++
		}
	}
	if int64(others) < *o.Pools[i].Replicas {
		j.s.note("static: claim %s leaves, and %d others are left of %d", c.Name, others, *o.Pools[i].Replicas)
	}
}

// counted looks whether static pools have as many nodes at rest as people want.
func (s *Sim) counted(o model.World) {
	for _, p := range o.Pools {
		if p.Replicas == nil || p.Deleting || !p.Ready() {
			continue
		}
		n := 0
		for _, c := range o.Claims {
			if c.Pool == p.Name && !c.Deleting() {
				n++
			}
		}
		if int64(n) != *p.Replicas {
			s.note("static: NodePool %s has %d nodes at rest, and is to have %d", p.Name, n, *p.Replicas)
		}
	}
}

// fixed reports whether a person says how many nodes the pool has.
func fixed(o model.World, name string) bool {
	return slices.ContainsFunc(o.Pools, func(p model.Pool) bool { return p.Name == name && p.Replicas != nil })
}

// owned reports whether the claim's pool is there.
func (j *judge) owned(o model.World, c model.Claim) bool {
	return slices.ContainsFunc(o.Pools, func(p model.Pool) bool {
		return p.Name == c.Pool && !p.Deleting && (c.PoolUID == "" || c.PoolUID == p.UID)
	})
}

// running reports whether the claim's machine runs.
func (j *judge) running(c model.Claim) bool {
	return slices.ContainsFunc(j.s.Cloud.Machines(), func(m model.Instance) bool { return m.ID == c.ProviderID && m.State == model.Running })
}
