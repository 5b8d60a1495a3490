package simulate

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
)

// TestEveryScenarioOfTheEngineRuns gives the engine's own scenarios to the simulator: it must say what the engine says when it
// is asked directly.
func TestEveryScenarioOfTheEngineRuns(t *testing.T) {
	same, unsold := 0, 0
	datadriven.Walk(t, "../place/testdata/scenarios", func(t *testing.T, path string) {
		first := true
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if !first || d.Cmd != "decide" || len(d.CmdArgs) > 0 {
				return d.Expected
			}
			first = false
			direct, err := worldtext.Parse(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			q, err := Read(t.Context(), Options{Files: []File{{path, []byte("decide\n" + d.Input + "\n----\n" + d.Expected)}}})
			if bad := new(Invalid); errors.As(err, &bad) && len(direct.Catalogs) == 0 && strings.Contains(err.Error(), "what can be bought") {
				unsold++
				return d.Expected
			}
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			a, err := Decide(q)
			if unsound := new(Unsound); err != nil && !errors.As(err, &unsound) { // what is sound, audit's own tests ask
				d.Fatalf(t, "%v", err)
			}
			if got, want := a.Plan.String(), place.Decide(place.Input{World: direct}).String(); got != want {
				t.Errorf("%s: simulated\n%s\nasked directly\n%s", path, got, want)
			}
			same++
			return d.Expected
		})
	})
	if same < 30 || unsold > same/4 {
		t.Errorf("%d scenarios gave the same, %d did not say what can be bought", same, unsold)
	}
}
