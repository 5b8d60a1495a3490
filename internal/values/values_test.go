package values

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into the scenarios")

// A scenario is what is known of a cluster, as JSON with the fields of Facts, a line of four dashes, and the values file with what is missing,
// disputed and worth a note.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, want, _ := strings.Cut(string(raw), "\n----\n")
			var facts Facts
			dec := json.NewDecoder(strings.NewReader(in[strings.Index(in, "{"):]))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&facts); err != nil {
				t.Fatal(err)
			}
			got := printed(t, Find(facts))
			if *rewrite {
				if err := os.WriteFile(name, []byte(in+"\n----\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func printed(t *testing.T, f File) string {
	t.Helper()
	return f.YAML() + strings.Join(f.Told(), "\n") + "\n"
}
