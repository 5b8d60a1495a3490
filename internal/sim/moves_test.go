package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// fragment has many machines filled by two deployments, and one of these go.
func (s *Sim) fragment() {
	s.furnish()
	for n := 3; n <= 18; n += 3 { // bit by bit, so that machines of several sizes come, each with pods of both
		for _, name := range []string{"stay", "go"} {
			s.Scale(name, n, oneCore())
			s.Until("all run", 5*time.Minute, s.runs(name, n))
		}
	}
	s.Scale("go", 0, oneCore())
}

func TestPodsOfAFragmentedClusterMoveTogether(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.fragment()
		before := s.Price()
		s.Pass(20 * time.Minute)
		s.Until("nothing moves", 20*time.Minute, func() bool { return s.AtRest() && s.runs("stay", 18)() })
		after, bought := s.Price(), s.Cloud.Accepted()
		// Eighteen cores cost 0.0423 each at the least, and the system keeps some of every machine.
		t.Logf("the cluster cost %s, and costs %s", before, after)
		if most := model.Dollars(18 * 0.0423 * 1.35); after > most {
			t.Errorf("the cluster costs %s at rest, want at most %s; it was %s", after, most, before)
		}
		s.Pass(time.Hour)
		if now := s.Cloud.Accepted(); now != bought || !s.AtRest() {
			t.Errorf("%d machines were bought although nothing changed:\n%s", now-bought, s.Describe())
		}
		s.Scale("stay", 0, oneCore())
		s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
	})
}

// budgeted is the pool with a budget, whose template has the hash.
func budgeted(nodes, hash string) model.Pool {
	p := pool()
	p.Budgets, p.Hash = []model.DisruptionBudget{{Nodes: nodes}}, hash
	p.Policy = model.WhenEmpty
	return p
}

func (s *Sim) spread(n int) {
	s.Store.Put(budgeted("1", "1"), class(), daemon())
	s.Scale("web", n, bigPod())
	s.Until("all run", 5*time.Minute, s.runs("web", n))
}

// bigPod is a pod that has a machine to itself.
func bigPod() model.Pod {
	p := oneCore()
	p.Labels = map[string]string{"app": "web"}
	p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{"default"},
		Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}}}
	return p
}

// rolled holds when all claims are of the pool's new template.
func (s *Sim) rolled(n int, hash string) func() bool {
	return func() bool {
		o := s.Store.Objects()
		return s.AtRest() && s.runs("web", n)() && len(o.Claims) >= n && !slices.ContainsFunc(o.Claims, func(c model.Claim) bool {
			return c.Annotations[model.AnnotationPoolHash] != hash
		})
	}
}

func TestADriftedPoolIsReplacedWithinItsBudget(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(4)
		s.Store.Put(budgeted("1", "2"))
		most, least := 0, 4
		watch := func() bool {
			marked := 0
			for _, n := range s.Store.Objects().Nodes {
				if n.HasTaint(model.TaintDisrupted) {
					marked++
				}
			}
			most, least = max(most, marked), min(least, s.Running("web"))
			return s.rolled(4, "2")()
		}
		s.Until("all nodes are of the new template", 30*time.Minute, watch)
		if most != 1 || least < 3 {
			t.Errorf("%d nodes left at a time with a budget of 1; at the least %d of 4 pods ran", most, least)
		}
		if got := s.Cloud.Accepted(); got != 8 {
			t.Errorf("%d machines were bought, want four and four that replace them", got)
		}
	})
}

func TestDeathAtEveryPointOfAMove(t *testing.T) {
	for _, point := range control.MovePoints() {
		t.Run(string(point), func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.spread(2)
				s.KillAt(point)
				s.Store.Put(budgeted("1", "2"))
				s.Until("all nodes are of the new template", 40*time.Minute, s.rolled(2, "2"))
				if s.Killed(point) != 1 {
					t.Errorf("the controller died %d times at %q, want once: the point was never passed", s.Killed(point), point)
				}
				// A move that was half written is undone, and what was bought for it goes.
				if got := s.Cloud.Accepted(); got > 5 {
					t.Errorf("%d machines were bought for two nodes and their replacements", got)
				}
				s.Scale("web", 0, bigPod())
				s.Until("nothing is left", 5*time.Minute, s.nothingLeft)
			})
		})
	}
}

func TestAMoveWhoseReplacementIsLostIsUndone(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(1)
		s.Store.Put(budgeted("1", "2"))
		replacement := ""
		s.Until("a replacement is on its way", 2*time.Minute, func() bool {
			for _, c := range s.Store.Objects().Claims {
				if c.Annotations[model.AnnotationPoolHash] == "2" {
					replacement = c.Name
				}
			}
			return replacement != ""
		})
		if err := s.Store.DeleteClaim(t.Context(), replacement); err != nil {
			t.Fatal(err)
		}
		s.Until("the move is undone", 2*time.Minute, func() bool { return s.AtRest() && len(s.Store.Objects().Claims) == 1 })
		s.Pass(2 * time.Minute)
		if !s.AtRest() || !s.runs("web", 1)() {
			t.Errorf("it was tried again at once:\n%s", s.Describe())
		}
		s.Until("it is tried again later", 30*time.Minute, s.rolled(1, "2"))
	})
}
