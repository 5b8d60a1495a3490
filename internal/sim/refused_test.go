package sim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/simulate"
)

// An engine with a defect buys nothing: its plan is refused, the picture is written down once for each defect, and simulate shows the
// same findings from the file, and what an engine without the defect does. When the defect is gone, the pods run.
func TestUnsoundPlanIsRefusedAndWrittenDown(t *testing.T) {
	var defect atomic.Int32 // 0 = none
	defect.Store(1)
	decide := func(in place.Input) place.Plan {
		p := place.Decide(in)
		switch {
		case defect.Load() == 1 && len(p.NewClaims) > 0:
			p.NewClaims[0].Pods = append(p.NewClaims[0].Pods, p.NewClaims[0].Pods[0])
		case defect.Load() == 2:
			p.Price += 7
		}
		return p
	}
	dir := filepath.Join(t.TempDir(), "made", "when-needed")
	failed := func(o evidence.Outcome) {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
	keeper := evidence.New(dir, failed)
	var first []string // findings of the first refusal
	refused := func(c evidence.Case) {
		if first == nil {
			first = texts(c.Findings)
		}
		keeper.Keep(c)
	}
	Run(t, Config{Decide: decide, Refused: refused}, func(s *Sim) {
		s.furnish()
		s.Scale("inflate", 3, oneCore())
		s.Pass(2 * time.Minute)
		keeper.Wait()
		if n := len(s.Store.Objects().Claims); n > 0 {
			t.Errorf("%d claims come from unsound plans", n)
		}
		if files := cases(t, dir); len(files) != 1 {
			t.Errorf("one defect, and the files %v", files)
		}
		defect.Store(2)
		s.Pass(2 * time.Minute)
		keeper.Wait()
		if files := cases(t, dir); len(files) != 2 {
			t.Errorf("two defects, and the files %v", files)
		}
		defect.Store(0)
		s.Until("the pods run when the defect is gone", 5*time.Minute, s.runs("inflate", 3))
	})
	name := cases(t, dir)[0]
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	q, err := simulate.Read(t.Context(), simulate.Options{Files: []simulate.File{{Name: name, Text: text}}})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	a, err := simulate.Decide(q)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(a.Refused); !slices.Equal(got, first) {
		t.Errorf("the controller found\n%s\nfrom the file is found\n%s", strings.Join(first, "\n"), strings.Join(got, "\n"))
	}
	if len(a.Plan.NewClaims) != 1 || len(a.Plan.NewClaims[0].Pods) != 3 {
		t.Errorf("the engine without the defect plans\n%s", a.Plan)
	}
	if shown := a.Text(false); !strings.Contains(shown, first[0]) {
		t.Errorf("simulate does not show %q:\n%s", first[0], shown)
	}
}

func texts(list []audit.Finding) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.String())
	}
	return out
}

// cases names the files that were written, the oldest first.
func cases(t *testing.T, dir string) []string {
	t.Helper()
	list, err := evidence.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Name())
	}
	return out
}
