// Package scenario answers: does a package still decide what its scenarios say?
//
// A scenario stands in a file of testdata: a comment, a command with arguments, a world, "----" and the answer. The package under test gives
// its commands, each from a question to an answer in text; finding files, reading words and comparing are here, once. Run with -rewrite
// to write answers anew. It is for tests, and knows no package's commands.
package scenario

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Commands are what scenarios may ask, by name.
type Commands map[string]func(q *Question) string

// Question is one command of a scenario, and what stands below it.
type Question struct {
	t    *testing.T
	d    *datadriven.TestData
	path string
	read map[string]bool // arguments that the command knows
}

// Run asks all scenarios below dir. A command or an argument that nobody knows fails: it would say nothing.
func Run(t *testing.T, dir string, commands Commands) {
	t.Helper()
	walk(t, dir, func(q *Question) string {
		answer := commands[q.d.Cmd]
		if answer == nil {
			q.Fatalf("unknown command %q", q.d.Cmd)
		}
		out := answer(q)
		for _, a := range q.d.CmdArgs {
			if !q.read[a.Key] {
				q.Fatalf("%s knows no argument %q", q.d.Cmd, a.Key)
			}
		}
		return out
	})
}

// Each shows all scenarios below dir, whatever they ask, and leaves their answers as they are.
func Each(t *testing.T, dir string, look func(q *Question)) {
	t.Helper()
	walk(t, dir, func(q *Question) string {
		look(q)
		return q.d.Expected
	})
}

// Ask is a question that stands in no file: a line with the command and its arguments, and what stands below it.
func Ask(t *testing.T, line, below string) *Question {
	t.Helper()
	cmd, args, err := datadriven.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	d := &datadriven.TestData{Pos: t.Name(), Cmd: cmd, CmdArgs: args, Input: below}
	return &Question{t: t, d: d, read: map[string]bool{}}
}

func walk(t *testing.T, dir string, answer func(q *Question) string) {
	t.Helper()
	asked := 0
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			asked++
			return answer(&Question{t: t, d: d, path: path, read: map[string]bool{}})
		})
	})
	if asked == 0 {
		t.Errorf("there is no scenario in %s", dir)
	}
}

// Path is the file.
func (q *Question) Path() string { return q.path }

// Command is the command's name; plain, when it has no arguments.
func (q *Question) Command() (name string, plain bool) { return q.d.Cmd, len(q.d.CmdArgs) == 0 }

// Below is what stands below the command.
func (q *Question) Below() string { return q.d.Input }

// Answer is what the scenario says that the answer is.
func (q *Question) Answer() string { return q.d.Expected }

// Fatalf ends the scenario, with its place.
func (q *Question) Fatalf(format string, args ...any) {
	q.t.Helper()
	q.d.Fatalf(q.t, format, args...)
}

// Has reports whether the command has the argument.
func (q *Question) Has(name string) bool {
	q.read[name] = true
	return q.d.HasArg(name)
}

// Arg is the value of an argument; "" when it is not there.
func (q *Question) Arg(name string) string {
	var v string
	if q.Has(name) {
		q.d.ScanArgs(q.t, name, &v)
	}
	return v
}

// IntArg is the value of an argument that is a whole number; 0 when it is not there.
func (q *Question) IntArg(name string) int {
	if !q.Has(name) {
		return 0
	}
	return int(q.Int(q.Arg(name)))
}

// Int reads a whole number.
func (q *Question) Int(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		q.Fatalf("%v", err)
	}
	return n
}

// Duration reads a length of time.
func (q *Question) Duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		q.Fatalf("%v", err)
	}
	return d
}

// World reads what stands below the command as a world, without the lines that are the package's own: those that begin with one of
// these nouns.
func (q *Question) World(own ...string) model.World {
	var text strings.Builder
	for line := range strings.Lines(q.d.Input) {
		if words := strings.Fields(line); len(words) > 0 && slices.Contains(own, words[0]) {
			line = "\n"
		}
		text.WriteString(line)
	}
	w, err := worldtext.Parse(text.String())
	if err != nil {
		q.Fatalf("%v", err)
	}
	return w
}

// Lines are the lines below the command that are not blank, for packages whose worlds have words of their own.
func (q *Question) Lines() []Line {
	var out []Line
	for text := range strings.Lines(q.d.Input) {
		text = strings.TrimSpace(text)
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		l := Line{Noun: words[0], Rest: strings.TrimSpace(strings.TrimPrefix(text, words[0]))}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			l.Words = append(l.Words, Word{k, v})
		}
		if len(words) > 1 {
			l.Name = words[1]
		}
		out = append(out, l)
	}
	return out
}

// Line is "noun name key=value …".
type Line struct {
	Noun, Name string // Name is the first word after the noun, as it is written
	Rest       string // all after the noun
	Words      []Word // all after the noun
}

// Word is key=value, or a key alone.
type Word struct{ Key, Value string }

// More are the words after the name.
func (l Line) More() []Word {
	if len(l.Words) == 0 {
		return nil
	}
	return l.Words[1:]
}

// All are the values of a key, in order.
func (l Line) All(key string) []string {
	var out []string
	for _, w := range l.More() {
		if w.Key == key {
			out = append(out, w.Value)
		}
	}
	return out
}

// Has reports whether the key is there.
func (l Line) Has(key string) bool { return l.All(key) != nil }

// Get is the value of a key, or otherwise.
func (l Line) Get(key, otherwise string) string {
	if all := l.All(key); all != nil {
		return all[0]
	}
	return otherwise
}

// Key reads the name as namespace/name.
func (l Line) Key() model.PodKey { return key(l.Name) }

// Pods reads the value of a key as namespace/name, separated by commas.
func (l Line) Pods(name string) []model.PodKey {
	var out []model.PodKey
	for s := range strings.SplitSeq(l.Get(name, ""), ",") {
		if s != "" {
			out = append(out, key(s))
		}
	}
	return out
}

func key(s string) model.PodKey {
	ns, name, _ := strings.Cut(s, "/")
	return model.PodKey{Namespace: ns, Name: name}
}
