package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// A pod of a StatefulSet takes ten minutes to end while its node leaves: its next machine is there before it is gone, one and no more, and waits for it although nothing
// runs there.
func TestAPodThatComesBackFindsItsMachine(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		db := oneCore()
		db.Namespace, db.Name, db.StatefulSet, db.GraceSeconds = "default", "db-0", true, 600
		s.Store.Put(db)
		pod := func() (p model.Pod) {
			for _, x := range s.Store.Objects().Pods {
				if x.Name == db.Name {
					p = x
				}
			}
			return p
		}
		s.Until("it runs", 2*time.Minute, func() bool { return pod().Node != "" })
		first := pod().Node
		s.Store.DeletePod(db.Key())
		if err := s.Store.DeleteClaim(t.Context(), s.Store.Objects().Claims[0].Name); err != nil {
			t.Fatal(err)
		}
		s.Until("its next machine is there", 3*time.Minute, func() bool {
			for _, c := range s.Store.Objects().Claims {
				if !c.Deleting() && c.Is(model.Initialized) {
					return true
				}
			}
			return false
		})
		if p := pod(); p.Node != first || !p.Deleting() {
			t.Fatalf("it is on %q, and ends: %v", p.Node, p.Deleting())
		}
		s.Until("it is gone", 11*time.Minute, func() bool { return pod().Name == "" })
		s.Store.Put(db)
		s.Until("it is back", 10*time.Second, func() bool { return pod().Node != "" && pod().Node != first })
		s.Pass(5 * time.Minute)
		if n := s.Cloud.Accepted(); n != 2 || pod().Node == "" {
			t.Errorf("%d machines were bought, and it runs on %q", n, pod().Node)
		}
	})
}

// A StatefulSet with disks is moved to a new machine: each pod comes back under its name in the zone of its disk, no disk is on two nodes, and the machine is given
// back only when its disks have left it.
func TestAMachineIsGivenBackWithoutItsDisks(t *testing.T) {
	st, err := ReadStory("seed 1\n0s pool a budget=100%\n0s set db0 3 cpu=1000 mem=512 order=ready\n0s set db1 2 cpu=500 mem=512 order=any with=nobody\n20m pool a hash=2")
	if err != nil {
		t.Fatal(err)
	}
	notes, what := playWith(t, st)
	if len(notes) > 0 || what.disks != 10 || what.freed != 5 {
		t.Errorf("noted %q; %+v, want five disks moved", notes, what)
	}
}

// Disks of pods that end slowly hold the node, and people are told so.
func TestANodeWaitsForItsDisks(t *testing.T) {
	notes := runWith(t, Config{Cloud: storyConfig(Story{}).Cloud, Warm: 2 * time.Second}, func(x *Sim) { x.judge = newJudge(x) }, func(s *Sim) {
		s.furnish()
		p := &player{s: s, began: time.Now()}
		p.set(Act{Verb: "set", Words: []string{"db", "1", "cpu=1000", "grace=1"}})
		s.Until("it runs with its disk", 3*time.Minute, func() bool { return s.Running("db") == 1 && s.Pods("db")[0].PodReady })
		o := s.Store.Objects()
		if len(o.Attachments) != 1 || o.Attachments[0].Node != o.Nodes[0].Name {
			t.Fatalf("attached: %+v", o.Attachments)
		}
		if err := s.Store.DeleteClaim(t.Context(), o.Claims[0].Name); err != nil {
			t.Fatal(err)
		}
		s.Until("the claim says what it waits for", 3*time.Minute, func() bool {
			for _, x := range s.Store.Objects().Claims {
				c, _ := model.FindCondition(x.Conditions, model.VolumesDetached)
				if x.Name == o.Claims[0].Name && c.Status == model.Unknown && c.Reason == "AwaitingVolumeDetachment" && x.Is(model.Drained) {
					return true
				}
			}
			return false
		})
		if m := s.Cloud.Machines(); !slices.ContainsFunc(m, func(m model.Instance) bool { return m.Name == o.Nodes[0].Name && m.State == model.Running }) {
			t.Errorf("its machine is gone already: %+v", m)
		}
		s.Until("it runs elsewhere, in its disk's zone", 3*time.Minute, func() bool {
			q := s.Pods("db")
			return len(q) == 1 && q[0].PodReady && q[0].Node != "" && q[0].Node != o.Nodes[0].Name
		})
		for _, n := range s.Store.Objects().Nodes {
			if n.Labels[model.LabelZone] != o.Nodes[0].Labels[model.LabelZone] {
				t.Errorf("node %s is in %s, and the disk in %s", n.Name, n.Labels[model.LabelZone], o.Nodes[0].Labels[model.LabelZone])
			}
		}
	})
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
}
