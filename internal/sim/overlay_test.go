package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// bought is the size of the first node's machine, and what its claim says of overlays.
func (s *Sim) bought() (size string, notes map[string]string) {
	o := s.Store.Objects()
	return o.Nodes[0].Labels[model.LabelInstanceType], o.Claims[0].Annotations
}

func (s *Sim) overlay(name string) model.Overlay {
	for _, o := range s.Store.Objects().Overlays {
		if o.Name == name {
			return o
		}
	}
	s.t.Fatalf("no overlay %s", name)
	return model.Overlay{}
}

func only(key string, values ...string) []model.Requirement {
	return []model.Requirement{{Key: key, Op: model.In, Values: values}}
}

func TestAnOverlayChangesWhatIsCheapest(t *testing.T) {
	var usual string
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		usual, _ = s.bought()
	})
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Store.Put(model.Overlay{Name: "dear", Price: "99", Requirements: only(model.LabelInstanceType, usual)})
		s.Until("the overlay is ready", time.Minute, func() bool { return model.IsTrue(s.overlay("dear").Conditions, model.Ready) })
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		size, notes := s.bought()
		if size == usual || notes[model.AnnotationPriceOverlay] != "" {
			t.Errorf("bought %s with notes %v, want another size at its own price", size, notes)
		}
		// What the pool has is not changed by a change of mind; the next machine is.
		s.Store.Put(model.Overlay{Name: "dear", Generation: 2, Price: "0.001", Requirements: only(model.LabelInstanceType, usual)})
		s.Scale("inflate", 0, oneCore())
		s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs again", 2*time.Minute, s.runs("inflate", 1))
		if size, notes = s.bought(); size != usual || notes[model.AnnotationPriceOverlay] != "true" {
			t.Errorf("bought %s with notes %v, want %s under the overlay", size, notes, usual)
		}
	})
}

func TestAnOverlayAddsCapacityThatPodsAskFor(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		p := oneCore()
		p.Requests = p.Requests.With("smarter-devices/fuse", 1)
		s.Scale("fuse", 2, p)
		s.Pass(time.Minute)
		if n := s.Cloud.Accepted(); n != 0 {
			t.Fatalf("%d machines were bought for a device that nothing has", n)
		}
		s.Store.Put(model.Overlay{Name: "fuse", Capacity: map[string]int64{"smarter-devices/fuse": 4}})
		s.Until("both run", 2*time.Minute, s.runs("fuse", 2))
		if _, notes := s.bought(); notes[model.AnnotationCapacityOverlay] != "true" {
			t.Errorf("the claim's notes are %v", notes)
		}
		s.Store.Remove(model.Overlay{Name: "fuse"})
		s.Scale("fuse", 0, p)
		s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
	})
}

func TestOverlaysThatContradictEachOtherSaySo(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Store.Put(model.Overlay{Name: "a", Price: "1"}, model.Overlay{Name: "b", Price: "2"}, model.Overlay{Name: "c", Price: "x"})
		s.Store.Fail("patch-extra", 2, kube.Conflict)
		reason := func(name string) string {
			c, _ := model.FindCondition(s.overlay(name).Conditions, model.ValidationSucceeded)
			return string(c.Status) + " " + c.Reason
		}
		s.Until("their status says so", 2*time.Minute, func() bool {
			return reason("a") == "False Conflict" && reason("b") == "True ValidationSucceeded" && reason("c") == "False RuntimeValidation"
		})
		s.Store.Remove(model.Overlay{Name: "b"})
		s.Until("the first comes into force", time.Minute, func() bool { return reason("a") == "True ValidationSucceeded" })
	})
}

func TestAnOverlayForOnePoolLeavesTheOthersAlone(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		other := pool()
		other.Name, other.UID = "zebra", "zebra-uid" // of equals the pool earlier in the alphabet is asked first
		s.Store.Put(other, model.Overlay{Name: "half", PriceAdjustment: "-50%", Requirements: only(model.LabelPool, "zebra")},
			model.Overlay{Name: "fuse", Capacity: map[string]int64{"smarter-devices/fuse": 4}, Requirements: only(model.LabelPool, "general")})
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		if c := s.Store.Objects().Claims[0]; c.Pool != "zebra" || c.Annotations[model.AnnotationPriceOverlay] != "true" {
			t.Errorf("the machine was bought by pool %s with notes %v, want zebra, where it is cheaper", c.Pool, c.Annotations)
		}
		p := oneCore()
		p.Requests = p.Requests.With("smarter-devices/fuse", 1)
		s.Scale("fuse", 1, p)
		s.Until("the pod with a device runs", 2*time.Minute, s.runs("fuse", 1))
		if n := s.Pods("fuse")[0].Node; !slices.ContainsFunc(s.Store.Objects().Nodes, func(x model.Node) bool { return x.Name == n && x.Labels[model.LabelPool] == "general" }) {
			t.Errorf("the pod with a device runs on %s, want a node of pool general", n)
		}
		s.Scale("inflate", 0, oneCore())
		s.Scale("fuse", 0, p)
		s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
	})
}
