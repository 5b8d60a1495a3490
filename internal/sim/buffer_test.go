package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// reserve puts a buffer with room for n pods of one core.
func (s *Sim) reserve(n int32) {
	s.Store.Put(model.Template{Kind: model.KindPodTemplate, Namespace: "default", Name: "chunk", Pod: oneCore()},
		model.Buffer{Namespace: "default", Name: "spare", Template: "chunk", Replicas: &n, Generation: int64(n) + 1})
}

// spare is how many more pods of one core the nodes that are ready could take.
func (s *Sim) spare() int {
	o, n := s.Store.Objects(), int64(0)
	for _, node := range o.Nodes {
		free := node.Allocatable.CPU
		for _, p := range o.Pods {
			if p.Node == node.Name && !p.Terminal {
				free -= p.Requests.CPU
			}
		}
		if admits(node, oneCore()) {
			n += free / 1000
		}
	}
	return int(n)
}

func (s *Sim) buffer() model.Buffer { return s.Store.Objects().Buffers[0] }

func (s *Sim) provisioned() bool { return model.IsTrue(s.buffer().Conditions, model.Provisioning) }

func TestABufferKeepsRoomThatPodsTakeAtOnce(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.reserve(3)
		s.Until("there is room for three", 2*time.Minute, func() bool { return s.spare() >= 3 && s.provisioned() })
		if b := s.buffer(); !model.IsTrue(b.Conditions, model.ReadyForProvisioning) || b.StatusReplicas == nil || *b.StatusReplicas != 3 || b.StatusTemplate != "chunk" {
			t.Errorf("the status is %+v", b)
		}
		s.Pass(30 * time.Minute)
		if s.spare() < 3 || !s.provisioned() {
			t.Fatalf("the room was given up as empty\n%s", s.Describe())
		}
		bought := s.Cloud.Accepted()
		s.Pass(30 * time.Minute)
		if n := s.Cloud.Accepted(); n != bought {
			t.Errorf("%d machines were bought while nothing changed", n-bought)
		}

		took := s.spare()
		s.Scale("inflate", took, oneCore())
		s.Until("real pods take the room at once", time.Second, s.runs("inflate", took))
		s.Until("a machine is bought for what they took", 5*time.Second, func() bool { return s.Cloud.Accepted() > bought })
		s.Until("the room is made good", 2*time.Minute, func() bool { return s.spare() >= 3 && s.provisioned() })
		s.Scale("inflate", 0, oneCore())
		s.reserve(0)
		s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
		if c, _ := model.FindCondition(s.buffer().Conditions, model.Provisioning); c.Reason != "BufferEmpty" {
			t.Errorf("the status of an empty buffer is %+v", c)
		}
		if i := slices.IndexFunc(s.Store.Events(), func(e memkube.Said) bool { return strings.Contains(e.About.ObjectKey(), "buffer:") }); i >= 0 {
			t.Errorf("somebody talked to a pod that does not exist: %+v", s.Store.Events()[i])
		}
	})
}

// Limits are spent on real pods first: here each kind of pod needs a zone of its own, so that one's machines are no use to
// the other.
func TestRealPodsComeBeforeReservedRoom(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := pool()
		p.Limits = map[string]int64{model.ResourceCPU: 8_000}
		real, shape, n := oneCore(), oneCore(), int32(50)
		real.NodeSelector = map[string]string{model.LabelZone: "westus3-2"}
		shape.NodeSelector = map[string]string{model.LabelZone: "westus3-1"}
		s.Store.Put(p, class(), daemon(), model.Template{Kind: model.KindPodTemplate, Namespace: "default", Name: "chunk", Pod: shape},
			model.Buffer{Namespace: "default", Name: "spare", Template: "chunk", Replicas: &n})
		s.Scale("inflate", 5, real)
		s.Until("all real pods run", 3*time.Minute, s.runs("inflate", 5))
		s.Until("the buffer says that it is short of room", time.Minute, func() bool {
			c, _ := model.FindCondition(s.buffer().Conditions, model.Provisioning)
			return c.Reason == "RequiresNewCapacity"
		})
	})
}

func TestABufferFollowsWhatItIsAShareOf(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		half := int32(50)
		deployment := func(n int32) {
			s.Store.Put(model.Template{Kind: model.KindDeployment, Namespace: "default", Name: "web", Replicas: n, Pod: oneCore()})
			s.Scale("web", int(n), oneCore())
		}
		s.Store.Put(model.Buffer{Namespace: "default", Name: "spare", Percentage: &half, Scalable: &model.ScalableRef{Kind: model.KindDeployment, Name: "web"}})
		s.Until("its status says what is missing", time.Minute, func() bool {
			c, _ := model.FindCondition(s.buffer().Conditions, model.ReadyForProvisioning)
			return c.Reason == "ScalableRefNotFound"
		})
		for _, n := range []int32{4, 10, 1} {
			deployment(n)
			want := int(n+1) / 2
			s.Until("there is room for half as many", 3*time.Minute, func() bool {
				return s.runs("web", int(n))() && s.provisioned() && s.spare() >= want && *s.buffer().StatusReplicas == int32(want)
			})
		}
	})
}

func TestABufferIsFilledOnceWhateverDies(t *testing.T) {
	for _, point := range []control.Point{control.PointPlanned, control.PointClaimCreated, control.PointAccepted} {
		t.Run(string(point), func(t *testing.T) {
			var calm int
			Run(t, Config{}, func(s *Sim) {
				s.furnish()
				s.reserve(6)
				s.Until("there is room", 3*time.Minute, s.provisioned)
				calm = s.Cloud.Accepted()
			})
			Run(t, Config{}, func(s *Sim) {
				s.furnish()
				s.KillAt(point)
				s.reserve(6)
				s.Until("there is room", 3*time.Minute, s.provisioned)
				s.Pass(5 * time.Minute)
				if n := s.Cloud.Accepted(); n != calm || s.Killed(point) != 1 {
					t.Errorf("%d machines were bought, want %d; died %d times at %q", n, calm, s.Killed(point), point)
				}
			})
		})
	}
}
