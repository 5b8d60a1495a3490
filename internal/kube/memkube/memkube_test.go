package memkube_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/kube/storetest"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// exam is the twin with its levers in the exam's words.
type exam struct{ s *memkube.Store }

func (e exam) Store() kube.Store { return e.s }

func (e exam) PutClass(_ *testing.T, name string) model.ClassRef {
	ref := model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: name}
	e.s.Put(model.Class{Ref: ref})
	return ref
}

func (e exam) PutPool(_ *testing.T, name string, class model.ClassRef) {
	e.s.Put(model.Pool{Name: name, Class: class})
}

func (e exam) PutNode(_ *testing.T, n model.Node) { e.s.Put(n) }

func (e exam) PutPod(_ *testing.T, p model.Pod) {
	node := p.Node
	p.Node = ""
	e.s.Put(p)
	if node != "" {
		e.s.BindPod(p.Key(), node)
	}
}

func (e exam) PutBudget(_ *testing.T, name string, labels map[string]string, allowed int) {
	b := model.PDB{Namespace: "default", Name: name, HasSel: true, Allowed: int32(allowed)}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b.Selector = append(b.Selector, model.Requirement{Key: k, Op: model.In, Values: []string{labels[k]}})
	}
	e.s.Put(b)
}

func (e exam) PutOverlay(_ *testing.T, o model.Overlay)   { e.s.Put(o) }
func (e exam) PutTemplate(_ *testing.T, x model.Template) { e.s.Put(x) }
func (e exam) PutBuffer(_ *testing.T, b model.Buffer)     { e.s.Put(b) }

func (e exam) DeletePod(_ *testing.T, name string) {
	e.s.EndPod(model.PodKey{Namespace: "default", Name: name})
}

func (e exam) Tokens(*testing.T) map[string][]string { return e.s.Tokens() }

func (e exam) Another(*testing.T) kube.Store {
	e.s.Forget()
	return e.s
}

func (e exam) Put(_ *testing.T, o model.Object) { e.s.Put(o) }

func (e exam) SetWindow(_ *testing.T, w model.MaintenanceWindow) { e.s.SetWindow(w) }

func (e exam) Remove(_ *testing.T, o model.Object) { e.s.Remove(o) }

func TestTheTwinSitsTheExam(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.World { return exam{memkube.New()} })
}

var class = model.ClassRef{Group: "g", Kind: "K", Name: "c"}

func order(name string) model.Claim { return model.Claim{Name: name, Class: class} }

func TestFaults(t *testing.T) {
	s, ctx := memkube.New(), t.Context()
	s.Fail(memkube.OpCreateClaim, 2, kube.Denied)
	s.LoseAnswer(memkube.OpCreateClaim, 1)
	for i, want := range []kube.Code{kube.Denied, kube.Denied, kube.Unavailable, kube.Exists} {
		if _, err := s.CreateClaim(ctx, order("a")); kube.CodeOf(err) != want {
			t.Errorf("call %d: %v, want code %s", i, err, want)
		}
	}
	if got := len(s.Objects().Claims); got != 1 {
		t.Errorf("%d claims, want the one whose answer was lost", got)
	}
	s.SetDown(true)
	if err := s.DeleteClaim(ctx, "a"); kube.CodeOf(err) != kube.Unavailable {
		t.Errorf("down: %v", err)
	}
	s.SetDown(false)
	if err := s.DeleteClaim(ctx, "a"); err != nil {
		t.Errorf("up again: %v", err)
	}
}

// A mirror behind a watch that is held, then cut, then followed again, on virtual time.
func TestTheMirrorCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := memkube.New(), world.New()
		ended := make(chan error)
		run := func() { go func() { ended <- s.Follow(t.Context(), w) }() }
		run()
		synctest.Wait()
		s.HoldWatch(true)
		if _, err := s.CreateClaim(t.Context(), order("a")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := len(w.Snapshot().Claims); got != 0 || !w.IsSynced() {
			t.Errorf("held: %d claims, synced %v", got, w.IsSynced())
		}
		s.HoldWatch(false)
		synctest.Wait()
		if got := len(w.Snapshot().Claims); got != 1 {
			t.Errorf("let go: %d claims, want 1", got)
		}
		s.CutWatch()
		if err := <-ended; kube.CodeOf(err) != kube.Unavailable {
			t.Errorf("cut: %v", err)
		}
		s.Put(model.Node{Name: "n"})
		s.SetDown(true)
		run()
		if err := <-ended; kube.CodeOf(err) != kube.Unavailable {
			t.Errorf("down: %v", err)
		}
		s.SetDown(false)
		run()
		synctest.Wait()
		if got := w.Snapshot(); len(got.Nodes) != 1 || len(got.Claims) != 1 || !w.IsSynced() {
			t.Errorf("followed again: %d nodes, %d claims, synced %v", len(got.Nodes), len(got.Claims), w.IsSynced())
		}
		s.CutWatch()
		<-ended
	})
}

func TestPodsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memkube.New()
		s.Put(model.Node{Name: "n"})
		key := func(name string) model.PodKey { return model.PodKey{Namespace: "d", Name: name} }
		for _, name := range []string{"bound", "loose", "stranded", "stays"} {
			s.Put(model.Pod{Namespace: "d", Name: name, GraceSeconds: 30})
		}
		s.BindPod(key("bound"), "n")
		s.BindPod(key("stays"), "n")
		s.BindPod(key("stranded"), "no-such-node")
		left := func(want ...string) {
			t.Helper()
			var got []string
			for _, p := range s.Objects().Pods {
				got = append(got, p.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("pods %v, want %v", got, want)
			}
		}
		s.DeletePod(key("bound"))
		s.DeletePod(key("loose")) // no kubelet has it: it goes at once
		left("bound", "stays", "stranded")
		s.EndPods()
		left("bound", "stays")
		time.Sleep(31 * time.Second)
		s.EndPods()
		left("stays")
	})
}

func TestAPoolTakesItsClaimsAlong(t *testing.T) {
	s := memkube.New()
	s.Put(model.Pool{Name: "p", Class: class})
	mine := order("mine")
	mine.PoolUID = s.Objects().Pools[0].UID
	for _, c := range []model.Claim{mine, order("by-hand")} {
		if _, err := s.CreateClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.DeletePool("p")
	got := s.Objects().Claims
	if len(got) != 2 || got[0].Deleting() || !got[1].Deleting() {
		t.Errorf("claims %+v, want mine deleting and by-hand not", got)
	}
}

func TestEqualEventsAreSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memkube.New()
		say := func(reason, about string) {
			s.Announce(kube.Event{About: model.Node{Name: about}, Reason: reason, Message: "m"})
		}
		for range 3 {
			say("Nominated", "a")
			say("Nominated", "b")
			say("FailedScheduling", "a")
		}
		if got := len(s.Events()); got != 3 {
			t.Errorf("%d events, want 3", got)
		}
		time.Sleep(3 * time.Minute)
		say("Nominated", "a")
		say("FailedScheduling", "a")
		if got := len(s.Events()); got != 4 {
			t.Errorf("after 3 minutes %d events, want 4: FailedScheduling keeps quiet for 5", got)
		}
	})
}
