package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/model"
)

// deaf is a sink that keeps nothing.
type deaf struct{}

func (deaf) Begin()             {}
func (deaf) Apply(model.Change) {}
func (deaf) Synced()            {}

// story is a recorder that hears a cluster whose time the test sets.
type story struct {
	r   *Recorder
	ear *ear
	reg *prometheus.Registry
	now time.Time
	to  interface {
		Begin()
		Apply(model.Change)
		Synced()
	}
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{now: time.Unix(1_800_000_000, 0)}
	s.r, s.ear, s.reg = recorder(t)
	s.r.lives.now = func() time.Time { return s.now }
	s.to = s.r.Sink(deaf{}, func() time.Time { return s.now })
	s.to.Begin()
	return s
}

func (s *story) hears(after time.Duration, o model.Object) {
	s.now = s.now.Add(after)
	s.to.Apply(model.Change{Object: o})
}

// of is the one series of a family with that text in its labels; nil when there is none.
func (s *story) of(t *testing.T, name, label string) *dto.Metric {
	t.Helper()
	list, err := s.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		for _, m := range f.Metric {
			if f.GetName() == name && (label == "" || strings.Contains(m.String(), `"`+label+`"`)) {
				return m
			}
		}
	}
	return nil
}

func conditioned(name string, since time.Time, list ...model.Condition) model.Claim {
	c := model.Claim{Name: name, UID: "uid-" + name, Pool: "p"}
	for _, x := range list {
		x.Since = since
		c.Conditions = append(c.Conditions, x)
	}
	return c
}

// A condition that changes is an event whose reason is its type, and is counted with how long it was what it ceased to be.
func TestConditionsThatChangeAreTold(t *testing.T) {
	s := newStory(t)
	s.r.Leads()
	wait := model.Condition{Type: model.Launched, Status: model.Unknown, Reason: "AwaitingReconciliation"}
	done := model.Condition{Type: model.Launched, Status: model.True, Reason: model.Launched}
	s.hears(0, conditioned("c", s.now, wait))
	s.hears(time.Minute, conditioned("c", s.now, wait))
	if len(s.ear.heard) > 0 {
		t.Errorf("said %+v although nothing changed", s.ear.heard)
	}
	s.hears(time.Minute, conditioned("c", s.now.Add(time.Minute), done))
	s.hears(time.Minute, conditioned("c", s.now.Add(-time.Minute), done))
	if len(s.ear.heard) != 1 || s.ear.heard[0].Reason != "Launched" || s.ear.heard[0].Message != "Launched: Unknown -> True, reason Launched" {
		t.Errorf("said %+v", s.ear.heard)
	}
	const p = "operator_nodeclaim_status_condition_"
	if m := s.of(t, p+"transitions_total", "True"); m.GetCounter().GetValue() != 1 {
		t.Errorf("counted %v", m)
	}
	if m := s.of(t, p+"transition_seconds", "Unknown"); m.GetHistogram().GetSampleSum() != 120 {
		t.Errorf("timed %v", m)
	}
}

// Room that is kept free is followed like any other object, with its namespace.
func TestBuffersAreFollowed(t *testing.T) {
	s := newStory(t)
	s.r.Leads()
	b := model.Buffer{Namespace: "shop", Name: "room", UID: "u"}
	for _, status := range []model.Status{model.False, model.True} {
		b.Conditions = []model.Condition{{Type: model.Provisioning, Status: status, Reason: "Because", Since: s.now}}
		s.hears(time.Minute, b)
	}
	if len(s.ear.heard) != 1 || s.ear.heard[0].Reason != "Provisioning" || s.ear.heard[0].About.ObjectKey() != "shop/room" {
		t.Errorf("said %+v", s.ear.heard)
	}
	if m := s.of(t, "operator_capacitybuffer_status_condition_transition_seconds", "False"); m.GetHistogram().GetSampleSum() != 60 {
		t.Errorf("timed %v", m)
	}
}

// Who does not lead says nothing, and knows what was when it begins to.
func TestWhoBeginsToLeadKnowsWhatWas(t *testing.T) {
	s := newStory(t)
	old := s.now.Add(-time.Hour)
	s.hears(0, conditioned("c", old, model.Condition{Type: model.Launched, Status: model.Unknown}))
	s.hears(time.Minute, conditioned("c", s.now, model.Condition{Type: model.Launched, Status: model.True}))
	if len(s.ear.heard) > 0 {
		t.Errorf("a follower said %+v", s.ear.heard)
	}
	s.r.Leads()
	s.hears(time.Minute, conditioned("c", s.now, model.Condition{Type: model.Launched, Status: model.False}))
	if len(s.ear.heard) != 1 {
		t.Errorf("said %+v", s.ear.heard)
	}
}

// What goes is told with its finalizer, and how long that took; its age is told until then.
func TestObjectsThatGoAreTimed(t *testing.T) {
	s := newStory(t)
	s.r.Leads()
	c := model.Claim{Name: "c", UID: "u", Pool: "p", Finalizers: []string{model.Finalizer}}
	s.hears(0, c)
	c.DeletedAt = s.now
	s.hears(0, c)
	s.now = s.now.Add(time.Minute)
	if m := s.of(t, "operator_nodeclaim_termination_current_time_seconds", "c"); m.GetGauge().GetValue() != 60 {
		t.Errorf("age of what goes: %v", m)
	}
	s.to.Apply(model.Change{Object: model.Claim{Name: "c"}, Gone: true})
	if len(s.ear.heard) != 1 || s.ear.heard[0].Reason != "Finalized" || uidOf(s.ear.heard[0].About) != "u" {
		t.Errorf("said %+v", s.ear.heard)
	}
	if m := s.of(t, "operator_nodeclaim_termination_duration_seconds", "p"); m.GetHistogram().GetSampleSum() != 60 {
		t.Errorf("timed %v", m)
	}
	if m := s.of(t, "operator_nodeclaim_termination_current_time_seconds", ""); m != nil {
		t.Errorf("still told: %v", m)
	}
}

// A pod that waits for a node is timed from its creation, from the plan that had a place for it, and from when it was seen.
func TestPodsThatWaitAreTimed(t *testing.T) {
	s := newStory(t)
	s.r.Leads()
	p := model.Pod{Namespace: "a", Name: "x", UID: "1", Created: s.now.Add(-10 * time.Second)}
	s.hears(0, p)
	s.hears(0, model.Pod{Namespace: "a", Name: "there", UID: "2", Node: "n", PodReady: true})
	s.now = s.now.Add(5 * time.Second)
	if m := s.of(t, "karpenter_pods_provisioning_scheduling_undecided_time_seconds", "x"); m.GetGauge().GetValue() != 5 {
		t.Errorf("undecided for %v", m)
	}
	s.r.Planned(answer.Plan{Existing: []answer.Nomination{{Pod: p.Key(), Node: "n"}}}, s.now, time.Second)
	s.now = s.now.Add(5 * time.Second)
	if m := s.of(t, "karpenter_pods_unbound_time_seconds", "x"); m.GetGauge().GetValue() != 20 {
		t.Errorf("without a node for %v", m)
	}
	p.Node = "n"
	s.hears(10*time.Second, p)
	if m := s.of(t, "karpenter_pods_unbound_time_seconds", ""); m != nil {
		t.Errorf("with a node: %v", m)
	}
	p.PodReady = true
	s.hears(10*time.Second, p)
	s.hears(10*time.Second, p)
	for name, want := range map[string]float64{"bound": 30, "provisioning_bound": 15, "provisioning_startup": 25, "scheduling_decision": 5} {
		m := s.of(t, "karpenter_pods_"+name+"_duration_seconds", "")
		if h := m.GetHistogram(); h.GetSampleSum() != want || h.GetSampleCount() != 1 {
			t.Errorf("%s: %v, want once %v", name, h, want)
		}
	}
	if x := s.of(t, "karpenter_pods_startup_duration_seconds", "").GetSummary(); x.GetSampleSum() != 40 || x.GetSampleCount() != 1 {
		t.Errorf("startup: %v", x)
	}
	if len(s.r.lives.pods) > 0 {
		t.Errorf("still followed: %v", s.r.lives.pods)
	}
}

// What a new Follow does not tell any more is forgotten.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	s := newStory(t)
	s.r.Leads()
	s.hears(0, model.Claim{Name: "c", UID: "u", DeletedAt: s.now})
	s.hears(0, model.Pod{Namespace: "a", Name: "x", UID: "1", Created: s.now})
	s.to.Synced()
	if len(s.r.lives.objects) != 1 || len(s.r.lives.pods) != 1 {
		t.Fatalf("%d objects, %d pods", len(s.r.lives.objects), len(s.r.lives.pods))
	}
	s.to.Begin()
	s.to.Synced()
	if len(s.r.lives.objects)+len(s.r.lives.pods) > 0 {
		t.Errorf("%d objects, %d pods are remembered", len(s.r.lives.objects), len(s.r.lives.pods))
	}
}

// An event about a claim or node that is known by name alone gets its UID: whoever describes the object looks for that.
func TestEventsHaveUIDs(t *testing.T) {
	s := newStory(t)
	s.hears(0, model.Claim{Name: "c", UID: "claim"})
	s.hears(0, model.Node{Name: "n", UID: "node"})
	s.r.terminating(model.Claim{Name: "c", NodeName: "n"}, model.WhyEmpty)
	var uids []string
	for _, e := range s.ear.heard {
		uids = append(uids, uidOf(e.About))
	}
	if strings.Join(uids, " ") != "claim node" {
		t.Errorf("UIDs %v", uids)
	}
}
