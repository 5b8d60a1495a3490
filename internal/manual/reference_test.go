package manual

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/config"
)

var rewrite = flag.Bool("rewrite", false, "write docs/reference anew")

//go:generate go test . -run TestTheReferenceIsCurrent -rewrite

// root is where the repository begins.
var root = filepath.Join("..", "..")

// Each page of the reference is what the code says.
func TestTheReferenceIsCurrent(t *testing.T) {
	for name, page := range map[string]func(*testing.T) string{
		"flags.md": flags, "fields.md": fields, "reasons.md": reasons, "labels.md": labels,
	} {
		path := filepath.Join(root, "docs", "reference", name)
		want := page(t)
		if *rewrite {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/reference/%s is not what the code says: make generate", name)
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// written stands first on a page, below its title.
const written = "This page is written from the code by `make generate`.\n"

const flagsHead = `# Flags

` + written + `
Each option of ` + "`karpenter controller`" + ` can be said in three ways: as a flag, as an
environment variable, or as a value of the chart, which sets the variable. A flag wins over the
environment, which wins over the default. An option without a value of the chart is set in
` + "`controller.env`" + `. What is wrong is listed all at once, and the controller does not start.
`

// flags writes what the controller can be told.
func flags(t *testing.T) string {
	var b strings.Builder
	b.WriteString(flagsHead)
	chart, group := chartValues(t), ""
	for _, o := range config.Options() {
		if o.Group != group {
			group = o.Group
			b.WriteString("\n## " + group + "\n\n" +
				"| flag | environment | value of the chart | default | meaning |\n" +
				"|---|---|---|---|---|\n")
		}
		flag, def, usage := "", o.Default, o.Usage
		if o.Flag != "" {
			flag = code("--" + o.Flag)
		}
		var values, env []string
		for _, e := range o.Env {
			env = append(env, code(e))
			for _, v := range chart[e] {
				values = append(values, code(v))
			}
		}
		switch {
		case o.Required:
			def = "required"
		case def != "":
			def = code(def)
		}
		if o.Unused != "" {
			usage += ". Without effect: " + o.Unused
		}
		row(&b, flag, strings.Join(env, " "), strings.Join(values, " "), def, usage)
	}
	features(&b)
	return b.String()
}

func features(b *strings.Builder) {
	b.WriteString("\n## Feature gates\n\nNames of `--feature-gates`. In the chart they are " +
		"values of `settings.featureGates`, with a small first letter.\n\n" +
		"| feature | default | |\n|---|---|---|\n")
	defaults, acts := config.Features()
	var names []string
	for name := range defaults {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		note := ""
		if !acts[name] {
			note = "accepted, without effect"
		}
		row(b, code(name), fmt.Sprint(defaults[name]), note)
	}
}

func code(s string) string { return "`" + s + "`" }

func row(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}
