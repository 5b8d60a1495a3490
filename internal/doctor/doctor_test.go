package doctor

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into the scenarios")

func healthy(t *testing.T) Facts {
	t.Helper()
	raw, err := os.ReadFile("testdata/healthy.json")
	if err != nil {
		t.Fatal(err)
	}
	var f Facts
	read(t, string(raw), &f)
	return f
}

func read(t *testing.T, text string, into *Facts) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestNothingIsWrongWhereAllIsWell(t *testing.T) {
	all := Examine(healthy(t))
	seen := map[string]bool{}
	for _, f := range all {
		seen[f.Check] = true
		if f.Level != OK {
			t.Errorf("%+v", f)
		}
	}
	for _, c := range checks() {
		if !seen[c.name] {
			t.Errorf("check %s says nothing", c.name)
		}
	}
	if Code(all) != 0 {
		t.Errorf("exit code %d", Code(all))
	}
}

// A scenario is facts that differ from the healthy ones: a list in it replaces the healthy one. Below four dashes stand the exit code and the
// findings that the healthy cluster does not have. Each says what to do; those about settings, whose text says it, do so once more below the last.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	well := Examine(healthy(t))
	named := map[string]bool{}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, want, _ := strings.Cut(string(raw), "\n----\n")
			facts := healthy(t)
			read(t, in[strings.Index(in, "{"):], &facts)
			all := Examine(facts)
			if again := Examine(facts); !slices.Equal(all, again) {
				t.Error("the same facts give other findings")
			}
			var news []Finding
			for i, f := range all {
				last := i+1 == len(all) || all[i+1].Check != f.Check
				if f.Level != OK && f.Do == "" && (f.Check != "settings" || last) {
					t.Errorf("%s: nobody says what to do about %q", f.Check, f.What)
				}
				if !slices.Contains(well, f) {
					news = append(news, f)
				}
				if f.Level == Stop {
					named[f.Check] = true
				}
			}
			got := "exit code " + string(rune('0'+Code(all))) + "\n" + Text(news, false)
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
	for _, c := range checks() { // every check can stop somebody, but that of the prices
		if !named[c.name] && c.name != "prices" {
			t.Errorf("no scenario in which check %s stops anything", c.name)
		}
	}
}

func TestHosts(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://Shop.hcp.westus3.azmk8s.io:443":   "shop.hcp.westus3.azmk8s.io",
		"https://shop.hcp.westus3.azmk8s.io./path": "shop.hcp.westus3.azmk8s.io",
		"https://10.0.0.4":                         "10.0.0.4",
		"https://[fd00::4]:443":                    "fd00::4",
	} {
		if got := hostOf(endpoint); got != want {
			t.Errorf("%s: %q, want %q", endpoint, got, want)
		}
	}
	f := healthy(t)
	f.Azure.Managed.Names = []string{"shop.hcp.westus3.azmk8s.io"}
	for _, address := range []string{"https://10.0.0.4:443", "https://[fd00::4]:443"} {
		f.Settings.Endpoint = address
		for _, x := range Examine(f) {
			if x.Check == "reach" && x.Level != OK {
				t.Errorf("an address is no name, and may be right: %+v", x)
			}
		}
	}
}

func TestGrants(t *testing.T) {
	grants := []Grant{
		{Scope: "/subscriptions/s/resourceGroups/MC",
			Actions: []string{"Microsoft.Compute/*/write"}},
		{Scope: "/subscriptions/s", Actions: []string{"*/read"},
			NotActions: []string{"Microsoft.Secret/*"}},
	}
	for _, c := range []struct {
		action, scope string
		want          bool
	}{
		{"microsoft.compute/disks/write", "/subscriptions/S/resourcegroups/mc", true},
		{"Microsoft.Compute/disks/write", "/subscriptions/s/resourceGroups/MC/providers/x", true},
		{"Microsoft.Compute/disks/write", "/subscriptions/s/resourceGroups/MC2", false},
		{"Microsoft.Compute/disks/delete", "/subscriptions/s/resourceGroups/MC", false},
		{"Microsoft.Compute/skus/read", "/subscriptions/s", true},
		{"Microsoft.Secret/things/read", "/subscriptions/s", false},
	} {
		if got := granted(grants, c.action, c.scope); got != c.want {
			t.Errorf("%s at %s: %v", c.action, c.scope, got)
		}
	}
}

// TestColoursSayNothingOfTheirOwn prints findings of every level with and without colours: the words
// are the same, and what stops is orange and bold.
func TestColoursSayNothingOfTheirOwn(t *testing.T) {
	all := []Finding{{"a", OK, "fine", ""}, {"b", Note, "look", "at this"},
		{"c", Stop, "broken", "mend it"}, {"d", Unknown, "dark", ""}}
	coloured := Text(all, true)
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured, "")
	if plain != Text(all, false) {
		t.Errorf("without its colours the text is\n%s", plain)
	}
	for _, want := range []string{"\x1b[38;5;75mok\x1b[0m      a ", "\x1b[38;5;214mnote\x1b[0m ",
		"\x1b[1;38;5;214mstop\x1b[0m ", "\x1b[38;5;214munknown\x1b[0m "} {
		if !strings.Contains(coloured, want) {
			t.Errorf("there is no %q in %q", want, coloured)
		}
	}
}
