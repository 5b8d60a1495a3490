// Command bench-compare answers: how fast and how cheap are we beside upstream, on this machine, today?
//
// It runs both engines on the same inputs and prints Markdown tables. With -into it also puts them into a document
// between two marks, so that what the document says is what the command printed. It takes many minutes, nearly all of
// them upstream's; -most leaves large inputs out, and -rows keeps some. Last it plays landings in the lab: how many of the pods that a plan was made for
// the real kube-scheduler binds to what was bought for them.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/compat/sidebyside"
)

// The marks between which the tables stand.
const (
	begin = "<!-- begin: written by make bench-compare -->"
	end   = "<!-- end -->"
)

func main() {
	into := flag.String("into", "", "also write the tables into this document, between its marks")
	most := flag.Int("most", 0, "leave out inputs of more pods than this; 0 leaves none out")
	rows := flag.String("rows", "", "keep only inputs with names that this regular expression finds")
	land := flag.Int("landings", 3, "how often a landing is played in the lab, with nominations and without; 0 leaves them out, as -rows does")
	flag.Parse()
	if *rows != "" {
		*land = 0
	}
	if err := run(context.Background(), *into, *rows, *most, *land); err != nil {
		fmt.Fprintf(os.Stderr, "bench-compare: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, into, rows string, most, land int) error {
	choice := sidebyside.Choice{Most: most}
	if rows != "" {
		var err error
		if choice.Rows, err = regexp.Compile(rows); err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
	}
	var doc []byte
	if into != "" {
		var err error
		if doc, err = os.ReadFile(into); err != nil {
			return err
		}
		if _, _, _, err := split(string(doc)); err != nil {
			return fmt.Errorf("%s: %w", into, err)
		}
	}
	azure, err := bench.Azure(ctx)
	if err != nil {
		return err
	}
	var tables bytes.Buffer
	w := io.MultiWriter(os.Stdout, &tables)
	fmt.Fprintf(w, "Measured on %s. Times are processor time.", sidebyside.Machine())
	if most > 0 {
		fmt.Fprintf(w, " Inputs of more than %d pods were left out (-most %d).", most, most)
	}
	if rows != "" {
		fmt.Fprintf(w, " Only some inputs were run (-rows %q).", rows)
	}
	fmt.Fprint(w, "\n\n")
	if err := sidebyside.WriteSpeed(w, sidebyside.SpeedInputs(choice)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := sidebyside.WriteAlone(w, choice); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := sidebyside.WriteCost(w, sidebyside.CostInputs(azure, choice)); err != nil {
		return err
	}
	if land > 0 {
		fmt.Fprintln(w)
		if err := writeLanding(ctx, w, land); err != nil {
			return err
		}
	}
	if into == "" {
		return nil
	}
	before, _, after, err := split(string(doc))
	if err != nil {
		return err
	}
	return os.WriteFile(into, []byte(before+begin+"\n"+tables.String()+end+after), 0o644)
}

// split cuts a document at its marks.
func split(doc string) (before, tables, after string, err error) {
	before, rest, ok := strings.Cut(doc, begin)
	tables, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("no %q and %q in it", begin, end)
	}
	return before, tables, after, nil
}
