package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

func broken(rules ...audit.Rule) Case {
	c := Case{World: worldgen.Small(1), Version: "v1", At: worldgen.Epoch()}
	for _, r := range rules {
		c.Findings = append(c.Findings, audit.Finding{Rule: r, Detail: "pod default/web-0"})
	}
	return c
}

// TestPlansReadBackTheSame writes plans for random worlds and reads them back: the audit must find the same in both, also when somebody
// has spoiled them.
func TestPlansReadBackTheSame(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		w := worldgen.Small(seed)
		p := place.Decide(place.Input{World: w})
		switch seed % 4 {
		case 1:
			p.Price++
		case 2:
			if len(p.NewClaims) > 0 {
				p.NewClaims[0].Options = nil
			}
		case 3:
			if len(p.Unscheduled) > 0 {
				p.Unscheduled[0] = place.Unscheduled{Pod: p.Unscheduled[0].Pod, Refusals: []place.Refusal{{Pool: "a"}}}
			}
		}
		var b strings.Builder
		printPlan(&b, p)
		var again place.Plan
		for line := range strings.Lines(b.String()) {
			if err := ReadLine(&again, strings.Fields(line)[1:]); err == nil {
				t.Fatalf("seed %d: a line without its noun was read: %s", seed, line)
			}
			if err := ReadLine(&again, strings.Fields(line)); err != nil {
				t.Fatalf("seed %d: %v in %s", seed, err, line)
			}
		}
		world, err := worldtext.Parse(worldtext.Print(w))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := audit.Check(w, p)
		found += len(want)
		if d := cmp.Diff(want, audit.Check(world, again)); d != "" {
			t.Fatalf("seed %d: the plan\n%s\nread back from\n%s\nis judged otherwise: %s", seed, p, b.String(), d)
		}
	}
	if found < 50 {
		t.Errorf("only %d findings: the plans were not spoiled", found)
	}
}

func TestMistakesInPlansAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"plan":                                 "buy, fit, left",
		"plan sell":                            `there is no "sell"`,
		"plan buy option=a/b/c pods=a/b":       "want type/zone/capacity-type/price",
		"plan buy option=a/b/c/dear":           "is no price",
		"plan buy pods=a":                      "want namespace/name",
		"plan buy colour=red":                  `unknown field "colour"`,
		"plan fit a/b":                         "want a pod, and node= or claim=",
		"plan fit a/b machine=c":               "want node= or claim=",
		"plan left":                            "want a pod",
		"plan left a/b because=c":              "want why= or refused=",
		"plan price":                           "want one price",
		"plan price 1e99":                      "is no price",
		"plan buy option=a/b/c/-1 pods=a/b,c/": "is no price",
	} {
		if err := ReadLine(&place.Plan{}, strings.Fields(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// A case names pods and nodes; what people write into annotations stays in the cluster.
func TestNotesOfPeopleAreLeftOut(t *testing.T) {
	c := broken(audit.Room)
	c.World.Nodes = []model.Node{{Name: "n1", Annotations: map[string]string{"example.com/token": "s3cret", "karpenter.sh/do-not-disrupt": "true"}}}
	c.World.Pools[0].NodeAnnotations = map[string]string{"vault": "s3cret"}
	c.World.Claims = []model.Claim{{Name: "c1", Annotations: map[string]string{"a.b/karpenter.sh": "s3cret", "karpenter.azure.com/planned-pods": "shop/web"}}}
	text := c.Text()
	if strings.Contains(text, "s3cret") {
		t.Errorf("a note is in the case:\n%s", text)
	}
	for _, want := range []string{"annotation.karpenter.sh/do-not-disrupt=true", "planned-pods=shop/web", "node n1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the case:\n%s", want, text)
		}
	}
	if c.World.Nodes[0].Annotations["example.com/token"] == "" {
		t.Error("the picture itself was changed")
	}
}

func keep(k *Keeper, c Case) {
	k.Keep(c)
	k.Wait()
}

// Each defect has one file, also over restarts, and another version writes its own.
func TestOneFileForEachDefect(t *testing.T) {
	dir, written := t.TempDir(), []string{}
	told := func(o Outcome) { written = append(written, fmt.Sprint(filepath.Base(o.Path), o.Err)) }
	k := New(dir, told)
	keep(k, broken(audit.Room))
	again := broken(audit.Room, audit.Room)
	again.At = again.At.Add(time.Hour)
	keep(k, again)
	keep(New(dir, told), again)
	keep(k, broken(audit.Room, audit.Labels))
	newer := broken(audit.Room)
	newer.Version = "v2"
	keep(k, newer)
	if len(written) != 3 {
		t.Errorf("told of %q, want three files", written)
	}
	list, err := List(dir)
	if err != nil || len(list) != 3 {
		t.Errorf("files %v, %v, want three", list, err)
	}
	for _, f := range list {
		if f.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v", f.Name(), f.Mode())
		}
	}
}

// The directory never holds more than so many files, the oldest go first, and what is not ours stays.
func TestTheDirectoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := New(dir, func(o Outcome) {
		if o.Err != nil {
			t.Error(o.Err)
		}
	})
	var names []string
	for i := range 2 * maxFiles {
		c := broken(audit.Room)
		c.Version = fmt.Sprint("v", i)
		keep(k, c)
		names = append(names, fileName(c))
		then := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, names[i]), then, then); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range list {
		have = append(have, f.Name())
	}
	if want := names[maxFiles:]; !slices.Equal(have, want) {
		t.Errorf("have %v, want the newest %v", have, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != maxFiles+1 {
		t.Errorf("%d entries are left, %v", len(all), err)
	}
}

// A file system that nobody may write to, or no directory at all, costs an error at most.
func TestNowhereToWriteBreaksNothing(t *testing.T) {
	var told []Outcome
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := New(filepath.Join(file, "below"), func(o Outcome) { told = append(told, o) }) // nobody can make a directory below a file
	keep(k, broken(audit.Room))
	keep(k, broken(audit.Room))
	if len(told) != 1 || told[0].Err == nil {
		t.Errorf("told %v, want one error", told)
	}
	told = nil
	keep(New("", func(o Outcome) { told = append(told, o) }), broken(audit.Room))
	if len(told) != 0 {
		t.Errorf("told %v, want nothing", told)
	}
	if list, err := List(filepath.Join(t.TempDir(), "none")); err != nil || list != nil {
		t.Errorf("a directory that is not there holds %v, %v", list, err)
	}
}
