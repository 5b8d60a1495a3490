package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// mirror is a mirror that shows the world, and an arrival of pods.
type mirror struct {
	*world.World
	pods int
}

func mirrored(w model.World) *mirror {
	m := &mirror{World: world.New()}
	m.Begin()
	tell(m.World, w.Pools)
	tell(m.World, w.Classes)
	tell(m.World, w.Claims)
	tell(m.World, w.Nodes)
	tell(m.World, w.Pods)
	tell(m.World, w.Daemons)
	tell(m.World, w.Namespaces)
	for _, c := range w.Catalogs {
		m.SetCatalog(c)
	}
	m.SetInstances(nil, workload.Epoch())
	m.Synced()
	m.Snapshot()
	return m
}

func tell[T model.Object](m *world.World, list []T) {
	for _, o := range list {
		m.Apply(model.Change{Object: o})
	}
}

// arrive lets one more pod wait, and the one before go.
func (m *mirror) arrive() {
	if m.pods > 0 {
		m.Apply(model.Change{Object: m.pod(), Gone: true})
	}
	m.pods++
	m.Apply(model.Change{Object: m.pod()})
}

func (m *mirror) pod() model.Pod {
	name := fmt.Sprintf("late-%06d", m.pods)
	return model.Pod{Namespace: "default", Name: name, UID: name, Labels: map[string]string{"app": "late"}, Unschedulable: true,
		Created: workload.Epoch().Add(time.Hour), Requests: model.Resources{CPU: 500, Memory: 1 << 30, Pods: 1}}
}

// parts are what is done for a change, each on the newest picture.
func parts() []struct {
	name string
	do   func(model.World, place.Plan)
} {
	now := workload.Epoch().Add(48 * time.Hour)
	return []struct {
		name string
		do   func(model.World, place.Plan)
	}{
		{"decide", func(w model.World, _ place.Plan) { place.Decide(place.Input{World: w}) }},
		{"audit", func(w model.World, p place.Plan) { audit.Check(w, p) }},
		{"fits", func(w model.World, _ place.Plan) { place.Fits(w) }},
		{"disrupt", func(w model.World, _ place.Plan) { disrupt.Decide(disrupt.Input{World: w, Now: now}) }},
		{"land", func(w model.World, _ place.Plan) { nomination.Decide(w, now, nomination.Spent{}) }},
	}
}

// TestTwiceTheClusterCostsLittleMore: what one pod costs, with twice the nodes and pods. A picture is made by what changed. What is decided reads what is
// left on nodes, and allocates nothing for any of them.
func TestTwiceTheClusterCostsLittleMore(t *testing.T) {
	type cost struct{ picture, decide, audit float64 }
	of := func(nodes int) (c cost) {
		m := mirrored(workload.Cluster(nodes, 30*nodes, true, 1))
		c.picture = testing.AllocsPerRun(20, func() { m.arrive(); m.Snapshot() })
		w := m.Snapshot()
		plan := place.Decide(place.Input{World: w})
		c.decide = testing.AllocsPerRun(1, func() { place.Decide(place.Input{World: w}) })
		c.audit = testing.AllocsPerRun(1, func() { audit.Check(w, plan) })
		return c
	}
	small, large := of(300), of(600)
	t.Logf("allocations: picture %.0f and %.0f, audit %.0f and %.0f, decide %.0f and %.0f", small.picture, large.picture, small.audit, large.audit,
		small.decide, large.decide)
	if large.picture > 1.2*small.picture || large.audit > 1.2*small.audit || large.decide > 1.2*small.decide {
		t.Errorf("one pod costs more in a larger cluster: %+v, with half of it %+v", large, small)
	}
}

// TestTheAuditCostsLessThanThePlan: what a plan for one pod takes to be checked is less than what making it takes. It is 0.4 to 0.6 of it: both are
// parts of a millisecond, and beside other work they differ.
func TestTheAuditCostsLessThanThePlan(t *testing.T) {
	m := mirrored(workload.Cluster(600, 18_000, true, 1))
	m.arrive()
	w := m.Snapshot()
	plan := place.Decide(place.Input{World: w})
	got, a, b := ratio(0.8, func() { decide(w) }, func() { audit.Check(w, plan) })
	t.Logf("plan %v, audit %v", a, b)
	if got > 0.8 {
		t.Errorf("the plan takes %v, its audit %v: more than four fifths", a, b)
	}
}

// BenchmarkOnePodArrives prints what each part of a pass costs when one pod came and one went.
func BenchmarkOnePodArrives(b *testing.B) {
	for _, nodes := range []int{2_500, 5_000} {
		m := mirrored(workload.Cluster(nodes, 30*nodes, true, 1))
		b.Run(fmt.Sprintf("%d/snapshot", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.arrive()
				m.Snapshot()
			}
		})
		for _, x := range parts() {
			b.Run(fmt.Sprintf("%d/%s", nodes, x.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					m.arrive()
					w := m.Snapshot()
					plan := place.Decide(place.Input{World: w})
					b.StartTimer()
					x.do(w, plan)
				}
			})
		}
	}
}
