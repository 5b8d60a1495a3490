package sim

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/model"
)

// poisoned is an engine that panics whenever it is asked about a pod of that name, until it is cured.
type poisoned struct {
	name   string
	cured  atomic.Bool
	panics atomic.Int32
}

func (e *poisoned) decide(in place.Input) place.Plan {
	pods := in.Pods
	if len(pods) == 0 {
		pods = place.Waiting(in.World)
	}
	for _, p := range pods {
		if strings.HasPrefix(p.Name, e.name) && !e.cured.Load() {
			e.panics.Add(1)
			var none []model.Pod
			return place.Plan{Price: model.Price(len(none[len(pods)].Name))} // out of range, as a defect would be
		}
	}
	return place.Decide(in)
}

// A pod that the engine panics over keeps nobody waiting but itself, whatever it asks for. It is told why, the picture is written down
// so that it can be replayed, and it is tried again more and more seldom. When the defect is gone, it runs.
func TestAPodThatTheEnginePanicsOverKeepsNobodyElseWaiting(t *testing.T) {
	near := oneCore()
	near.Labels = map[string]string{"app": "bad"}
	near.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{"default"},
		Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"bad"}}}}}}
	special := pool() // so that no machine of the others has room for it
	special.Name, special.UID, special.Labels = "special", "special-uid", map[string]string{"room": "special"}
	for name, bad := range map[string]model.Pod{"it asks nothing of other pods": oneCore(), "it asks something of other pods": near} {
		bad.NodeSelector = special.Labels
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			keeper := evidence.New(dir, func(o evidence.Outcome) {
				if o.Err != nil {
					t.Error(o.Err)
				}
			})
			engine := &poisoned{name: "bad"}
			Run(t, Config{Decide: engine.decide, Refused: keeper.Keep}, func(s *Sim) {
				s.furnish()
				s.Store.Put(special)
				s.Scale("good", 20, oneCore())
				s.Scale("bad", 1, bad)
				s.Scale("tied", 2, near)
				s.Until("all others run", 2*time.Minute, func() bool { return s.runs("good", 20)() && s.runs("tied", 2)() })
				if got := s.toldWhy("bad"); !strings.Contains(got, string(model.WhyPanic)) {
					t.Errorf("the pod is told %q", got)
				}
				s.Pass(5 * time.Minute)
				calm := engine.panics.Load()
				s.Pass(10 * time.Minute)
				if n := engine.panics.Load() - calm; n < 2 || n > 12 {
					t.Errorf("within ten minutes, the pod is tried %d times: want again and again, but seldom", n)
				}
				s.Scale("late", 3, oneCore())
				s.Until("newcomers run", 2*time.Minute, s.runs("late", 3))
				engine.cured.Store(true)
				s.Until("the pod runs when the defect is gone", 10*time.Minute, s.runs("bad", 1))
				keeper.Wait()
			})
			files := cases(t, dir)
			if len(files) != 1 {
				t.Fatalf("one defect, and the files %v", files)
			}
			text, err := os.ReadFile(filepath.Join(dir, files[0]))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"index out of range", "(*poisoned).decide"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the file does not say %q:\n%s", want, text)
				}
			}
			q, err := simulate.Read(t.Context(), simulate.Options{Files: []simulate.File{{Name: files[0], Text: text}}})
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			a, err := simulate.Decide(q)
			if err != nil || len(a.Plan.Unscheduled) > 0 {
				t.Errorf("the engine without the defect, from the file: %v\n%s", err, a.Plan)
			}
		})
	}
}

// toldWhy is the last that a pod of the deployment was told of a failure.
func (s *Sim) toldWhy(name string) string {
	var last string
	for _, e := range s.Store.Events() {
		if e.Reason == "FailedScheduling" && strings.HasPrefix(e.About.ObjectKey(), "default/"+name+"-") {
			last = e.Message
		}
	}
	return last
}
