package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// File is one input.
type File struct {
	Name string // shown in problems
	Text []byte
}

// format is how a file is written.
type format int

const (
	asText format = iota // worldtext
	asYAML
	asJSON
)

// input is everything that the files say.
type input struct {
	files    []File
	problems []Problem
	doubts   []Problem // what could be a mistake; told beside problems, else as notes
	notes    []string
	args     map[string]string // of a scenario's command

	mirror  *mirror         // objects of the API
	reader  *apikube.Reader // tells mirror
	objects int             // of the API, that were looked at
	ignored map[string]int  // kinds that no decider looks at, and how many of each

	text textWorld // objects of scenarios; they win over those of the API
}

// read reads all files into one world: an object in a later file takes the place of the same object in an earlier one.
func read(files []File) (*input, error) {
	in := &input{files: files, mirror: &mirror{World: world.New()}, ignored: map[string]int{}, args: map[string]string{}, text: newTextWorld()}
	var err error
	if in.reader, err = apikube.NewReader(in.mirror); err != nil {
		return nil, err
	}
	in.mirror.Begin()
	for _, f := range files {
		if len(strings.TrimSpace(string(f.Text))) == 0 {
			in.bad(Problem{File: f.Name, What: "there is nothing in it", Do: "did the command that wrote it fail?"})
			continue
		}
		switch formatOf(f) {
		case asText:
			in.readText(f)
		case asYAML:
			in.readYAML(f)
		case asJSON:
			in.readJSON(f)
		}
	}
	in.mirror.Synced()
	if len(in.problems) > 0 {
		in.problems = append(in.problems, in.doubts...)
	}
	for _, d := range in.doubts {
		in.note(d.String())
	}
	byPlace(in.problems, files)
	if len(in.ignored) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(in.ignored)) {
			parts = append(parts, fmt.Sprintf("%s %d", k, in.ignored[k]))
		}
		in.note("objects that no decider looks at: " + strings.Join(parts, ", "))
	}
	return in, nil
}

func (in *input) bad(p Problem)    { in.problems = append(in.problems, p) }
func (in *input) note(text string) { in.notes = append(in.notes, text) }

var yamlStart = regexp.MustCompile(`^(---|%YAML|- |["']?[A-Za-z][\w.-]*["']?:(\s|$))`)

// formatOf looks at the name, and when that says nothing at the first line that is no comment.
func formatOf(f File) format {
	switch {
	case strings.HasSuffix(f.Name, ".yaml"), strings.HasSuffix(f.Name, ".yml"):
		return asYAML
	case strings.HasSuffix(f.Name, ".json"):
		return asJSON
	case strings.HasSuffix(f.Name, ".txt"):
		return asText
	}
	for line := range strings.Lines(string(f.Text)) {
		line = strings.TrimRight(line, "\r\n")
		switch s := strings.TrimSpace(line); {
		case s == "" || s[0] == '#':
		case s[0] == '{' || s[0] == '[':
			return asJSON
		case yamlStart.MatchString(line):
			return asYAML
		default:
			return asText
		}
	}
	return asText
}

// world is the picture: what the files' API objects say, and above it what the scenarios say.
func (in *input) world() model.World {
	w := in.mirror.Snapshot()
	t := in.text.world
	w.Pools = over(w.Pools, t.Pools)
	w.Classes = over(w.Classes, t.Classes)
	w.Claims = over(w.Claims, t.Claims)
	w.Nodes = over(w.Nodes, t.Nodes)
	w.Pods = over(w.Pods, t.Pods)
	w.Daemons = over(w.Daemons, t.Daemons)
	w.PDBs = over(w.PDBs, t.PDBs)
	w.Namespaces = over(w.Namespaces, t.Namespaces)
	w.Attachments = over(w.Attachments, t.Attachments)
	w.Catalogs = maps.Clone(t.Catalogs)
	return w
}

// over returns base with the objects of top in it, each in the place of its namesake, sorted.
func over[T model.Object](base, top []T) []T {
	mine := map[string]bool{}
	for _, o := range top {
		mine[o.ObjectKey()] = true
	}
	out := slices.DeleteFunc(slices.Clone(base), func(o T) bool { return mine[o.ObjectKey()] })
	out = append(out, top...)
	slices.SortStableFunc(out, func(a, b T) int { return compareKeys(a.ObjectKey(), b.ObjectKey()) })
	return out
}

// compareKeys orders keys part by part, so that a pod "a/b" comes before "a-c/d", as sorting by namespace first asks.
func compareKeys(a, b string) int {
	nsA, nameA, okA := strings.Cut(a, "/")
	nsB, nameB, okB := strings.Cut(b, "/")
	if okA && okB {
		return cmp.Or(cmp.Compare(nsA, nsB), cmp.Compare(nameA, nameB))
	}
	return cmp.Compare(a, b)
}
