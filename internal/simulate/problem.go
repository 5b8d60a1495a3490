package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/spell"
	"github.com/karpenter-aks/karpenter/model"
)

// maxProblems bounds how many problems are told at once; the rest is counted. More than a screen nobody reads.
const maxProblems = 40

// Problem is one thing that is wrong with the input.
type Problem struct {
	File string
	Line int // from 1; 0 = the file as a whole, or no file at all
	// What is wrong, and what to Do about it.
	What, Do string
}

// String prints "file:12: what is wrong; what to do".
func (p Problem) String() string {
	s := oneLine(p.What)
	if p.Do != "" {
		s += "; " + oneLine(p.Do)
	}
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, s)
	case p.File != "":
		return p.File + ": " + s
	}
	return s
}

// longest bounds what of a file is shown in one problem.
const longest = 400

// oneLine shows what a terminal would not take for a letter, and cuts what nobody would read.
func oneLine(s string) string {
	for i := range s {
		if i > longest {
			return printable(strings.ReplaceAll(s[:i], "\n", `\n`)) + "…"
		}
	}
	return printable(strings.ReplaceAll(s, "\n", `\n`))
}

// printable shows what a terminal would not take for a letter, and keeps the lines: names in a file may hold anything.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// Invalid is the error for input that makes no sense: everything that is wrong with it, in the order of the input.
type Invalid struct{ Problems []Problem }

// Error prints one problem per line.
func (e *Invalid) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the input cannot be used, %s:", model.Count(len(e.Problems), "problem"))
	for i, p := range e.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Problems)-i)
			break
		}
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// nearest returns the word that looks most like the given one, or "" when none looks alike.
func nearest(word string, list []string) string {
	best, changes := spell.Nearest(word, slices.Sorted(slices.Values(list)))
	if changes > max(2, len(word)/3) {
		return ""
	}
	return best
}

// byPlace orders problems of one file by line; files keep their order.
func byPlace(list []Problem, files []File) {
	order := map[string]int{}
	for i, f := range files {
		order[f.Name] = i + 1
	}
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line))
	})
}
