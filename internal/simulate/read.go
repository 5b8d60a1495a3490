package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/internal/blocks"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/spell"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// File is one input.
type File struct {
	Name string // shown in problems
	Text []byte
	// Done, unless nil, is told once when the file was read. The text must still be readable then.
	Done func()
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

	objectsRead int  // of whatever kind
	over        bool // no more is read

	unknown  oddities          // fields that we do not know, of objects that a machine may have written
	refusals oddities          // what an API server would refuse, of objects that one has taken
	args     map[string]string // of a scenario's command

	mirror  *mirror          // objects of the API
	reader  *apikube.Reader  // tells mirror
	blocks  []*blocks.Reader // one for each that reads ahead
	located located          // where a line was looked for last
	server  admit.Server     // judges custom resources
	objects int              // of the API, that were looked at
	kinds   map[string]int   // how many of each kind
	ignored map[string]int   // kinds that no decider looks at, and how many of each
	written map[string]bool  // objects of the API, by file, kind and name
	again   map[string]int   // by file: objects that it has more than once

	priorities priorityClasses
	workloads  []workload      // that were never in a cluster
	claims     map[string]bool // volume claims that the files have, by key
	bound      bool            // some of them name their volume
	made       int             // volume claims that no file has: those of workloads' pods
	// defaultClass is the storage class of claims that name none.
	defaultClass string

	heard time.Time // when a node last said that it lives

	text textWorld // what scenarios say that the mirror cannot hold, and where they say what
}

// read reads all files into one world: an object in a later file takes the place of the same object in an earlier one.
func read(files []File) (_ *input, err error) {
	defer cut(debug.SetPanicOnFault(true), &err)
	defer func() {
		for _, f := range files {
			if f.Done != nil {
				f.Done()
			}
		}
	}()
	in := &input{files: files, mirror: &mirror{World: world.New()}, ignored: map[string]int{}, written: map[string]bool{}, again: map[string]int{}, kinds: map[string]int{}, args: map[string]string{}, text: newTextWorld(), claims: map[string]bool{}, priorities: newPriorityClasses()}
	if in.reader, err = apikube.NewReader(in.mirror); err != nil {
		return nil, err
	}
	in.mirror.Begin()
	for _, f := range files {
		var wrong Problem
		if f.Text, wrong = plainText(f); wrong.What != "" {
			in.bad(wrong)
			continue
		}
		if line, at := firstLine(f.Text); failure.MatchString(line) {
			in.bad(Problem{f.Name, at, "kubectl failed: " + line, "dump again"})
			continue
		}
		if in.full() {
			break
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
	in.rollOut()
	in.mirror.Synced()
	if len(in.problems) > 0 {
		in.problems = append(in.problems, in.doubts...)
	}
	for _, d := range in.doubts {
		in.note(d.String())
	}
	in.notes = append(in.notes, in.unknown.notes(files, "that this program does not know")...)
	in.notes = append(in.notes, in.refusals.notes(files, "that the API server of this version would refuse")...)
	for _, f := range files {
		if n := in.again[f.Name]; n > 0 {
			in.note(fmt.Sprintf("%s has %s more than once: what stands last counts", f.Name, model.Count(n, "object")))
		}
	}
	byPlace(in.problems, files)
	if len(in.ignored) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(in.ignored)) {
			part := fmt.Sprintf("%s %d", k, in.ignored[k])
			for _, meant := range kindWords() {
				if spell.Distance(k, meant) == 1 { // no two kinds that there are differ in so little
					part += fmt.Sprintf(" (did you mean %s?)", meant)
				}
			}
			parts = append(parts, part)
		}
		in.note("objects that no decider looks at: " + strings.Join(parts, ", "))
	}
	return in, nil
}

// cut turns the fault of a file that became shorter while it was read into an error. Only this
// goroutine reads the text of files. before is how faults were met before.
func cut(before bool, err *error) {
	debug.SetPanicOnFault(before)
	v := recover()
	if v == nil {
		return
	}
	if fault, ok := v.(interface{ Addr() uintptr }); ok && fault.Addr() != 0 {
		*err = errors.New("a file became shorter while it was read: is it still being written?")
		return
	}
	panic(v)
}

// firstLine returns the first line with something on it, and its number.
func firstLine(text []byte) (string, int) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if s := bytes.TrimSpace(line); len(s) > 0 {
			return string(s), n
		}
	}
	return "", 0
}

func (in *input) bad(p Problem)    { in.problems = append(in.problems, p) }
func (in *input) note(text string) { in.notes = append(in.notes, text) }

var yamlStart = regexp.MustCompile(`^(---|%YAML|- |["']?[A-Za-z][\w.-]*["']?:(\s|$))`)

// jsonStart is how kubectl begins what it prints as JSON.
var jsonStart = regexp.MustCompile(`^\s*\{\s*"apiVersion"\s*:`)

// formatOf looks at the name, and when that says nothing at the first line that is no comment.
func formatOf(f File) format {
	switch {
	case strings.HasSuffix(f.Name, ".yaml"), strings.HasSuffix(f.Name, ".yml"):
		if jsonStart.Match(f.Text) {
			return asJSON // which is YAML, too, but its lists can be taken apart
		}
		return asYAML
	case strings.HasSuffix(f.Name, ".json"):
		return asJSON
	case strings.HasSuffix(f.Name, ".txt"):
		return asText
	}
	for raw := range bytes.Lines(f.Text) {
		line := strings.TrimRight(string(raw), "\r\n")
		switch s := strings.TrimSpace(line); {
		case s == "" || s[0] == '#' || sayings.MatchString(line):
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

// kindWords are kinds that are worth proposing.
func kindWords() []string {
	return []string{"Pod", "Node", "NodePool", "NodeClaim", "AKSNodeClass", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob", "PodDisruptionBudget", "Namespace",
		"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "NodeOverlay", "CapacityBuffer"}
}

// tell puts an object into the picture, over its namesake.
func (in *input) tell(o model.Object) { in.mirror.World.Apply(model.Change{Object: o}) }

// world is the picture as the controller's mirror gives it. Budgets of scenarios name their pods themselves.
func (in *input) world() model.World {
	w := in.mirror.Snapshot().Flat()
	w.PDBs = slices.Clone(w.PDBs)
	for i, b := range w.PDBs {
		if own, ok := in.text.budgets[b.ObjectKey()]; ok && !b.HasSel {
			w.PDBs[i].Pods = own.Pods
		}
	}
	if len(in.text.ofPools) > 0 {
		w.PoolCatalogs = maps.Clone(w.PoolCatalogs)
		if w.PoolCatalogs == nil {
			w.PoolCatalogs = map[string]model.Catalog{}
		}
		maps.Copy(w.PoolCatalogs, in.text.ofPools)
	}
	return w
}
