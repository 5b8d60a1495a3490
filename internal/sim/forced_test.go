package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// evict takes a spot machine back as AKS shows it: its node says until when, then it is gone.
func (s *Sim) evict(node model.Node, notice time.Duration) {
	until := time.Now().Add(notice)
	s.Store.EditNode(node.Name, func(n *model.Node) {
		n.Conditions = []model.Condition{{Type: model.PreemptionScheduled, Status: model.True, Reason: "SpotEvictionIncoming",
			Message: "Preempt Scheduled: " + until.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), Since: time.Now()}}
	})
	time.AfterFunc(notice, func() { s.Cloud.Evict(node.ProviderID) })
}

// spotPool sells spot machines, in one zone if one is given.
func spotPool(zones ...string) model.Pool {
	p := pool()
	p.Requirements[1].Values = []string{model.Spot}
	if len(zones) > 0 {
		p.Requirements = append(p.Requirements, model.Requirement{Key: model.LabelZone, Op: model.In, Values: zones})
	}
	return p
}

// others lists nodes that are not the one of that name.
func (s *Sim) others(name string) (out []model.Node) {
	for _, n := range s.Store.Objects().Nodes {
		if n.Name != name {
			out = append(out, n)
		}
	}
	return out
}

// claimOf is the claim of a node.
func (s *Sim) claimOf(node string) model.Claim {
	claims := s.Store.Objects().Claims
	i := slices.IndexFunc(claims, func(c model.Claim) bool { return c.NodeName == node })
	if i < 0 {
		return model.Claim{}
	}
	return claims[i]
}

func TestAnInterruptedMachineIsLeftInTime(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(spotPool(), class(), daemon())
		slow := oneCore()
		slow.GraceSeconds = 20
		s.Scale("web", 2, slow)
		s.Until("all run", 2*time.Minute, s.runs("web", 2))
		had := s.Cloud.Accepted()
		// Nobody may go, and yet they do: the machine goes.
		s.Store.Put(model.PDB{Namespace: "default", Name: "web", HasSel: true,
			Selector: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}})
		old := s.Store.Objects().Nodes[0]
		was := s.claimOf(old.Name)
		s.evict(old, 5*time.Minute)
		s.Until("what replaces it is bought", 10*time.Second, func() bool { return len(s.Store.Objects().Claims) == had+1 })
		s.Until("all run elsewhere", 5*time.Minute, func() bool {
			return s.runs("web", 2)() && !slices.ContainsFunc(s.Pods("web"), func(p model.Pod) bool { return p.Node == old.Name })
		})
		s.Until("the old one is gone", 2*time.Minute, func() bool { return s.claimOf(old.Name).Name == "" })
		claims := s.Store.Objects().Claims
		slices.SortFunc(claims, func(a, b model.Claim) int { return b.Created.Compare(a.Created) })
		next := claims[0]
		if got := next.Offering(); got == was.Offering() || got.CapacityType != model.Spot {
			t.Errorf("%s is bought in place of %s, which is taken back", got, was.Offering())
		}
		if n := s.Cloud.Accepted(); n != had+1 {
			t.Errorf("%d machines were bought, want %d and one more", n, had)
		}
	})
}

// Nothing else happens that would have the controller look again.
func TestANoticeIsHeededAlthoughAnswersAreLost(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(spotPool(), class(), daemon())
		s.Scale("web", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("web", 1))
		s.Pass(5 * time.Minute)
		old := s.Store.Objects().Nodes[0]
		s.Store.LoseAnswer(memkube.OpPatchClaim, 3)
		s.evict(old, 2*time.Minute)
		s.Until("its claim leaves", 10*time.Second, func() bool { return s.claimOf(old.Name).Deleting() })
	})
}

// The offering is at risk, and yet the only one.
func TestWhatIsAtRiskIsBoughtWhereNothingElseWouldDo(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		p := spotPool("westus3-1")
		p.Requirements = append(p.Requirements, model.Requirement{Key: model.LabelInstanceType, Op: model.In, Values: []string{"Standard_D4s_v5"}})
		s.Store.Put(p, class(), daemon())
		s.Scale("web", 1, oneCore())
		s.Until("it runs", 2*time.Minute, s.runs("web", 1))
		old := s.Store.Objects().Nodes[0]
		s.evict(old, 30*time.Second)
		s.Until("it runs elsewhere", 3*time.Minute, func() bool {
			return s.runs("web", 1)() && s.Pods("web")[0].Node != old.Name
		})
	})
}

func TestDeathInAnInterruption(t *testing.T) {
	for _, point := range []control.Point{control.PointDeletionDue, control.PointNodeTainted, control.PointPodRemoved, control.PointClaimCreated, control.PointTerminated} {
		t.Run(string(point), func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.Store.Put(spotPool(), class(), daemon())
				s.Scale("web", 2, oneCore())
				s.Until("all run", 2*time.Minute, s.runs("web", 2))
				old, had := s.Store.Objects().Nodes[0], s.Cloud.Accepted()
				s.KillAt(point)
				s.evict(old, time.Minute)
				end := ""
				s.Until("all run elsewhere", 5*time.Minute, func() bool {
					c := s.claimOf(old.Name)
					if c.Deleting() && c.Annotations[model.AnnotationTerminationTime] != "" {
						end = c.Annotations[model.AnnotationTerminationTime]
					}
					return s.runs("web", 2)() && c.Name == "" && len(s.others(old.Name)) > 0
				})
				if s.Killed(point) != 1 {
					t.Errorf("the controller died %d times at %q, want once", s.Killed(point), point)
				}
				if end == "" {
					t.Error("nothing said by when the pods have to be gone")
				}
				if n := s.Cloud.Accepted(); n != had+1 {
					t.Errorf("%d machines were bought, want %d and one more", n, had)
				}
				s.Scale("web", 0, oneCore())
				s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
			})
		})
	}
}

// A machine that is about to be replaced is taken back before: what was bought for its pods takes them all the same.
func TestAnInterruptionMeetsAMove(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		drifting := func(hash string) model.Pool {
			p := spotPool()
			p.Hash, p.Policy = hash, model.WhenEmpty
			return p
		}
		s.Store.Put(drifting("1"), class(), daemon())
		s.Scale("web", 1, bigPod())
		s.Until("it runs", 2*time.Minute, s.runs("web", 1))
		old := s.Store.Objects().Nodes[0]
		s.Store.Put(drifting("2"))
		s.Until("a move is on", 2*time.Minute, func() bool { return len(s.Store.Objects().Claims) == 2 })
		s.evict(old, 40*time.Second)
		s.Until("all is over", 5*time.Minute, func() bool {
			return s.AtRest() && s.runs("web", 1)() && s.Pods("web")[0].Node != old.Name && len(s.Store.Objects().Claims) == 1
		})
		if n := s.Cloud.Accepted(); n != 2 {
			t.Errorf("%d machines were bought, want 2", n)
		}
	})
}

// aging is a pool whose nodes live for so long, one of which may leave at a time.
func aging(life time.Duration) model.Pool {
	p := budgeted("1", "1")
	p.ExpireAfter = &life
	return p
}

// generations counts the claims there have been, by their names, and how many were deleted too old.
type generations struct {
	seen    map[string]bool
	tooOld  []string
	marked  int // at the same time, at most
	running int // pods, at the least
}

func (g *generations) look(s *Sim, life time.Duration) {
	marked := 0
	for _, c := range s.Store.Objects().Claims {
		g.seen[c.Name] = true
		if time.Since(c.Created) >= life && !slices.Contains(g.tooOld, c.Name) && !c.Deleting() {
			g.tooOld = append(g.tooOld, c.Name)
		}
	}
	for _, n := range s.Store.Objects().Nodes {
		if n.HasTaint(model.TaintDisrupted) {
			marked++
		}
	}
	g.marked, g.running = max(g.marked, marked), min(g.running, s.Running("web"))
}

func TestNodesAreReplacedBeforeTheyExpire(t *testing.T) {
	const life = 3 * time.Hour
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(aging(life), class(), daemon())
		s.Scale("web", 4, bigPod())
		s.Until("all run", 5*time.Minute, s.runs("web", 4))
		g := generations{seen: map[string]bool{}, running: 4}
		for end := time.Now().Add(2 * life); time.Now().Before(end); s.Pass(5 * time.Second) {
			g.look(s, life)
		}
		if len(g.tooOld) > 0 || g.marked != 1 || g.running < 3 {
			t.Errorf("%v became too old; %d nodes left at a time, want 1; at the least %d of 4 pods ran", g.tooOld, g.marked, g.running)
		}
		if n := len(g.seen); n < 8 || n > 16 {
			t.Errorf("%d machines in two lives of four nodes", n)
		}
	})
}

// What nobody may move stays until its end, and goes then.
func TestAProtectedNodeExpiresByForce(t *testing.T) {
	const life = 2 * time.Hour
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(aging(life), class(), daemon())
		stays := oneCore()
		stays.DoNotDisrupt = "true"
		s.Scale("web", 1, stays)
		s.Until("it runs", 5*time.Minute, s.runs("web", 1))
		first := s.Store.Objects().Claims[0]
		s.Pass(time.Until(first.Created.Add(life)) - time.Minute)
		if got := s.Store.Objects().Claims; len(got) != 1 || got[0].Deleting() {
			t.Errorf("before the end: %s", s.Describe())
		}
		s.Until("it is asked to go", 2*time.Minute, func() bool { return s.Store.Objects().Claims[0].Deleting() })
	})
}

func TestDeathInAnExpiry(t *testing.T) {
	const life = time.Hour
	for _, point := range control.MovePoints() {
		t.Run(string(point), func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.Store.Put(aging(life), class(), daemon())
				s.Scale("web", 2, bigPod())
				s.Until("all run", 5*time.Minute, s.runs("web", 2))
				old := s.Store.Objects().Claims
				s.KillAt(point)
				s.Until("both are replaced", life, func() bool {
					now := s.Store.Objects().Claims
					return s.AtRest() && s.runs("web", 2)() && !slices.ContainsFunc(now, func(c model.Claim) bool {
						return c.Name == old[0].Name || c.Name == old[1].Name
					})
				})
				if s.Killed(point) != 1 {
					t.Errorf("the controller died %d times at %q, want once", s.Killed(point), point)
				}
				if n := s.Cloud.Accepted(); n > 5 {
					t.Errorf("%d machines were bought for two nodes and their replacements", n)
				}
			})
		})
	}
}

// silence has the kubelets of the first n nodes fall silent, while their machines run on.
func (s *Sim) silence(n int) (names []string) {
	for _, x := range s.Store.Objects().Nodes[:n] {
		s.Store.SetNodeReady(x.Name, model.Unknown)
		names = append(names, x.Name)
	}
	return names
}

func TestAnUnhealthyNodeIsReplaced(t *testing.T) {
	for _, gate := range []bool{true, false} {
		Run(t, Config{Settings: control.Settings{NodeRepair: gate}}, func(s *Sim) {
			s.spread(4)
			guarded := model.PDB{Namespace: "default", Name: "web", HasSel: true,
				Selector: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}
			s.Store.Put(guarded)
			sick := s.silence(1)[0]
			s.Pass(9 * time.Minute)
			if c := s.claimOf(sick); c.Deleting() || c.Name == "" {
				t.Errorf("gate %v: it went before ten minutes were over", gate)
			}
			s.Pass(2 * time.Minute)
			if c := s.claimOf(sick); gate != (c.Name == "" || c.Deleting()) {
				t.Errorf("gate %v: after eleven minutes: %s", gate, s.Describe())
			}
			if !gate {
				return
			}
			s.Until("its pod runs elsewhere", 3*time.Minute, func() bool { return s.runs("web", 4)() && s.claimOf(sick).Name == "" })
			if n := s.Cloud.Accepted(); n != 5 {
				t.Errorf("%d machines were bought, want four and one that replaces", n)
			}
		})
	}
}

func TestTooManyUnhealthyNodesStay(t *testing.T) {
	Run(t, Config{Settings: control.Settings{NodeRepair: true}}, func(s *Sim) {
		s.spread(4)
		sick := s.silence(2)
		s.Pass(30 * time.Minute)
		for _, name := range sick {
			if c := s.claimOf(name); c.Name == "" || c.Deleting() {
				t.Errorf("%s goes although half of the nodes are unhealthy", name)
			}
		}
		said := slices.ContainsFunc(s.Store.Events(), func(e memkube.Said) bool {
			return e.Reason == "NodeRepairBlocked" && e.Type == kube.Warning && e.About.ObjectKey() == sick[0]
		})
		if !said {
			t.Errorf("nobody says that nothing is repaired: %s", s.Describe())
		}
		s.Store.SetNodeReady(sick[1], model.True)
		s.Until("the other is replaced", 10*time.Minute, func() bool { return s.claimOf(sick[0]).Name == "" && s.runs("web", 4)() })
	})
}

// rolledStatic holds when the static pool has n nodes, all of the new template.
func (s *Sim) rolledStatic(n int, hash string) func() bool {
	return func() bool {
		return s.ready(n)() && s.AtRest() && !slices.ContainsFunc(s.Store.Objects().Claims, func(c model.Claim) bool {
			return c.Annotations[model.AnnotationPoolHash] != hash
		})
	}
}

func TestAStaticPoolIsRolled(t *testing.T) {
	points := append([]control.Point{""}, control.MovePoints()...)
	for _, point := range points {
		t.Run("killed at "+string(point), func(t *testing.T) {
			Run(t, Config{Settings: control.Settings{StaticCapacity: true}}, func(s *Sim) {
				s.Store.Put(class(), daemon())
				p := staticPool()
				p.Budgets = []model.DisruptionBudget{{Nodes: "1"}}
				s.resize(p, 3)
				s.Until("three nodes are ready", 3*time.Minute, s.ready(3))
				s.Scale("web", 2, oneCore())
				s.Until("both pods run", time.Minute, s.runs("web", 2))
				if point != "" {
					s.KillAt(point)
				}
				p.Hash = "2"
				s.resize(p, 3)
				fewest := 3
				s.Until("all nodes are of the new template", time.Hour, func() bool {
					ready := 0
					for _, c := range s.Store.Objects().Claims {
						if c.Is(model.Initialized) && !c.Deleting() {
							ready++
						}
					}
					fewest = min(fewest, ready)
					return s.rolledStatic(3, "2")()
				})
				s.Until("both pods run again", time.Minute, s.runs("web", 2))
				if fewest < 3 {
					t.Errorf("%d nodes were there meanwhile, want never less than 3", fewest)
				}
				if n := s.Cloud.Accepted(); n != 6 && (point == "" || n > 7) {
					t.Errorf("%d machines were bought, want three and three that replace them", n)
				}
				if point != "" && s.Killed(point) != 1 {
					t.Errorf("the controller died %d times at %q, want once", s.Killed(point), point)
				}
			})
		})
	}
}

// Nothing happens in the cluster, and lives are shorter than the pause between two looks at nodes that are at rest.
func TestAShortLifeEndsInTime(t *testing.T) {
	const life = 4 * time.Minute
	Run(t, Config{}, func(s *Sim) {
		s.Store.Put(aging(life), class(), daemon())
		s.Scale("web", 1, bigPod())
		s.Until("it runs", 5*time.Minute, s.runs("web", 1))
		g := generations{seen: map[string]bool{}, running: 1}
		for end := time.Now().Add(4 * life); time.Now().Before(end); s.Pass(time.Second) {
			g.look(s, life)
		}
		if len(g.tooOld) > 0 || len(g.seen) < 4 || len(g.seen) > 10 {
			t.Errorf("%v became too old, of %d machines in four lives", g.tooOld, len(g.seen))
		}
	})
}
