package simulate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/spell"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// answerLine ends the world of a scenario; below it stands the answer that is expected.
const answerLine = "----"

// nouns are the words that a line of a world may begin with.
func nouns() []string {
	return []string{"class", "type", "pool", "node", "claim", "pod", "daemon", "pdb", "namespace", evidence.Noun}
}

// textWorld is what is kept of scenarios beside the objects in the mirror.
type textWorld struct {
	catalogs map[model.ClassRef]model.Catalog
	ofPools  map[string]model.Catalog // by pool: what that one is sold instead of what its class is
	budgets  map[string]model.PDB     // by key
	refused  *place.Plan              // what a controller planned and refused; nil = nothing
	// at is where an object was written, by kind and key.
	at map[string]origin
}

type origin struct {
	file string
	line int
}

func newTextWorld() textWorld {
	return textWorld{at: map[string]origin{}, budgets: map[string]model.PDB{}, catalogs: map[model.ClassRef]model.Catalog{}, ofPools: map[string]model.Catalog{}}
}

// readText reads a world in the notation of worldtext, or a scenario: comment, command, world, "----", answer.
func (in *input) readText(f File) {
	if len(f.Text) > longestText {
		in.bad(Problem{File: f.Name, What: fmt.Sprintf("a scenario of more than %d MiB", longestText>>20), Do: "is it the right file? A dump's name ends in .yaml or .json"})
		return
	}
	lines := strings.Split(string(f.Text), "\n")
	scenario := false
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == answerLine }); i >= 0 {
		lines, scenario = lines[:i], true
	}
	if at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" }); at >= 0 {
		if kubectlTable.MatchString(lines[at]) {
			in.bad(Problem{f.Name, at + 1, "this is a table for people", "dump with kubectl get … -o yaml"})
			return
		}
	}
	first := true
	for i, line := range lines {
		if in.full() {
			return
		}
		if len(line) > longestLine {
			in.bad(Problem{f.Name, i + 1, fmt.Sprintf("a line of more than %d KiB", longestLine>>10), "is it a scenario? A line is about one thing"})
			continue
		}
		if c := strings.IndexByte(line, '#'); c >= 0 {
			line = line[:c]
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		here := origin{f.Name, i + 1}
		if first && !slices.Contains(nouns(), words[0]) && (scenario || words[0] == "simulate") {
			in.command(words, here)
		} else {
			in.textLine(line, words, here)
		}
		first = false
	}
}

// longestText bounds a scenario: ten times that of 150,000 pods.
const longestText = 256 << 20

// longestLine bounds a line of a scenario. The longest that a controller writes, of a pool with thousands of values, are a tenth of it.
const longestLine = 1 << 20

// kubectlTable is the head of what kubectl prints when nobody asks for a format.
var kubectlTable = regexp.MustCompile(`^(NAMESPACE +)?NAME +[A-Z]`)

// command reads the command of a scenario. One that is not ours only says which decider the scenario was written for.
func (in *input) command(words []string, at origin) {
	if words[0] != "simulate" {
		return
	}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		if !slices.Contains([]string{"location", "pending", "preferences", "min-values"}, k) || v == "" {
			in.bad(Problem{at.file, at.line, fmt.Sprintf("simulate does not know %q", w), "want location=REGION, pending=all|unschedulable, preferences=Respect|Ignore or min-values=Strict|BestEffort"})
			continue
		}
		in.args[k] = v
	}
}

var lineNumber = regexp.MustCompile(`^line \d+: `)

func (in *input) textLine(line string, words []string, at origin) {
	if words[0] == evidence.Noun {
		in.planLine(words, at)
		return
	}
	w, err := worldtext.Parse(line)
	if err != nil {
		what := lineNumber.ReplaceAllString(err.Error(), "")
		in.bad(Problem{at.file, at.line, what, advise(line, words, what)})
		return
	}
	// The class that needs not be written is filled in later.
	w.Classes = slices.DeleteFunc(w.Classes, func(c model.Class) bool { return words[0] != "class" || c.Ref.Name != words[1] })
	in.take(w, at)
}

// planLine takes a line of a plan that a controller refused.
func (in *input) planLine(words []string, at origin) {
	if in.text.refused == nil {
		in.text.refused = &place.Plan{}
	}
	if err := evidence.ReadLine(in.text.refused, words); err != nil {
		in.bad(Problem{at.file, at.line, err.Error(), "only a controller writes plans: take the line away"})
	}
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// advise says what could be meant.
func advise(line string, words []string, what string) string {
	if len(words) < 2 {
		return "a line is a noun, a name and fields, like: pod web cpu=1"
	}
	if strings.HasSuffix(what, "unknown noun") {
		var fitting []string
		for _, n := range nouns() { // the parser is the judge of what the line could be
			if _, err := worldtext.Parse(strings.Replace(line, words[0], n, 1)); err == nil {
				fitting = append(fitting, n)
			}
		}
		if n := nearest(words[0], fitting); n != "" {
			return fmt.Sprintf("did you mean %q?", n)
		}
		return "want one of " + strings.Join(nouns(), ", ") + ", or is this not a scenario?"
	}
	if m := unknownField.FindStringSubmatch(what); m != nil {
		for _, f := range slices.Sorted(slices.Values(fieldWords())) {
			if spell.Distance(m[1], f) > 2 {
				continue
			}
			// The parser is the judge of what a noun may have.
			if _, err := worldtext.Parse(strings.Replace(line, " "+m[1], " "+f, 1)); err == nil {
				return fmt.Sprintf("did you mean %q?", f)
			}
		}
		return "fields are words or key=value without spaces; take it away"
	}
	return "correct the line"
}

// fieldWords are fields that are worth proposing.
func fieldWords() []string {
	return []string{"cpu", "memory", "ephemeral-storage", "pods", "zones", "price", "spot", "sold-out", "family", "class", "weight", "taint",
		"startup-taint", "req", "replicas", "not-ready", "deleting", "expire", "grace", "pool", "type", "zone", "capacity-type", "cordoned",
		"initialized", "provider-id", "created", "node", "is", "ns", "affinity", "tolerate", "needs", "waiting", "gated", "terminal",
		"terminating", "mirror", "daemon", "stateful", "critical", "priority", "allowed", "spread", "near", "apart", "no-label", "revision", "prefer-node", "prefer-near",
		"prefer-apart", "port", "volume"}
}

// take puts what one line said into the picture.
func (in *input) take(w model.World, at origin) {
	keep(in, at, w.Classes)
	keep(in, at, w.Pools)
	keep(in, at, w.Claims)
	keep(in, at, w.Nodes)
	keep(in, at, w.Pods)
	keep(in, at, w.Daemons)
	keep(in, at, w.PDBs)
	keep(in, at, w.Namespaces)
	for _, b := range w.PDBs {
		in.text.budgets[b.ObjectKey()] = b
	}
	for _, ref := range slices.SortedFunc(maps.Keys(w.Catalogs), compareRefs) {
		takeTypes(in, in.text.catalogs, ref, w.Catalogs[ref], at)
	}
	for _, pool := range slices.Sorted(maps.Keys(w.PoolCatalogs)) {
		takeTypes(in, in.text.ofPools, pool, w.PoolCatalogs[pool], at)
	}
}

// keep tells objects, and refuses the second of a name in one file.
func keep[T model.Object](in *input, at origin, list []T) {
	for _, o := range list {
		for _, wrong := range nonsense(o) {
			in.bad(Problem{at.file, at.line, wrong, "correct the line"})
		}
		key := fmt.Sprintf("%T %s", o, o.ObjectKey())
		if before, had := in.text.at[key]; had && before.file == at.file {
			in.bad(Problem{at.file, at.line, fmt.Sprintf("%s is written in line %d already", strings.ToLower(strings.TrimPrefix(key, "model.")), before.line), "give it another name"})
		}
		in.text.at[key] = at
		in.tell(o)
	}
}

// takeTypes adds types to the catalogue of a class or of a pool.
func takeTypes[K comparable](in *input, into map[K]model.Catalog, whose K, c model.Catalog, at origin) {
	have := into[whose]
	have.Class, have.Epoch = c.Class, 1
	for _, n := range c.Types {
		if len(n.Offerings) == 0 {
			in.bad(Problem{at.file, at.line, fmt.Sprintf("type %s has no price, so nobody sells it", n.Name), "add price=0.10 or spot=0.02"})
		}
		key := fmt.Sprintf("type %v/%s", whose, n.Name)
		if before, had := in.text.at[key]; had && before.file == at.file {
			in.bad(Problem{at.file, at.line, fmt.Sprintf("type %s is written in line %d already", n.Name, before.line), "give it another name"})
		}
		in.text.at[key] = at
		have.Types = slices.DeleteFunc(have.Types, func(x model.InstanceType) bool { return x.Name == n.Name })
		have.Types = append(have.Types, n)
	}
	slices.SortFunc(have.Types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	into[whose] = have
}

func compareRefs(a, b model.ClassRef) int {
	return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Name, b.Group+"/"+b.Kind+"/"+b.Name)
}
