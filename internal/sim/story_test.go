package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

func oneCore() model.Pod {
	return model.Pod{Requests: model.Resources{CPU: 1000, Memory: 256 << 20, Pods: 1}}
}

func (s *Sim) furnish() { s.Store.Put(pool(), class(), daemon()) }

func (s *Sim) runs(name string, n int) func() bool {
	return func() bool { return len(s.Pods(name)) == n && s.Running(name) == n }
}

// nothingLeft holds when neither the cluster nor the cloud has anything that was bought.
func (s *Sim) nothingLeft() bool {
	o := s.Store.Objects()
	return len(o.Claims) == 0 && len(o.Nodes) == 0 && len(s.Cloud.Resources()) == 0 && len(s.Store.Tokens()) == 0
}

func TestPodsGetMachinesAndLeaveNothingBehind(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 5, oneCore())
		s.Until("claims are made", 5*time.Second, func() bool { return len(s.Store.Objects().Claims) > 0 })
		s.Until("all five run", 2*time.Minute, s.runs("inflate", 5))
		bought := s.Cloud.Accepted()
		s.Pass(10 * time.Minute)
		if got := s.Cloud.Accepted(); got != bought {
			t.Errorf("%d machines were bought, %d of them after all pods ran", got, got-bought)
		}
		s.Scale("inflate", 0, oneCore())
		s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
	})
}

func TestDeathAtEveryPointChangesNothing(t *testing.T) {
	for _, point := range control.Points() {
		t.Run(string(point), func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.furnish()
				s.KillAt(point)
				s.Scale("inflate", 5, oneCore())
				s.Until("all five run", 3*time.Minute, s.runs("inflate", 5))
				if nodes := s.Store.Objects().Nodes; len(nodes) != s.Cloud.Accepted() {
					t.Errorf("%d machines were bought for %d nodes", s.Cloud.Accepted(), len(nodes))
				}
				s.Scale("keep", 1, oneCore()) // so that a node with a pod on it is deleted, not only empty ones
				s.Until("all six run", 3*time.Minute, s.runs("keep", 1))
				for _, n := range s.Store.Objects().Nodes {
					if err := s.Store.DeleteNode(t.Context(), n.Name); err != nil {
						t.Fatal(err)
					}
				}
				s.Until("the pods of the deleted nodes run elsewhere", 5*time.Minute, func() bool {
					return s.runs("inflate", 5)() && s.runs("keep", 1)() && !slices.ContainsFunc(s.Store.Objects().Nodes, model.Node.Deleting)
				})
				s.Scale("inflate", 0, oneCore())
				s.Scale("keep", 0, oneCore())
				s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
				if s.Killed(point) != 1 {
					t.Errorf("the controller died %d times at %q, want once: the point was never passed", s.Killed(point), point)
				}
			})
		})
	}
}

// A node that was opened by a life that could not write that down any more is deleted before the next life looks.
func TestNodeDeletedBeforeItsClaimKnewIt(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.KillAt(control.PointNodePatched)
		s.Scale("inflate", 1, oneCore())
		s.Until("the controller dies", 2*time.Minute, func() bool { return s.Killed(control.PointNodePatched) == 1 })
		node := s.Store.Objects().Nodes[0]
		if err := s.Store.DeleteNode(t.Context(), node.Name); err != nil {
			t.Fatal(err)
		}
		s.Until("its pod runs elsewhere", 3*time.Minute, func() bool {
			return s.runs("inflate", 1)() && !slices.ContainsFunc(s.Store.Objects().Nodes, func(n model.Node) bool { return n.Name == node.Name })
		})
		s.Scale("inflate", 0, oneCore())
		s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
	})
}

// A node that someone deletes as soon as it joins, before our finalizer is on it, takes its claim with it at once: its kubelet does not
// register again, and its pods must not wait for that.
func TestANodeDeletedBeforeItRegisteredEndsItsClaim(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Store.Fail("patch-node", 1, kube.Conflict) // so that the node stands for a moment without our finalizer
		s.Scale("inflate", 1, oneCore())
		s.Until("a node joins", 2*time.Minute, func() bool { return len(s.Store.Objects().Nodes) == 1 })
		s.Pass(50 * time.Millisecond)
		node := s.Store.Objects().Nodes[0]
		if slices.Contains(node.Finalizers, model.Finalizer) {
			t.Fatal("the node has our finalizer already: this asks nothing")
		}
		if err := s.Store.DeleteNode(t.Context(), node.Name); err != nil {
			t.Fatal(err)
		}
		s.Until("its pod runs elsewhere", 2*time.Minute, s.runs("inflate", 1))
		if n := s.Cloud.Accepted(); n != 2 {
			t.Errorf("%d machines were bought, want 2", n)
		}
		s.Scale("inflate", 0, oneCore())
		s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
	})
}

func TestSoldOutSizeIsReplacedInTheSamePass(t *testing.T) {
	for _, when := range []memcloud.When{memcloud.AtOnce, memcloud.Later} {
		t.Run(string(when), func(t *testing.T) {
			var first string
			Run(t, Config{}, func(s *Sim) {
				s.furnish()
				s.Scale("inflate", 5, oneCore())
				s.Until("all five run", 2*time.Minute, s.runs("inflate", 5))
				first = s.Store.Objects().Nodes[0].Labels[model.LabelInstanceType]
			})
			Run(t, Config{}, func(s *Sim) {
				s.furnish()
				s.Cloud.SellOutType(first, when)
				s.Scale("inflate", 5, oneCore())
				s.Until("all five run on something else", 3*time.Minute, s.runs("inflate", 5))
				for _, n := range s.Store.Objects().Nodes {
					if n.Labels[model.LabelInstanceType] == first {
						t.Errorf("node %s is of the size that is sold out", n.Name)
					}
				}
				s.Scale("inflate", 0, oneCore())
				s.Until("nothing is left", 3*time.Minute, s.nothingLeft)
			})
		})
	}
}

func TestFaultsPass(t *testing.T) {
	faults := map[string]func(s *Sim){
		"the API server is gone for a minute": func(s *Sim) {
			s.Store.SetDown(true)
			s.Pass(time.Minute)
			s.Store.SetDown(false)
		},
		"the cloud is gone for a minute": func(s *Sim) {
			s.Cloud.Down(true)
			s.Pass(time.Minute)
			s.Cloud.Down(false)
		},
		"the cloud throttles": func(s *Sim) {
			s.Cloud.Throttle(5 * time.Second)
			s.Pass(30 * time.Second)
			s.Cloud.Throttle(0)
		},
		"accepted, but the answer is lost": func(s *Sim) { s.Cloud.LoseReplies(2) },
		"writes take effect, but their answers are lost": func(s *Sim) {
			s.Store.LoseAnswer("create-claim", 1)
			s.Store.LoseAnswer("patch-claim", 2)
			s.Store.LoseAnswer("patch-node", 2)
			s.Store.LoseAnswer("remove-pod", 2)
		},
		"conflicts": func(s *Sim) {
			s.Store.Fail("patch-claim", 3, kube.Conflict)
			s.Store.Fail("patch-node", 3, kube.Conflict)
		},
		"the watch is cut": func(s *Sim) { s.Store.CutWatch() },
		"the mirror falls behind": func(s *Sim) {
			s.Store.HoldWatch(true)
			s.Pass(10 * time.Second)
			s.Store.HoldWatch(false)
		},
	}
	for name, fault := range faults {
		for _, after := range []time.Duration{0, 3 * time.Second, 26 * time.Second} {
			t.Run(fmt.Sprintf("%s after %v", name, after), func(t *testing.T) {
				Run(t, Config{}, func(s *Sim) {
					s.furnish()
					s.Pass(2 * time.Second)
					s.Scale("inflate", 5, oneCore())
					s.Pass(after)
					fault(s)
					s.Until("all five run", 4*time.Minute, s.runs("inflate", 5))
					s.Scale("inflate", 0, oneCore())
					fault(s)
					s.Until("nothing is left", 8*time.Minute, s.nothingLeft)
				})
			})
		}
	}
}

func TestLimitsHoldUnderPressure(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := pool()
		p.Limits = map[string]int64{model.ResourceCPU: 20_000}
		s.Store.Put(p, class(), daemon())
		s.Scale("inflate", 60, oneCore())
		s.Until("some run", 3*time.Minute, func() bool { return s.Running("inflate") >= 10 })
		s.Pass(10 * time.Minute) // check() looks ten times a second
		if !slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool {
			return e.Reason == "FailedScheduling" && strings.Contains(e.Message, string(model.WhyLimits))
		}) {
			t.Errorf("no pod was told that the limits are spent")
		}
		if n := s.Running("inflate"); n < 14 {
			t.Errorf("only %d of 60 pods run, but 20 cores hold at least 14", n)
		}
	})
}

func TestExpiredNodesLeave(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		hour := time.Hour
		p := pool()
		p.ExpireAfter = &hour
		s.Store.Put(p, class(), daemon())
		s.Scale("inflate", 2, oneCore())
		s.Until("both run", 2*time.Minute, s.runs("inflate", 2))
		old := s.Store.Objects().Nodes[0].Name
		s.Pass(time.Hour)
		s.Until("the pods run on a younger node", 5*time.Minute, func() bool {
			return s.runs("inflate", 2)() && !slices.ContainsFunc(s.Store.Objects().Nodes, func(n model.Node) bool { return n.Name == old })
		})
	})
}

func TestMachineThatNobodyOrderedIsTakenAway(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		s.Stop()
		claim := s.Store.Objects().Claims[0]
		if err := s.Store.PatchClaim(t.Context(), claim.Name, kube.ClaimPatch{DropFinalizer: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Store.DeleteClaim(t.Context(), claim.Name); err != nil {
			t.Fatal(err)
		}
		s.Scale("inflate", 0, oneCore())
		s.Start()
		s.Until("nothing is left", 15*time.Minute, s.nothingLeft)
	})
}

func TestClassStaysAsLongAsClaimsUseIt(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("inflate", 1))
		s.Store.DeleteClass(class().Ref)
		s.Pass(time.Minute)
		if n := len(s.Store.Objects().Classes); n != 1 {
			t.Fatalf("%d classes left while a claim uses one", n)
		}
		s.Scale("inflate", 0, oneCore())
		s.Until("the last claim is gone", 3*time.Minute, func() bool { return len(s.Store.Objects().Claims) == 0 })
		s.Until("the class goes with it", 2*time.Second, func() bool { return len(s.Store.Objects().Classes) == 0 })
		s.Store.Put(class())
		s.Scale("inflate", 1, oneCore())
		s.Until("a new class of the old name serves at once", time.Minute, s.runs("inflate", 1))
	})
}
