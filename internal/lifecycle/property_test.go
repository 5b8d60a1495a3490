package lifecycle_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// land is one claim's corner of the world, with the truth about its machine beside what the last list showed.
type land struct {
	now      time.Time
	claim    model.Claim
	gone     bool // the claim object is gone
	nodes    []model.Node
	machine  *model.Instance
	everHad  int
	listed   *model.Instance
	listedAt time.Time
	pool     *model.Pool
	class    *model.Class
}

func newLand() *land {
	ref := model.ClassRef{Kind: "AKSNodeClass", Name: "default"}
	never := 720 * time.Hour
	after := 30 * time.Second
	return &land{now: start,
		claim: model.Claim{Name: "c", UID: "cu", Pool: "p", PoolUID: "pu", Class: ref, Created: start, ExpireAfter: &never,
			StartupTaints: []model.Taint{{Key: "cilium", Effect: model.NoExecute}}},
		pool: &model.Pool{Name: "p", UID: "pu", ConsolidateAfter: &after},
		class: &model.Class{Ref: ref, Generation: 1,
			Conditions: []model.Condition{{Type: model.Ready, Status: model.True, ObservedGeneration: 1}}},
	}
}

func (l *land) view() lifecycle.View {
	return lifecycle.View{Claim: l.claim, Nodes: slices.Clone(l.nodes), Instance: l.listed, ListedAt: l.listedAt,
		Pool: l.pool, Class: l.class, Now: l.now}
}

func (l *land) list() {
	l.listed, l.listedAt = nil, l.now
	if l.machine != nil {
		m := *l.machine
		l.listed = &m
	}
}

// do executes a step as control would. With half set, the process dies before the claim is written.
func (l *land) do(t *rapid.T, s lifecycle.Step, half bool) {
	var id string
	switch s.Do {
	case lifecycle.Launch:
		if l.machine == nil {
			l.everHad++
			l.machine = &model.Instance{ID: "id", Name: "aks-c", Claim: "c", State: model.Pending}
		}
		id = l.machine.ID
		s.Conditions = model.Changed(l.claim.Conditions, []model.Condition{{Type: model.Launched, Status: model.True}}, l.now)
	case lifecycle.Register, lifecycle.Initialize:
		l.patchNode(s.Node)
	case lifecycle.DeleteNodes:
		for i := range l.nodes {
			l.nodes[i].DeletedAt = l.now
		}
		l.nodes = slices.DeleteFunc(l.nodes, func(n model.Node) bool { return len(n.Finalizers) == 0 })
	case lifecycle.Terminate:
		if l.machine != nil {
			l.machine.State = model.Stopping
		}
	case lifecycle.Finish:
		if l.machine != nil || len(l.nodes) > 0 {
			t.Fatalf("finished while a machine (%+v) or nodes (%v) remain", l.machine, l.nodes)
		}
		l.gone = true
	}
	if half {
		return
	}
	l.patchClaim(s, id)
}

func (l *land) patchNode(c lifecycle.NodeChange) {
	n := &l.nodes[slices.IndexFunc(l.nodes, func(n model.Node) bool { return n.Name == c.Name })]
	n.Labels = maps.Clone(n.Labels)
	maps.Copy(n.Labels, c.Labels)
	n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(x model.Taint) bool { return slices.Contains(c.DropTaints, x.Key) })
	for _, x := range c.AddTaints {
		if !n.HasTaint(x.Key) {
			n.Taints = append(n.Taints, x)
		}
	}
	if c.AddFinalizer {
		n.Finalizers = []string{model.Finalizer}
	}
}

func (l *land) patchClaim(s lifecycle.Step, id string) {
	c := &l.claim
	c.Conditions = slices.Clone(c.Conditions)
	for _, x := range s.Conditions {
		c.Conditions = slices.DeleteFunc(c.Conditions, func(y model.Condition) bool { return y.Type == x.Type })
		c.Conditions = append(c.Conditions, x)
	}
	c.Conditions = slices.DeleteFunc(c.Conditions, func(y model.Condition) bool { return slices.Contains(s.Drop, y.Type) })
	if id != "" {
		c.ProviderID = id
	}
	switch s.Do {
	case lifecycle.AddFinalizer:
		c.Finalizers = []string{model.Finalizer}
	case lifecycle.Register:
		c.NodeName = s.Node.Name
	case lifecycle.Delete:
		l.delete()
	}
}

func (l *land) delete() {
	if l.claim.DeletedAt.IsZero() {
		l.claim.DeletedAt = l.now
	}
	if len(l.claim.Finalizers) == 0 {
		l.gone = true
	}
}

// progress is everything in the world but the controller doing its work: the machine boots, joins, gets ready, drains, goes.
func (l *land) progress() {
	if m := l.machine; m != nil {
		switch m.State {
		case model.Pending:
			m.State = model.Running
		case model.Running:
			if len(l.nodes) == 0 && !l.claim.Is(model.Registered) {
				l.nodes = []model.Node{{Name: "n1", UID: "n1", ProviderID: "id", Labels: map[string]string{}, Ready: model.False,
					Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "cilium", Effect: model.NoExecute}}}}
			}
		case model.Stopping:
			l.machine = nil
		}
	}
	kept := l.nodes[:0:0]
	for _, n := range l.nodes {
		switch {
		case l.machine == nil && n.Deleting(), n.Deleting() && len(n.Finalizers) == 0:
			continue // the drain let go of it
		case l.machine == nil, l.machine.State == model.Stopped:
			n.Ready = model.Unknown
		case n.Ready == model.True:
			n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(x model.Taint) bool { return x.Key == "cilium" })
		default:
			n.Ready = model.True
		}
		if n.Deleting() && l.claim.Deleting() { // drained: the machine may go while the node stands
			for _, typ := range []string{model.Drained, model.VolumesDetached} {
				if !l.claim.Is(typ) {
					l.claim.Conditions = append(slices.Clone(l.claim.Conditions), model.Condition{Type: typ, Status: model.True, Since: l.now})
				}
			}
		}
		kept = append(kept, n)
	}
	l.nodes = kept
}

// mischief is one thing that may happen at any time.
func (l *land) mischief(t *rapid.T) {
	switch rapid.SampledFrom([]string{"none", "fail", "evict", "switch off", "delete claim", "delete node", "no pool", "class", "forget node"}).Draw(t, "mischief") {
	case "fail":
		if l.machine != nil && l.machine.State == model.Pending {
			l.machine.State, l.machine.FailureCode, l.machine.FailureText = model.Failed, "no-capacity", "none left"
		}
	case "switch off":
		if l.machine != nil && l.machine.State == model.Running {
			l.machine.State = model.Stopped
		}
	case "evict":
		if l.machine != nil {
			l.machine.State = model.Stopping
		}
	case "delete claim":
		l.delete()
	case "delete node":
		for i := range l.nodes {
			l.nodes[i].DeletedAt = l.now
		}
	case "no pool":
		l.pool = nil
	case "class":
		l.class.Conditions[0].ObservedGeneration = 0
	case "forget node":
		l.nodes = nil
	}
}

// TestFromAnywhereAClaimGetsReadyOrGoes lets anything happen for a while, with a controller that dies between any two
// writes, and then lets the world behave: the claim must come to rest, initialized with one machine, or gone with none.
func TestFromAnywhereAClaimGetsReadyOrGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLand()
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if l.gone {
				break
			}
			l.now = l.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			if rapid.Bool().Draw(t, "list") {
				l.list()
			}
			if rapid.Bool().Draw(t, "progress") {
				l.progress()
			}
			if rapid.IntRange(0, 4).Draw(t, "luck") == 0 {
				l.mischief(t)
			}
			if !l.gone {
				l.do(t, lifecycle.Next(l.view()), rapid.IntRange(0, 3).Draw(t, "die") == 0)
			}
		}
		l.class.Conditions[0].ObservedGeneration = 1
		const rounds = 200 // a claim needs about ten; a timeout of minutes is a few dozen rounds of a minute
		for i := 0; !l.settled(); i++ {
			if i == rounds {
				t.Fatalf("not settled: %+v\nmachine %+v\nnodes %+v\nnext %+v", l.claim, l.machine, l.nodes, lifecycle.Next(l.view()))
			}
			l.now = l.now.Add(time.Minute)
			l.progress()
			l.list()
			l.do(t, lifecycle.Next(l.view()), false)
		}
	})
}

// settled reports rest: gone, or initialized with nothing more to do and exactly what was promised.
func (l *land) settled() bool {
	if l.gone {
		return true
	}
	s := lifecycle.Next(l.view())
	return s.Do == lifecycle.Wait && s.After == l.claim.Created.Add(*l.claim.ExpireAfter).Sub(l.now) &&
		l.claim.Is(model.Ready) && l.claim.Is(model.Consolidatable) &&
		l.machine != nil && len(l.nodes) == 1 && l.nodes[0].Ready == model.True
}

// TestAStepThatIsDoneIsNotNamedAgain checks that doing a step changes the answer, for steps that change the cluster.
func TestAStepThatIsDoneIsNotNamedAgain(t *testing.T) {
	l := newLand()
	steps := []lifecycle.Do{}
	for range 30 {
		l.list()
		s := lifecycle.Next(l.view())
		if s.Do != lifecycle.Wait {
			steps = append(steps, s.Do)
		}
		l.do(nil, s, false)
		if s.Do == lifecycle.Wait {
			l.now = l.now.Add(20 * time.Second)
			l.progress()
		}
	}
	want := []lifecycle.Do{lifecycle.AddFinalizer, lifecycle.Launch, lifecycle.Record, lifecycle.Register, lifecycle.Record,
		lifecycle.Initialize, lifecycle.Record}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if l.everHad != 1 {
		t.Errorf("%d machines bought, want 1", l.everHad)
	}
}
