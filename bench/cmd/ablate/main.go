// Command ablate answers: what does each mechanism of the engine earn, and where?
//
// It plans for worlds of several kinds, once with everything and once without each mechanism, and prints a table: who
// is left without a place, what the plans cost, and how long they took. With -into it also puts the table into a
// document between two marks. It runs for some minutes; -few looks at a part of the worlds, -only at some mechanisms.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/karpenter-aks/karpenter/internal/place"
)

func main() {
	into := flag.String("into", "", "also write the table into this document, between its marks")
	only := flag.String("only", "", "leave out only mechanisms with names that this regular expression finds")
	few := flag.Int("few", 1, "look at one of so many worlds")
	landings := flag.Bool("landings", true, "play the landings, too")
	flag.Parse()
	if err := run(context.Background(), *into, *only, *few, *landings); err != nil {
		fmt.Fprintf(os.Stderr, "ablate: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, into, only string, few int, landings bool) error {
	which, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var doc []byte
	if into != "" {
		if doc, err = os.ReadFile(into); err != nil {
			return err
		}
		if _, _, err := split(doc); err != nil {
			return fmt.Errorf("%s: %w", into, err)
		}
	}
	groups, err := groups(ctx, max(1, few))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := io.MultiWriter(os.Stdout, &out)
	heading(w, groups, landings)
	var all []result
	for i := range groups {
		all = append(all, groups[i].plan(nil))
	}
	if err := line(ctx, w, "nothing", groups, all, nil, landings); err != nil {
		return err
	}
	for _, m := range place.Mechanisms() {
		if !which.MatchString(string(m)) {
			continue
		}
		if err := line(ctx, w, string(m), groups, all, []place.Mechanism{m}, landings); err != nil {
			return err
		}
	}
	if into == "" {
		return nil
	}
	before, after, err := split(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(into, bytes.Join([][]byte{before, out.Bytes(), after}, nil), 0o644)
}

// split cuts a document into what stands before the table, its mark included, and what comes from the second mark on.
func split(doc []byte) (before, after []byte, err error) {
	const begin, end = "<!-- begin: written by make ablate -->\n", "<!-- end -->"
	from := bytes.Index(doc, []byte(begin))
	if from < 0 {
		return nil, nil, fmt.Errorf("there is no line %q", begin[:len(begin)-1])
	}
	from += len(begin)
	to := bytes.Index(doc[from:], []byte(end))
	if to < 0 {
		return nil, nil, fmt.Errorf("there is no line %q behind the first mark", end)
	}
	return doc[:from], doc[from+to:], nil
}
