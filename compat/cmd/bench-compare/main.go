// Command bench-compare answers: how fast and how cheap are we beside upstream, on this machine, today?
//
// It runs both engines on the same inputs and prints Markdown tables. With -into it also puts them into a document
// between two marks, so that what the document says is what the command printed. It takes several minutes, nearly all of
// them upstream's; -most leaves large inputs out.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
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
	flag.Parse()
	if err := run(context.Background(), *into, *most); err != nil {
		fmt.Fprintf(os.Stderr, "bench-compare: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, into string, most int) error {
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
	fmt.Fprint(w, "\n\n")
	if err := sidebyside.WriteSpeed(w, sidebyside.SpeedInputs(most)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := sidebyside.WriteCost(w, sidebyside.CostInputs(azure, most)); err != nil {
		return err
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
