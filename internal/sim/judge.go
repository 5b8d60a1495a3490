package sim

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// lag is how old the controller's picture may be when nothing disturbs it: what is younger it need not know.
	lag = 15 * time.Second
	// settled is how long after an act that upsets something its consequences are not held against anybody.
	settled = 5 * time.Minute
	// halfway is how long a node may be marked to leave without leaving: as long as a machine may take to join, and a move to be undone.
	halfway = 30 * time.Minute
	// boots is how long a machine takes to be bought and to join, with patience.
	boots = 3 * time.Minute
	// again is how long a pod is left where it was moved to, unless something changes.
	again = time.Hour
)

// judge looks at the cluster and the cloud, whatever the controller believes of them, and notes what is not as it should be. What it says begins with the
// invariant, then ": ".
type judge struct {
	s *Sim

	// mu guards the fields below.
	mu     sync.Mutex
	last   map[string]time.Time // by verb, when an act of it was
	upset  time.Time            // the last act that upsets something
	latest time.Time            // the last act
	spans  map[string]bool      // verbs whose act goes on
	// ceilings is how many nodes of a pool may leave, by its budgets, at each look of a short while.
	ceilings map[string][]ceiling
	marked   map[string]time.Time // nodes that are to leave
	leaving  map[string]bool      // nodes that leave by our own choice, and whether pods waited then, which may take the room of theirs
	fetched  map[string]move      // claims, by UID, that were made when no pod waited: they replace something
	lines    map[model.PodKey]*lineage
	waits    map[model.PodKey]time.Time
	ailing   map[string]time.Time // nodes that do not work, since when nothing else keeps them from being replaced
	failing  map[string]bool      // nodes that did not work once, or whose machine was announced to go: their pods may be deleted by force
	edits    map[string]time.Time // by deployment or StatefulSet, when a person changed it last
	together departure
	stats    stats
}

// departure is nodes that leave by our own choice at one moment, and the cluster just before: who leaves together is judged together, whoever of them is
// written first.
type departure struct {
	at    time.Time
	o     model.World
	nodes []model.Node
}

// stats is what happened, for reports.
type stats struct {
	moved int // pods moved by our own choice
	late  int // of these, pods that found no node in the time that they had to end
	twice int // pods moved twice within an hour although nothing else changed
	// circles are pods moved twice, and machines bought and given back, without anything saved.
	circles int
	bought  int // claims made
	brief   int // machines that left by our own choice within an hour
	// disks are how many times a disk was attached to a node, freed how many of these had left another node that was on its way out.
	disks, freed int
}

type ceiling struct {
	at time.Time
	n  int
}

// move is when something was moved, and what the cluster cost an hour after it.
type move struct {
	at    time.Time
	price model.Price
}

// lineage is one place of a deployment: a pod, and those that follow it.
type lineage struct {
	app   string
	grace time.Duration
	moves []move
	lost  time.Time       // when its last pod was evicted by our own choice; zero when it has a node again
	asked model.Resources // by that pod
	// excused is when last the pod that follows waited for what nobody could know.
	excused time.Time
}

func newJudge(s *Sim) *judge {
	return &judge{s: s, last: map[string]time.Time{}, spans: map[string]bool{}, ceilings: map[string][]ceiling{}, marked: map[string]time.Time{}, leaving: map[string]bool{},
		fetched: map[string]move{}, lines: map[model.PodKey]*lineage{}, waits: map[model.PodKey]time.Time{}, ailing: map[string]time.Time{}, failing: map[string]bool{}, edits: map[string]time.Time{}}
}

func (a *stats) add(b stats) {
	a.moved, a.late, a.twice, a.circles = a.moved+b.moved, a.late+b.late, a.twice+b.twice, a.circles+b.circles
	a.bought, a.brief = a.bought+b.bought, a.brief+b.brief
	a.disks, a.freed = a.disks+b.disks, a.freed+b.freed
}

// acted takes note of an act, or of its end.
func (j *judge) acted(a Act) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last[a.Verb], j.latest = time.Now(), time.Now()
	if verbs()[a.Verb].upsets {
		j.upset = time.Now()
	}
	if a.Verb == "scale" || a.Verb == "app" || a.Verb == "set" {
		j.edits[a.word(0)] = time.Now()
	}
}

// goesOn takes note that what an act began goes on, or has ended.
func (j *judge) goesOn(verb string, on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spans[verb] = on
}

// since reports whether an act of one of the verbs was within d. mu is held.
func (j *judge) since(d time.Duration, verbs ...string) bool {
	return slices.ContainsFunc(verbs, func(v string) bool { return !j.last[v].IsZero() && time.Since(j.last[v]) < d })
}

// blind reports whether the controller cannot know what is the case, or do anything about it: it was disturbed a moment ago, or the API server does not
// answer, watches stand still, or nobody runs it. Who has no API server can neither delete a claim nor take a finalizer away, however long that lasts. mu is held.
func (j *judge) blind() bool {
	return j.spans["hold-watch"] || j.spans["api-down"] || j.spans["away"] ||
		j.since(2*time.Minute, "hold-watch", "api-down", "cut-watch", "clock", "away", "kill", "fail")
}

// look looks at everything.
func (j *judge) look(o model.World) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.departed()
	j.limits(o)
	j.budgets(o)
	j.halfway(o)
	j.homeless(o)
	j.untold(o)
	j.fails(o)
	j.noticed(o)
	j.healed(o)
	j.attached(o)
}

// limits looks whether pools stay within their limits. What was bought before a person lowered them stays.
func (j *judge) limits(o model.World) {
	if j.since(20*time.Minute, "pool") {
		return
	}
	for _, p := range o.Pools {
		used := map[string]int64{}
		for _, c := range o.Claims {
			// What replaces a node may be there before that is gone, as users of Karpenter know it.
			n, _ := nodeNamed(o, c.NodeName)
			if c.Pool == p.Name && c.ProviderID != "" && !c.Deleting() && !n.HasTaint(model.TaintDisrupted) {
				used[model.ResourceNodes]++
				for _, r := range c.Capacity.Names() {
					used[r] += c.Capacity.Get(r)
				}
			}
		}
		for r, limit := range p.Limits {
			young := slices.ContainsFunc(o.Claims, func(c model.Claim) bool {
				return c.Pool == p.Name && c.Created.After(j.last["pool"])
			})
			// Pods that waited may have taken room on a machine that was to replace another: then both stay.
			replaced := slices.ContainsFunc(o.Claims, func(c model.Claim) bool {
				_, ok := j.fetched[c.UID]
				return ok && c.Pool == p.Name
			})
			if used[r] > limit && young && !replaced {
				j.s.note("limits: pool %s uses %d of %s, limit %d", p.Name, used[r], r, limit)
			}
		}
	}
}

// budgets notes how many nodes may leave now, as the documentation of NodePools has it: a share of the pool's nodes, rounded up, or a number.
func (j *judge) budgets(o model.World) {
	for _, p := range o.Pools {
		total := 0
		for _, c := range o.Claims {
			if c.Pool == p.Name && c.Is(model.Initialized) {
				total++
			}
		}
		n := 1 << 30
		for _, b := range p.Budgets {
			share, percent := strings.CutSuffix(b.Nodes, "%")
			k, err := strconv.Atoi(share)
			if err != nil {
				continue
			}
			if percent {
				k = (k*total + 99) / 100
			}
			n = min(n, k)
		}
		list := slices.DeleteFunc(j.ceilings[p.Name], func(c ceiling) bool { return time.Since(c.at) > time.Minute })
		j.ceilings[p.Name] = append(list, ceiling{time.Now(), n})
	}
}

// marks looks at a node that is marked to leave, but does not leave yet: that is a choice of ours, and budgets bound it.
func (j *judge) marks(name string, p kube.NodePatch) {
	if !slices.ContainsFunc(p.AddTaints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted }) {
		return
	}
	o := j.s.see()
	n, ok := nodeNamed(o, name)
	if !ok || n.Deleting() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if c, ok := claimOf(o, n); ok && c.Deleting() {
		return
	}
	if _, known := j.marked[name]; !known {
		j.marked[name] = time.Now()
	}
	pool := n.Labels[model.LabelPool]
	most, leave := 0, 0
	j.budgets(o) // nodes may have come since the last look
	for _, c := range j.ceilings[pool] {
		most = max(most, c.n)
	}
	for _, x := range o.Nodes {
		_, chosen := j.leaving[x.Name]
		if x.Labels[model.LabelPool] == pool && (chosen || !x.Deleting() && x.HasTaint(model.TaintDisrupted)) {
			leave++
		}
	}
	if len(j.ceilings[pool]) > 0 && leave > most && !j.blind() {
		j.s.note("budgets: %d nodes of pool %s leave, and its budgets let %d", leave, pool, most)
	}
	if !j.blind() && !j.since(lag, "protect") && n.Annotations[model.AnnotationDoNotDisrupt] == "true" {
		j.s.note("protected: node %s is to be left alone, and is marked", name)
	}
}

// halfway looks for nodes that are marked and never leave.
func (j *judge) halfway(o model.World) {
	for _, n := range o.Nodes {
		if n.Deleting() || !n.HasTaint(model.TaintDisrupted) {
			delete(j.marked, n.Name)
			continue
		}
		if _, known := j.marked[n.Name]; !known {
			j.marked[n.Name] = time.Now()
		}
		if c, ok := claimOf(o, n); ok && c.Deleting() || j.since(halfway, "away", "api-down", "hold-watch", "cloud-down") {
			continue
		}
		if since := j.marked[n.Name]; time.Since(since) > halfway {
			j.s.note("halfway: node %s is marked and does not leave", n.Name)
		}
	}
}

// deletes looks at a claim that the controller is about to delete.
func (j *judge) deletes(name string) {
	o := j.s.see()
	i := slices.IndexFunc(o.Claims, func(c model.Claim) bool { return c.Name == name })
	if i < 0 {
		return
	}
	c := o.Claims[i]
	n, ok := nodeNamed(o, c.NodeName)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fails(o)
	if ok {
		j.hasty(o, c, n)
	}
	if ok && j.keeping(o, c, n) {
		j.fewer(o, c)
	}
	j.departed()
	if !ok || !j.chosen(o, c, n) {
		return
	}
	j.leaving[n.Name] = j.others(o)
	if time.Since(c.Created) < time.Hour {
		j.stats.brief++
	}
	price := j.price(o)
	first, replaced := j.fetched[c.UID]
	for uid, x := range j.fetched {
		if x.price == 0 { // this is the move that it was bought for
			x.price = price
			j.fetched[uid] = x
		}
	}
	if replaced && first.price > 0 && price >= first.price && time.Since(first.at) < again && j.calm(first.at) {
		j.stats.circles++
	}
	if j.blind() || time.Since(j.upset) < lag {
		return
	}
	j.unasked(o, c, n)
	if time.Since(j.upset) <= settled {
		return
	}
	if len(j.together.nodes) == 0 {
		j.together = departure{at: time.Now(), o: o}
	}
	j.together.nodes = append(j.together.nodes, n)
}

// departed looks at those that left together, once that moment has passed. mu is held.
func (j *judge) departed() {
	d := j.together
	if len(d.nodes) == 0 || !d.at.Before(time.Now()) {
		return
	}
	j.together = departure{}
	for _, n := range d.nodes {
		j.homes(d.o, n)
	}
}

// calm reports whether nothing has changed since, nor shortly before. mu is held.
func (j *judge) calm(since time.Time) bool {
	return j.latest.Before(since.Add(-settled)) && !j.since(3*time.Hour, "sold-out")
}

// price is what the machines of nodes that stay cost an hour. mu is held.
func (j *judge) price(o model.World) model.Price {
	var sum model.Price
	cat := memcloud.SmallCatalog("westus3")
	for _, c := range o.Claims {
		n, _ := nodeNamed(o, c.NodeName)
		if _, goes := j.leaving[n.Name]; goes || c.Deleting() || n.HasTaint(model.TaintDisrupted) {
			continue
		}
		t, _ := cat.Type(c.Labels[model.LabelInstanceType])
		for _, x := range t.Offerings {
			if x.Zone == c.Labels[model.LabelZone] && x.CapacityType == c.Labels[model.LabelCapacityType] {
				sum += x.Price
			}
		}
	}
	return sum
}

// chosen reports whether it is our own choice that a claim leaves: nothing is wrong with it, and nobody says how many there should be. mu is held.
func (j *judge) chosen(o model.World, c model.Claim, n model.Node) bool {
	return j.keeping(o, c, n) && !fixed(o, c.Pool)
}

// keeping reports whether nothing asks for the claim to leave. mu is held.
func (j *judge) keeping(o model.World, c model.Claim, n model.Node) bool {
	if c.Deleting() || n.Deleting() || !c.Is(model.Initialized) || n.Ready != model.True {
		return false
	}
	if c.ExpireAfter != nil && !c.Created.Add(*c.ExpireAfter).After(j.s.now()) {
		return false
	}
	_, goes := doomed(n)
	_, _, ill := ails(n)
	return !goes && !ill && j.owned(o, c) && j.running(c)
}

// unasked looks whether somebody asks that the node stays. mu is held.
func (j *judge) unasked(o model.World, c model.Claim, n model.Node) {
	if n.Annotations[model.AnnotationDoNotDisrupt] == "true" && !j.since(lag, "protect") {
		j.s.note("protected: node %s is to be left alone, and leaves", n.Name)
	}
	if c.TerminationGracePeriod != nil {
		return
	}
	for _, p := range o.Pods {
		if p.Node != n.Name || !tenant(p) || time.Since(p.Started) < lag {
			continue
		}
		until, err := time.ParseDuration(p.DoNotDisrupt)
		if p.DoNotDisrupt == "true" || err == nil && p.Started.Add(until).After(j.s.now().Add(lag)) {
			j.s.note("protected: pod %s on node %s is to be left alone, and its node leaves", p.Key(), n.Name)
		}
	}
}

// tenant reports whether the pod needs another place when its node goes.
func tenant(p model.Pod) bool {
	_, bad := model.Untolerated([]model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}, p.Tolerations)
	return bad && p.Reschedulable() && !p.Deleting()
}

// homes looks whether what runs on nodes that leave by our own choice has another place on what is there, in some order. mu is held.
func (j *judge) homes(o model.World, leaving model.Node) {
	var list []model.Pod
	for _, p := range o.Pods {
		_, goes := j.leaving[p.Node]
		if goes && p.Deleting() {
			return // what follows the pods of another node may be anywhere
		}
		waits := p.Node == "" && !p.Gated && !p.Deleting() && !p.Terminal
		if goes && tenant(p) || waits {
			list = append(list, p)
		}
	}
	o.Nodes = slices.DeleteFunc(slices.Clone(o.Nodes), func(n model.Node) bool {
		_, goes := j.leaving[n.Name]
		return goes
	})
	left, ok := allHoused(o, j.s.zones(), list, leaving.Name)
	if !ok {
		j.s.note("homes: node %s leaves, and pod %s has no other place", leaving.Name, left)
	}
}

// allHoused looks whether the pods that run on the node that leaves have a place in the picture, which knows it no more, in some order.
func allHoused(o model.World, zones map[string]string, list []model.Pod, leaving string) (left model.PodKey, ok bool) {
	// Those that leave come first, the largest first of all: where others that wait take the room, as many run as before.
	large := func(size func(model.Resources) int64) {
		slices.SortStableFunc(list, func(a, b model.Pod) int {
			if waits := a.Node == ""; waits != (b.Node == "") {
				if waits {
					return 1
				}
				return -1
			}
			return cmp.Compare(size(b.Requests), size(a.Requests))
		})
	}
	r := rand.New(rand.NewPCG(1, uint64(len(list))))
	for try := range 120 {
		switch {
		case try == 0:
			large(func(x model.Resources) int64 { return x.CPU })
		case try == ways:
			large(func(x model.Resources) int64 { return x.Memory })
		case try >= 2*ways:
			r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		}
		left, ok = housed(o, zones, list, try%ways, leaving)
		if ok {
			return left, true
		}
	}
	return left, false
}

// ways is how many ways housed knows.
const ways = 8

// coreOf is how many bytes count as much as a thousandth of a core where room is compared: machines have 2 to 8 GiB for each core.
const coreOf = 4 << 20

// housed tries the pods one after the other, each on the node that takes it and has the least or the most left of its cores, its memory, or both, or what is
// most like it, and those that found no place again as long as others find one, which may let them in. Only those that run on the node must not be left over. Some pods fit in one way only,
// by cores and by memory, and whoever says that there is none has to have looked well.
func housed(o model.World, zones map[string]string, list []model.Pod, way int, must string) (model.PodKey, bool) {
	c := newCluster(o, zones)
	score := func(q *model.Pod, n string) float64 { // the least is the best
		free, all := c.free[n], c.nodes[n].Allocatable
		cores, memory := float64(free.CPU)*coreOf, float64(free.Memory)
		like := math.Abs(math.Atan2(cores, memory) - math.Atan2(float64(q.Requests.CPU)*coreOf, float64(q.Requests.Memory)))
		s := []float64{cores, memory, cores/coreOf/float64(max(all.CPU, 1)) + memory/float64(max(all.Memory, 1)), like}[way/2]
		switch {
		case way == ways-1: // of all that are about alike the fullest
			return math.Round(like*4) + cores/1e15
		case way%2 == 1:
			return -s
		}
		return s
	}
	for {
		var rest []model.Pod
		for i := range list {
			q := list[i]
			q.Node = ""
			best := ""
			for _, n := range c.names {
				if (best == "" || score(&q, n) < score(&q, best)) && c.takes(&q, n) {
					best = n
				}
			}
			if best == "" {
				rest = append(rest, list[i])
				continue
			}
			c.forget(&q)
			c.bind(&q, best)
		}
		stuck := len(rest) == len(list)
		if list = rest; stuck || len(list) == 0 {
			break
		}
	}
	for i := range list {
		if list[i].Node == must {
			return list[i].Key(), false
		}
	}
	return model.PodKey{}, true
}

// evicts looks at a pod that the controller asks to leave.
func (j *judge) evicts(r kube.Removal) {
	o := j.s.see()
	i := slices.IndexFunc(o.Pods, func(p model.Pod) bool { return p.Key() == r.Pod && (r.UID == "" || p.UID == r.UID) })
	if i < 0 {
		return
	}
	p := o.Pods[i]
	n, _ := nodeNamed(o, p.Node)
	j.mu.Lock()
	defer j.mu.Unlock()
	if !n.Deleting() && !j.blind() {
		j.s.note("evictions: pod %s is evicted from node %s, which does not leave", p.Key(), n.Name)
	}
	if r.Force {
		_, due := j.failing[n.Name]
		if c, ok := claimOf(o, n); ok && c.TerminationGracePeriod == nil && !due {
			j.s.note("evictions: pod %s is deleted by force, and its node has no termination grace period", p.Key())
		}
	}
	crowded, chosen := j.leaving[p.Node]
	if l := j.lines[p.Key()]; l != nil && chosen && !crowded && !j.others(o) && !p.Deleting() && !r.Force {
		l.lost, l.grace, l.asked = time.Now(), time.Duration(p.GraceSeconds)*time.Second, p.Requests
	}
}

// others reports whether pods wait that may take room before those that follow moved ones; then as many run as before. mu is held.
func (j *judge) others(o model.World) bool {
	return slices.ContainsFunc(o.Pods, func(q model.Pod) bool {
		x := j.lines[q.Key()]
		return q.Node == "" && !q.Deleting() && (x == nil || x.lost.IsZero() || !q.Requests.FitsIn(x.asked))
	})
}

// made takes note of a pod that a deployment or a StatefulSet made: it follows one that was lost, the oldest first.
func (j *judge) made(app string, key model.PodKey, set bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &lineage{app: app}
	if set { // it follows the pod of its name
		if x := j.lines[key]; x == nil || x.lost.IsZero() {
			j.lines[key] = l
		}
		return
	}
	gone := slices.SortedFunc(maps.Keys(j.lines), func(a, b model.PodKey) int { return strings.Compare(a.Name, b.Name) })
	for _, old := range gone {
		x := j.lines[old]
		if x.app != app || x.lost.IsZero() {
			continue
		}
		p, there := j.pod(old)
		if there && !p.Deleting() {
			continue // it was not evicted after all
		}
		l = x
		delete(j.lines, old)
		break
	}
	j.lines[key] = l
}

func (j *judge) pod(key model.PodKey) (model.Pod, bool) {
	for _, p := range j.s.see().Pods {
		if p.Key() == key {
			return p, true
		}
	}
	return model.Pod{}, false
}

// homeless looks for pods that lost their node by our own choice and find no other in the time that they have to end.
func (j *judge) homeless(o model.World) {
	there := map[model.PodKey]bool{}
	for _, p := range o.Pods {
		l := j.lines[p.Key()]
		there[p.Key()] = true
		if l == nil || l.lost.IsZero() || p.Deleting() {
			continue
		}
		if p.Node != "" && p.Created.Before(l.lost.Add(-time.Second)) {
			continue // its own eviction did not go through, or not yet
		}
		if !p.Requests.FitsIn(l.asked) && (p.Node == "" || !j.takesOver(l, &p)) { // its deployment was changed: nobody promised so much room
			if p.Node != "" {
				l.lost = time.Time{}
			}
			continue
		}
		if p.Node != "" {
			if time.Since(l.lost) > l.grace+lag && time.Since(j.upset) > settled && !j.blind() {
				j.stats.late++
			}
			l.moves = append(l.moves, move{l.lost, j.price(o)})
			j.stats.moved++
			j.twice(l)
			l.lost = time.Time{}
			continue
		}
		// Where kube-scheduler put others is not what was planned, a machine has to be bought.
		if time.Since(l.lost) <= l.grace+boots || time.Since(j.upset) <= settled || j.blind() || locked(o, &p) {
			continue
		}
		if j.unforeseen(o, &p, l) {
			l.excused = time.Now()
		}
		if time.Since(l.excused) > boots {
			j.s.note("homeless: pod %s has no node long after the one before it was evicted by our own choice", p.Key())
		}
	}
	for key := range j.lines {
		if !there[key] {
			delete(j.lines, key)
		}
	}
	for name := range j.leaving {
		if _, ok := nodeNamed(o, name); !ok {
			delete(j.leaving, name)
		}
	}
}

// takesOver reports whether the pod, which asks for more than who it follows, runs in the room of another that was evicted of its deployment. Which of them
// follows whom nobody can say: who follows that one is promised the smaller room now. mu is held.
func (j *judge) takesOver(l *lineage, p *model.Pod) bool {
	for _, key := range slices.SortedFunc(maps.Keys(j.lines), func(a, b model.PodKey) int { return strings.Compare(a.Name, b.Name) }) {
		x := j.lines[key]
		if x != l && x.app == l.app && !x.lost.IsZero() && p.Requests.FitsIn(x.asked) {
			x.asked, l.asked = l.asked, x.asked
			return true
		}
	}
	return false
}

// locked reports whether the pod may wait because of a second budget over it and those like it: the API server then evicts none of them, so that a node
// that was on its way out when the budget came stays, half emptied, and hard spread counts the room on it for ever. Whoever wrote the budget is told;
// nobody else can mend it.
func locked(o model.World, p *model.Pod) bool {
	app := p.Labels["app"]
	over := 0
	for _, b := range o.PDBs {
		if b.Selector[0].Values[0] == app {
			over++
		}
	}
	return over > 1 && slices.ContainsFunc(p.Spread, func(s model.Spread) bool { return s.Hard }) && slices.ContainsFunc(o.Pods, func(q model.Pod) bool {
		n, there := nodeNamed(o, q.Node)
		return there && n.Deleting() && q.Labels["app"] == app && tenant(q)
	})
}

// unforeseen reports whether the pod waits for what nobody could know when the one before it was evicted: for a machine that was bought, takes it, and never
// joins, which is as any that is slow until it is late (a second one would be bought for nothing with each of these), or because a person changed how many there
// are of its kind since, so that its disk is now where its own rules do not let it be. mu is held.
func (j *judge) unforeseen(o model.World, p *model.Pod, l *lineage) bool {
	if j.edits[l.app].After(l.lost) && j.s.torn(o, p) {
		return true
	}
	return slices.ContainsFunc(o.Claims, func(c model.Claim) bool {
		return !c.Deleting() && c.NodeName == "" && j.s.fellSilent(c.UID) && j.s.wouldTake(o, c, p)
	})
}

// twice counts pods that were moved again although nothing changed, and those of which nothing was saved by it. mu is held.
func (j *judge) twice(l *lineage) {
	if len(l.moves) < 2 {
		return
	}
	a, b := l.moves[len(l.moves)-2], l.moves[len(l.moves)-1]
	if b.at.Sub(a.at) >= again || !j.calm(a.at) {
		return
	}
	j.stats.twice++
	if b.price >= a.price {
		j.stats.circles++
	}
}

// creates takes note of a claim. Those that are made while no pod waits replace something, and those that are made while a node is marked to leave may.
func (j *judge) creates(c model.Claim) {
	o := j.s.see()
	waiting := slices.ContainsFunc(o.Pods, func(p model.Pod) bool { return p.Node == "" && !p.Deleting() && !p.Terminal }) &&
		!slices.ContainsFunc(o.Nodes, func(n model.Node) bool { return n.HasTaint(model.TaintDisrupted) && !n.Deleting() })
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.bought++
	if !waiting {
		j.fetched[c.UID] = move{at: time.Now()}
	}
}

// terminates looks at a machine that the controller is about to give back: nobody may run on it any more.
func (j *judge) terminates(id string) {
	o := j.s.see()
	i := slices.IndexFunc(o.Nodes, func(n model.Node) bool { return n.ProviderID == id })
	if i < 0 || !slices.ContainsFunc(j.s.Cloud.Machines(), func(m model.Instance) bool { return m.ID == id && m.State == model.Running }) {
		return
	}
	n := o.Nodes[i]
	c, owned := claimOf(o, n)
	j.mu.Lock()
	defer j.mu.Unlock()
	if !owned || c.TerminationGracePeriod != nil || n.Ready != model.True || j.blind() {
		return
	}
	j.unplugged(o, n)
	for _, p := range o.Pods {
		if p.Node == n.Name && tenant(p) && time.Since(p.Started) > lag {
			j.s.note("evictions: the machine of node %s is given back while pod %s runs on it", n.Name, p.Key())
		}
	}
}

// untold looks for pods that wait and do not know why.
func (j *judge) untold(o model.World) {
	const patience = 4 * time.Minute
	waits := map[model.PodKey]time.Time{}
	var silent []model.PodKey
	for _, p := range o.Pods {
		if p.Node != "" || !p.Unschedulable || p.Deleting() {
			continue
		}
		since, known := j.waits[p.Key()]
		if !known {
			since = time.Now()
		}
		waits[p.Key()] = since
		if time.Since(since) > patience {
			silent = append(silent, p.Key())
		}
	}
	j.waits = waits
	if len(silent) == 0 || time.Since(j.latest) < patience || j.s.absent() {
		return
	}
	told := map[string]bool{}
	for _, e := range j.s.Store.Events() {
		if p, ok := e.About.(model.Pod); ok && (e.Reason == "FailedScheduling" || e.Reason == "Nominated") {
			told[p.ObjectKey()] = true
		}
	}
	for _, key := range silent {
		if !told[key.String()] {
			j.s.note("reasons: pod %s waits, and nobody says why", key)
		}
	}
}

func nodeNamed(o model.World, name string) (model.Node, bool) {
	i := slices.IndexFunc(o.Nodes, func(n model.Node) bool { return n.Name == name && name != "" })
	if i < 0 {
		return model.Node{}, false
	}
	return o.Nodes[i], true
}

func claimOf(o model.World, n model.Node) (model.Claim, bool) {
	i := slices.IndexFunc(o.Claims, func(c model.Claim) bool { return c.ProviderID != "" && c.ProviderID == n.ProviderID })
	if i < 0 {
		return model.Claim{}, false
	}
	return o.Claims[i], true
}

// kindOf is the invariant that a note is about.
func kindOf(note string) string {
	kind, _, _ := strings.Cut(note, ":")
	return kind
}
