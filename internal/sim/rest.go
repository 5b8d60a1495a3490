package sim

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// restFor is how long nothing may be written for the cluster to be at rest. Nodes with pods are judged anew within it.
	restFor = 7 * time.Minute
	// restWithin is how long after the last act the cluster comes to rest. Moves that failed are tried again up to an hour later.
	restWithin = 6 * time.Hour
	// mostGoroutines is how many goroutines a controller at rest has at most, with what is around it.
	mostGoroutines = 60
)

// Play plays the story until the cluster is at rest, and returns what was not as it should be; nil when all was. It takes some hundredths of a second.
func Play(t *testing.T, st Story) []string {
	t.Helper()
	notes, _ := playWith(t, st)
	return notes
}

// playWith is Play; it also says what happened.
func playWith(t *testing.T, st Story) ([]string, stats) {
	t.Helper()
	cfg := storyConfig(st)
	var s *Sim
	cfg.Refused = func(c evidence.Case) {
		if c.Crash != nil {
			s.note("defects: panic: %s at %s", c.Crash.Message, c.Crash.Site)
			return
		}
		s.note("defects: a plan was refused by the audit")
	}
	var sum stats
	notes := runWith(t, cfg, func(x *Sim) { s = x; x.judge = newJudge(x) }, func(s *Sim) {
		base := runtime.NumGoroutine()
		s.Store.Put(class(), daemon())
		p := &player{s: s, began: time.Now()}
		p.play(st)
		p.recover()
		s.rest()
		s.last(base)
		sum = s.judge.stats
	})
	slices.Sort(notes)
	return notes, sum
}

// storyConfig is the world that a story plays in. Half of the schedulers put pods aside that they tried in vain, a
// third try pods in any order, and most heed nominations.
func storyConfig(st Story) Config {
	return Config{Cloud: memcloud.Config{Catalog: diskCatalog(), BootDelay: 20 * time.Second, DeleteDelay: 10 * time.Second}, Tick: time.Second, Warm: 2 * time.Second, Rand: rand.New(rand.NewPCG(st.Seed, 0x73746f7279)), JoinSpread: 4 * time.Second,
		Queue: st.Seed%2 == 0, Shuffle: st.Seed%3 == 1, Settings: control.Settings{Nominate: st.Seed%4 != 3, SpotToSpot: st.Seed%3 == 0, StaticCapacity: true, NodeRepair: true}}
}

// rest waits until nothing is written for long enough.
func (s *Sim) rest() {
	writes, since := s.writes.Load(), time.Now()
	lists, looks := s.lists.Load(), s.looks.Load()
	for end := time.Now().Add(restWithin); time.Since(since) < restFor; {
		time.Sleep(10 * time.Second)
		now := s.writes.Load()
		if now != writes || s.underWay() {
			writes, since, lists, looks = now, time.Now(), s.lists.Load(), s.looks.Load()
		}
		if time.Now().After(end) {
			s.note("rest: the cluster does not come to rest")
			return
		}
	}
	if n := s.lists.Load() - lists; n > int64(restFor/(5*time.Minute))+2 {
		s.note("rest: the cloud is listed %d times in %v", n, restFor)
	}
	if n := s.looks.Load() - looks; n > 4 {
		s.note("rest: %d looks at machines in %v", n, restFor)
	}
}

// underWay reports whether a machine is on its way in, or a node is marked to go.
func (s *Sim) underWay() bool {
	o := s.see()
	return slices.ContainsFunc(o.Claims, func(c model.Claim) bool { return !c.Is(model.Initialized) && !c.Deleting() }) ||
		slices.ContainsFunc(o.Nodes, func(n model.Node) bool { return n.HasTaint(model.TaintDisrupted) && !n.Deleting() })
}

// last looks at the cluster at rest.
func (s *Sim) last(base int) {
	o := s.see()
	s.paired(o)
	for _, n := range o.Nodes {
		if n.HasTaint(model.TaintDisrupted) && !n.Deleting() {
			s.note("halfway: node %s is marked at rest", n.Name)
		}
		if n.Deleting() && !s.held(o, n) {
			s.note("stuck: node %s does not go, and nobody holds it", n.Name)
		}
	}
	s.homed(o)
	s.plugged(o)
	s.counted(o)
	s.kept(o)
	if n := runtime.NumGoroutine() - base; n > mostGoroutines {
		s.note("bounds: %d goroutines more at rest than at the beginning", n)
	}
}

// paired looks whether every machine has its claim and its node, and the other way round.
func (s *Sim) paired(o model.World) {
	machines := s.Cloud.Machines()
	for _, m := range machines {
		if !slices.ContainsFunc(o.Claims, func(c model.Claim) bool { return c.UID == m.ClaimUID && c.ProviderID == m.ID }) {
			s.note("leaks: machine %s belongs to no claim", m.Name)
		}
	}
	for _, c := range o.Claims {
		if !slices.ContainsFunc(machines, func(m model.Instance) bool { return m.ID == c.ProviderID && m.ClaimUID == c.UID }) {
			s.note("leaks: claim %s has no machine", c.Name)
		}
		if _, ok := nodeNamed(o, c.NodeName); !ok {
			s.note("leaks: claim %s has no node", c.Name)
		}
	}
	for _, n := range o.Nodes {
		if _, ok := claimOf(o, n); !ok {
			s.note("leaks: node %s belongs to no claim", n.Name)
		}
	}
	for uid := range s.Store.Tokens() {
		if !slices.ContainsFunc(o.Claims, func(c model.Claim) bool { return c.UID == uid }) {
			s.note("leaks: a token of claim %s, which is gone", uid)
		}
	}
}

// held reports whether somebody may hold a leaving node for ever.
func (s *Sim) held(o model.World, n model.Node) bool {
	return slices.ContainsFunc(o.Pods, func(p model.Pod) bool {
		if p.Node != n.Name || !tenant(p) {
			return false
		}
		guards := 0
		for _, b := range o.PDBs {
			if b.Selector[0].Values[0] == p.Labels["app"] {
				guards++
				if b.Allowed == 0 {
					guards++
				}
			}
		}
		return p.DoNotDisrupt != "" || guards > 1
	})
}

// roomFor is more than the cores of a machine that takes any pod of a story.
const roomFor = 8_000

// homed looks for pods that wait although a pool whose limit was left alone has room for any pod.
func (s *Sim) homed(o model.World) {
	open := slices.ContainsFunc(o.Pools, func(p model.Pool) bool {
		left := p.Limits[model.ResourceCPU] - roomFor
		for _, n := range o.Nodes {
			if n.Labels[model.LabelPool] == p.Name {
				left -= n.Capacity.CPU
			}
		}
		return p.Ready() && p.Limits[model.ResourceCPU] == pool().Limits[model.ResourceCPU] && left >= 0
	})
	for _, p := range o.Pods {
		if open && p.Node == "" && !p.Deleting() && !s.torn(o, &p) {
			s.note("waiting: pod %s waits at rest although a pool has room", p.Key())
		}
	}
}

// kept looks for nodes that are empty at rest, and for those of which nobody says why they stay.
func (s *Sim) kept(o model.World) {
	told := map[string]bool{}
	for _, e := range s.Store.Events() {
		if n, ok := e.About.(model.Node); ok && slices.Contains([]string{"Unconsolidatable", "DisruptionBlocked", "ConsolidationRejected"}, e.Reason) {
			told[n.Name] = true
		}
	}
	for _, n := range o.Nodes {
		i := slices.IndexFunc(o.Pools, func(p model.Pool) bool { return p.Name == n.Labels[model.LabelPool] })
		c, ok := claimOf(o, n)
		if i < 0 || !ok || n.Deleting() || c.Deleting() || o.Pools[i].ConsolidateAfter == nil || o.Pools[i].Replicas != nil {
			continue
		}
		empty := !slices.ContainsFunc(o.Pods, func(p model.Pod) bool { return p.Node == n.Name && tenant(p) })
		waited := slices.ContainsFunc(o.Pods, func(p model.Pod) bool { // or will, once it may leave where it is
			at, _ := nodeNamed(o, p.Node)
			return p.Node == "" || at.Deleting()
		})
		closed := slices.ContainsFunc(o.Pools[i].Budgets, func(b model.DisruptionBudget) bool { return part(b.Nodes, 100) == 0 })
		if empty && !waited && !closed && *o.Pools[i].ConsolidateAfter < restFor {
			s.note("waste: node %s is empty at rest", n.Name)
		}
		leave := slices.ContainsFunc(o.Nodes, model.Node.Deleting) // pods that are held there are expected elsewhere
		if !leave && o.Pools[i].Policy != model.WhenEmpty && *o.Pools[i].ConsolidateAfter < restFor && !told[n.Name] {
			s.note("reasons: node %s stays, and nobody says why", n.Name)
		}
	}
}
