package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// asked is the pool with annotations, given as keys and values.
func asked(p model.Pool, notes ...string) model.Pool {
	p.Annotations = map[string]string{}
	for i := 0; i < len(notes); i += 2 {
		p.Annotations[notes[i]] = notes[i+1]
	}
	return p
}

// says reports whether the pool's condition has the status, and a message with the words.
func (s *Sim) says(condition string, status model.Status, words string) func() bool {
	return func() bool {
		c, _ := model.FindCondition(s.Store.Objects().Pools[0].Conditions, condition)
		return c.Status == status && strings.Contains(c.Message, words)
	}
}

// heard reports whether an event with the reason and the words was said about the object.
func (s *Sim) heard(object, reason, words string) bool {
	for _, e := range s.Store.Events() {
		if e.About.ObjectKey() == object && e.Reason == reason && strings.Contains(e.Message, words) {
			return true
		}
	}
	return false
}

func TestNothingIsBoughtForAPoolOnHold(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		s.Store.Put(asked(pool(), model.AnnotationPause, "provisioning"))
		s.Scale("inflate", 3, oneCore())
		s.Until("the pool says so", time.Minute, s.says(model.Paused, model.True, "provisioning"))
		s.Pass(10 * time.Minute)
		if got := s.Cloud.Accepted(); got != 0 {
			t.Errorf("%d machines were bought", got)
		}
		if !s.heard("default/inflate-00001", "FailedScheduling", "paused") || !s.heard("general", "Paused", "provisioning") {
			t.Errorf("neither pod nor pool says why nothing is bought:\n%s", s.Describe())
		}
		s.Store.Put(pool())
		s.Until("all run as soon as it goes on", 2*time.Minute, s.runs("inflate", 3))
	})
}

func TestNothingIsBoughtWhileAllPoolsAreOnHold(t *testing.T) {
	paused := control.Settings{Paused: model.Pause{Provisioning: true}}
	Run(t, Config{Settings: paused}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 1, oneCore())
		s.Pass(5 * time.Minute)
		if got := s.Cloud.Accepted(); got != 0 || !s.says(model.Paused, model.True, "provisioning")() {
			t.Errorf("%d machines were bought:\n%s", got, s.Describe())
		}
		if slices.ContainsFunc(s.Store.Objects().Pools, func(p model.Pool) bool { return !p.Ready() }) {
			t.Error("a pool on hold is not ready")
		}
	})
}

// A move that was begun is undone when its pool is put on hold; what was bought for it goes, and nobody was moved.
func TestAPauseTakesBackWhatWasBegun(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(3)
		s.Store.Put(budgeted("3", "2"))
		begun := func() bool {
			return slices.ContainsFunc(s.Store.Objects().Claims, func(c model.Claim) bool { return c.Annotations[model.AnnotationMove] != "" })
		}
		s.Until("moves are begun", 2*time.Minute, begun)
		s.Store.Put(asked(budgeted("3", "2"), model.AnnotationPause, "disruption"))
		s.Until("they are undone", 2*time.Minute, func() bool { return s.AtRest() && len(s.Store.Objects().Claims) == 3 })
		s.Pass(30 * time.Minute)
		if !s.AtRest() || !s.runs("web", 3)() || s.rolled(3, "2")() {
			t.Errorf("nodes leave although disruption is paused:\n%s", s.Describe())
		}
		for _, c := range s.Store.Objects().Claims {
			if !s.heard(c.Name, "DisruptionBlocked", "paused") {
				t.Errorf("claim %s does not say why it stays", c.Name)
			}
		}
		s.Store.Put(budgeted("3", "2"))
		s.Until("all nodes are of the new template", 10*time.Minute, s.rolled(3, "2"))
	})
}

// The controller dies while it takes back what a pause stops: the next life takes back the rest.
func TestDeathWhileAPauseTakesBack(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(3)
		s.Store.Put(budgeted("3", "2"))
		s.Until("replacements are on their way", 2*time.Minute, func() bool { return len(s.replacing()) > 0 })
		s.KillAt(control.PointMoveUnmarked)
		s.Store.Put(asked(budgeted("3", "2"), model.AnnotationPause, "drift"))
		s.Until("all is as before", 5*time.Minute, func() bool {
			return s.Killed(control.PointMoveUnmarked) == 1 && s.AtRest() && len(s.Store.Objects().Claims) == 3
		})
		s.Pass(10 * time.Minute)
		if !s.AtRest() || !s.runs("web", 3)() || len(s.Store.Objects().Claims) != 3 {
			t.Errorf("something was left behind:\n%s", s.Describe())
		}
	})
}

// What people and time decide is done whatever is on hold.
func TestWhatIsForcedIsDoneOnHold(t *testing.T) {
	Run(t, Config{Settings: control.Settings{Paused: model.Pause{Disruption: true, Drift: true}}}, func(s *Sim) {
		old := pool()
		life := 40 * time.Minute
		old.ExpireAfter = &life
		s.Store.Put(old, class(), daemon())
		s.Scale("inflate", 2, oneCore())
		s.Until("all run", 5*time.Minute, s.runs("inflate", 2))
		first := s.Store.Objects().Nodes[0].Name
		gone := func(name string) func() bool {
			return func() bool {
				return s.runs("inflate", 2)() && !slices.ContainsFunc(s.Store.Objects().Nodes, func(n model.Node) bool { return n.Name == name })
			}
		}
		if err := s.Store.DeleteNode(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		s.Until("a deleted node is gone", 5*time.Minute, gone(first))
		second := s.Store.Objects().Nodes[0].Name
		s.Until("an expired node is gone", time.Hour, gone(second))
		s.Scale("inflate", 0, oneCore())
		s.Pass(20 * time.Minute)
		if len(s.Store.Objects().Nodes) == 0 {
			t.Error("an empty node left although disruption is paused")
		}
	})
}

func TestObservedNodesStayAndSayWhatWouldBe(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(2)
		s.Store.Put(asked(budgeted("1", "2"), model.AnnotationDisruptionMode, "observe"))
		bought := s.Cloud.Accepted()
		s.Pass(30 * time.Minute)
		if !s.AtRest() || s.Cloud.Accepted() != bought || s.rolled(2, "2")() {
			t.Errorf("observed nodes leave:\n%s", s.Describe())
		}
		told := 0
		for _, c := range s.Store.Objects().Claims {
			if s.heard(c.Name, "DisruptionObserved", "it would leave as drifted, with one pod, replaced by") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d nodes say what would happen to them, want the one that the budget would let go:\n%s", told, s.Describe())
		}
		s.Store.Put(budgeted("1", "2"))
		s.Until("all nodes are of the new template", 20*time.Minute, s.rolled(2, "2"))
	})
}

// A drain that is stuck says who blocks it, all of them; when the node's grace ends they go, and say so.
func TestADrainThatIsStuckSaysWhoBlocksIt(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		grace := 20 * time.Minute
		p := pool()
		p.TerminationGracePeriod = &grace
		s.Store.Put(p, class(), daemon())
		covered, stays := oneCore(), oneCore()
		covered.Labels = map[string]string{"app": "web"}
		covered.GraceSeconds = 60
		stays.DoNotDisrupt = "true"
		s.Store.Put(model.PDB{Namespace: "default", Name: "web", HasSel: true,
			Selector: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}})
		s.Scale("web", 1, covered)
		s.Scale("stays", 1, stays)
		s.Until("all run", 5*time.Minute, func() bool { return s.runs("web", 1)() && s.runs("stays", 1)() })
		web, still := s.Pods("web")[0], s.Pods("stays")[0]
		for _, n := range s.Store.Objects().Nodes {
			if err := s.Store.DeleteNode(t.Context(), n.Name); err != nil {
				t.Fatal(err)
			}
		}
		s.Pass(15 * time.Minute)
		for _, x := range []struct{ node, words string }{
			{web.Node, "pod " + web.Key().String() + ": budget default/web allows no further disruption now"},
			{still.Node, "pod " + still.Key().String() + ": annotated karpenter.sh/do-not-disrupt"},
		} {
			if !s.heard(x.node, "FailedDraining", x.words) {
				t.Errorf("the node does not say %q:\n%s", x.words, s.Describe())
			}
			if !s.heard(x.node, "TerminationGracePeriodExpiring", "All pods will be deleted by") {
				t.Errorf("%s does not say when its grace ends", x.node)
			}
		}
		s.Until("the nodes are gone", 10*time.Minute, func() bool {
			return !slices.ContainsFunc(s.Store.Objects().Nodes, func(n model.Node) bool { return n.Name == web.Node || n.Name == still.Node })
		})
		if !s.heard(web.Key().String(), "Disrupted", "60 of the pod's 60 seconds of grace are left") {
			t.Errorf("the pod does not say why it was deleted:\n%s", s.Describe())
		}
	})
}

// replacing lists the claims that were bought for drifted nodes and are not being deleted.
func (s *Sim) replacing() (out []model.Claim) {
	for _, c := range s.Store.Objects().Claims {
		if c.Annotations[model.AnnotationReplacesDrifted] != "" && !c.Deleting() {
			out = append(out, c)
		}
	}
	return out
}

// Three replacements in a row are lost: drift is paused, a restart knows it, and when it is over one node is tried first.
func TestDriftIsPausedWhenReplacementsDoNotCome(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(3)
		s.Store.Put(budgeted("1", "2"))
		lost := map[string]bool{}
		lose := func() {
			for _, c := range s.replacing() {
				lost[c.Name+c.UID] = true
				if err := s.Store.DeleteClaim(t.Context(), c.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
		paused := s.says(model.Paused, model.True, "drift: 3 replacements in a row did not come")
		s.Until("drift is paused", time.Hour, func() bool { lose(); return paused() })
		if len(lost) != 3 || !s.heard("general", "Paused", "did not come") {
			t.Errorf("%d replacements were lost:\n%s", len(lost), s.Describe())
		}
		s.Stop()
		s.Start()
		s.Pass(13 * time.Minute)
		if len(s.replacing()) > 0 || !s.AtRest() || !paused() {
			t.Errorf("it goes on although drift is paused:\n%s", s.Describe())
		}
		s.Until("one is tried", 10*time.Minute, func() bool { return len(s.replacing()) == 1 })
		s.Until("all nodes are of the new template", 20*time.Minute, s.rolled(3, "2"))
		s.Until("nothing is paused any more", 2*time.Minute, s.says(model.Paused, model.False, ""))
	})
}

// The first new node has to be healthy for a while before others follow, although the budget would let all go at once.
func TestTheFirstNewNodeProvesItself(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(4)
		careful := asked(budgeted("4", "2"), model.AnnotationDriftCanary, "25%", model.AnnotationDriftSoak, "20m")
		s.Store.Put(careful)
		initialized := func() bool {
			list := s.replacing()
			return len(list) == 1 && list[0].Is(model.Initialized)
		}
		s.Until("the first is there", 5*time.Minute, initialized)
		s.Pass(19 * time.Minute)
		if n := len(s.replacing()); n != 1 || len(s.Store.Objects().Claims) != 4 || !s.AtRest() {
			t.Errorf("%d nodes were replaced before the first was proven:\n%s", n, s.Describe())
		}
		sick := s.replacing()[0].NodeName
		s.Store.SetNodeReady(sick, model.False)
		s.Pass(30 * time.Minute)
		if n := len(s.replacing()); n != 1 {
			t.Errorf("%d nodes were replaced although the first is not healthy:\n%s", n, s.Describe())
		}
		s.Store.SetNodeReady(sick, model.True)
		s.Until("all nodes are of the new template", 40*time.Minute, s.rolled(4, "2"))
	})
}

// A budget of none but for some hours of the day is a maintenance window.
func TestDriftWaitsForItsWindow(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.spread(2)
		now := time.Now().UTC()
		if now.Hour() != 0 {
			t.Fatalf("the story begins at %s, not at midnight", now)
		}
		windowed := func(hash string) model.Pool {
			p := budgeted("2", hash)
			p.Budgets = append(p.Budgets, model.DisruptionBudget{Nodes: "0", Reasons: []string{"Drifted"},
				Schedule: "0 4 * * *", Duration: 22 * time.Hour}) // open from 2 to 4
			return p
		}
		s.Store.Put(windowed("2"))
		opens := now.Truncate(24 * time.Hour).Add(2 * time.Hour)
		s.Pass(time.Until(opens) - time.Second)
		if len(s.replacing()) > 0 || !s.AtRest() {
			t.Errorf("nodes are replaced before the window opens:\n%s", s.Describe())
		}
		s.Until("all nodes are of the new template", 20*time.Minute, s.rolled(2, "2"))
		s.Pass(time.Until(opens.Add(2*time.Hour + time.Minute)))
		s.Store.Put(windowed("3"))
		s.Pass(time.Hour)
		if !s.rolled(2, "2")() {
			t.Errorf("nodes are replaced after the window has closed:\n%s", s.Describe())
		}
	})
}
