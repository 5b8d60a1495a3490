package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Story is a cluster and what happens to it: one act after another, each at a time since the beginning. Its text form has one act a line:
//
//	seed 7
//	0s pool general capacity=on-demand after=30s budget=1
//	0s app web 6 cpu=700 mem=512 pdb-max=1
//	4m10s scale web 2
//	5m kill move-written
//
// Blank lines, and lines that begin with #, say nothing.
type Story struct {
	// Seed is what the scheduler's order and the machines' delays are drawn from.
	Seed uint64
	Acts []Act
}

// Act is one thing that happens. Its words are positional, or key=value.
type Act struct {
	At    time.Duration
	Verb  string
	Words []string
}

// Text is the story as text. ReadStory reads it back.
func (st Story) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", st.Seed)
	for _, a := range st.Acts {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// String is the act's line.
func (a Act) String() string {
	return strings.Join(append([]string{a.At.String(), a.Verb}, a.Words...), " ")
}

// ReadStory reads a story's text. An act that nobody knows is an error.
func ReadStory(text string) (Story, error) {
	var st Story
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 2 {
			return st, fmt.Errorf("line %d: a time and a verb are missing", n)
		}
		if words[0] == "seed" {
			seed, err := strconv.ParseUint(words[1], 10, 64)
			if err != nil {
				return st, fmt.Errorf("line %d: %w", n, err)
			}
			st.Seed = seed
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			return st, fmt.Errorf("line %d: %w", n, err)
		}
		if _, ok := verbs()[words[1]]; !ok {
			return st, fmt.Errorf("line %d: nobody knows how to %q", n, words[1])
		}
		st.Acts = append(st.Acts, Act{At: at, Verb: words[1], Words: slices.Clone(words[2:])})
	}
	slices.SortStableFunc(st.Acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	return st, nil
}

// word returns the i-th word that is not key=value, "" when there is none.
func (a Act) word(i int) string {
	for _, w := range a.Words {
		if strings.Contains(w, "=") {
			continue
		}
		if i == 0 {
			return w
		}
		i--
	}
	return ""
}

// value returns what stands behind key=, "" when nothing does.
func (a Act) value(key string) string {
	for _, w := range a.Words {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

// number is a value or word as a number; what cannot be read is 0, as in a story that was shortened.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// span is a word as a time; what cannot be read is 0.
func span(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}
