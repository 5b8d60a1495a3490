package simulate

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/scenario"
)

// TestEveryScenarioOfTheEngineRuns gives the engine's own scenarios to the simulator: it must say what the engine says when it
// is asked directly.
func TestEveryScenarioOfTheEngineRuns(t *testing.T) {
	same, unsold := 0, 0
	seen := map[string]bool{}
	scenario.Each(t, "../place/testdata/scenarios", func(q *scenario.Question) {
		if cmd, plain := q.Command(); seen[q.Path()] || cmd != "decide" || !plain {
			return
		}
		seen[q.Path()] = true
		direct := q.World()
		text := "decide\n" + q.Below() + "\n----\n" + q.Answer()
		question, err := Read(t.Context(), Options{Files: []File{{Name: q.Path(), Text: []byte(text)}}})
		if bad := new(Invalid); errors.As(err, &bad) && len(direct.Catalogs) == 0 && strings.Contains(err.Error(), "what can be bought") {
			unsold++
			return
		}
		if err != nil {
			q.Fatalf("%v", err)
		}
		a, err := Decide(question)
		if unsound := new(Unsound); err != nil && !errors.As(err, &unsound) { // what is sound, audit's own tests ask
			q.Fatalf("%v", err)
		}
		if got, want := a.Plan.String(), place.Decide(place.Input{World: direct}).String(); got != want {
			t.Errorf("%s: simulated\n%s\nasked directly\n%s", q.Path(), got, want)
		}
		same++
	})
	if same < 30 || unsold > same/4 {
		t.Errorf("%d scenarios gave the same, %d did not say what can be bought", same, unsold)
	}
}
