package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheManualShowsWhatTopPrints runs the commands of docs/top.md.
func TestTheManualShowsWhatTopPrints(t *testing.T) {
	page, err := filepath.Abs("../../docs/top.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../internal/top/testdata")
	if n := showsWhatIsPrinted(t, page); n < 3 {
		t.Errorf("the page has %d commands: it is read wrongly", n)
	}
}

// TestTheManualShowsWhatMigratePrints runs the commands of docs/migrate.md.
func TestTheManualShowsWhatMigratePrints(t *testing.T) {
	t.Chdir("../..")
	if n := showsWhatIsPrinted(t, "docs/migrate.md"); n != 2 {
		t.Errorf("the page has %d commands: it is read wrongly", n)
	}
}

// TestBlueprintsBuyWhatTheirPagesShow runs the commands of all blueprints' pages. Each manifest has a page, and each page shows what
// its manifest buys.
func TestBlueprintsBuyWhatTheirPagesShow(t *testing.T) {
	t.Chdir("../..")
	manifests, err := filepath.Glob("examples/blueprints/*.yaml")
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d blueprints, %v", len(manifests), err)
	}
	for _, manifest := range manifests {
		name := strings.TrimSuffix(filepath.Base(manifest), ".yaml")
		t.Run(name, func(t *testing.T) {
			page := filepath.Join("docs", "blueprints", name+".md")
			if n := showsWhatIsPrinted(t, page); n != 1 {
				t.Errorf("%s has %d commands", page, n)
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("kubectl apply -f "+manifest+"\n")) || !bytes.Contains(text, []byte("$ karpenter simulate "+manifest)) {
				t.Errorf("%s is about something else than %s", page, manifest)
			}
		})
	}
}

var console = regexp.MustCompile("(?s)```console\n\\$ karpenter ([^\n]*)\n.*?```")

// showsWhatIsPrinted runs the commands of a page: what stands below each is what it prints. UPDATE_SCRIPTS=1 writes it. It returns how
// many there are.
func showsWhatIsPrinted(t *testing.T, page string) (commands int) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LC_ALL", "C.UTF-8")
	text := console.ReplaceAllStringFunc(string(raw), func(block string) string {
		line := console.FindStringSubmatch(block)[1]
		var out, errs bytes.Buffer
		if code := run(strings.Fields(line), &out, &errs); code != 0 {
			t.Errorf("karpenter %s: %d %s", line, code, errs.String())
		}
		commands++
		return "```console\n$ karpenter " + line + "\n" + out.String() + "```"
	})
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(raw) {
		t.Errorf("%s does not show what the commands print; UPDATE_SCRIPTS=1 writes it. They print:\n%s", page, text)
	}
	return commands
}
