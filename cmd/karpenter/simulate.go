package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/model"
)

// maxInput bounds one file, so that a wrong name (a disk, a log) ends in words and not in a full memory. A dump of 150,000
// pods as YAML is about a quarter of it.
const maxInput = 4 << 30

// collectAt is by how many percent the heap may grow before it is collected.
const collectAt = 50

// simulateFlags are the flags that say what the world is.
type simulateFlags struct {
	location, catalog, pending string
	preferences, minValues     string
	networkPlugin, networkMode string
	memoryOverhead             float64
	without                    []string
	at                         string
	accept                     int
	// whatIf are variations, or files on top.
	whatIf []string
	// progress tells what takes long; nil tells nothing.
	progress *progress
	// live is the cluster to ask when no file is named.
	live liveFlags
}

func (f *simulateFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.location, "location", "", "take sizes and prices of this Azure region from the built-in table (default: the region of the nodes)")
	fl.StringVar(&f.catalog, "catalog", "", "take sizes and prices from a file of type lines")
	fl.StringVar(&f.pending, "pending", "", "which pods without a node wait for one: all, or unschedulable (those that kube-scheduler has tried) (default all)")
	fl.StringVar(&f.preferences, "preference-policy", "", "what pods' wishes are worth: Respect or Ignore (default Respect)")
	fl.StringVar(&f.minValues, "min-values-policy", "", "whether minValues of pools are a must: Strict or BestEffort (default Strict)")
	fl.StringVar(&f.at, "at", "", "the moment to look at, such as 2026-05-01T12:00:00Z (default: now for a cluster, the newest time in a dump)")
	f.live.register(cmd)
	fl.StringArrayVar(&f.without, "without", nil, "do without this node: what if it left? May be given more than once")
	fl.StringVar(&f.networkPlugin, "network-plugin", "azure", "the cluster's network plugin: azure or none; it decides how many pods a machine takes")
	fl.StringVar(&f.networkMode, "network-plugin-mode", "overlay", "overlay, or empty for addresses of the subnet")
	fl.Float64Var(&f.memoryOverhead, "vm-memory-overhead-percent", 0.075, "share of a machine's memory that the hypervisor keeps")
}

// answer reads the world and decides; then again for each variation.
func (f *simulateFlags) answer(ctx context.Context, stdin io.Reader, names []string) (simulate.Answer, error) {
	f.progress.say("reading what is there")
	o, err := f.options(ctx, stdin, names)
	if err != nil {
		return simulate.Answer{}, err
	}
	q, err := f.read(ctx, o)
	if err != nil {
		return simulate.Answer{}, err
	}
	f.progress.say("reading what could be")
	var others []simulate.Question // before anything is decided: mistakes are told at once
	var errs []error
	for _, what := range f.whatIf {
		other, err := f.vary(ctx, stdin, o, q, what)
		others, errs = append(others, other), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return simulate.Answer{}, err
	}
	f.progress.say("planning beside %d nodes", len(q.World.Nodes))
	a, err := simulate.Decide(q)
	if err != nil {
		return a, err
	}
	for i, other := range others {
		f.progress.say("planning as if %s", f.whatIf[i])
		b, err := simulate.Decide(other)
		if err != nil {
			return a, fmt.Errorf("--what-if %s: %w", f.whatIf[i], err)
		}
		a.WhatIf = append(a.WhatIf, b.InShort(f.whatIf[i]))
	}
	return a, nil
}

// vary is the question with one thing otherwise: what a file says on top, or a variation.
func (f *simulateFlags) vary(ctx context.Context, stdin io.Reader, o simulate.Options, q simulate.Question, what string) (simulate.Question, error) {
	if _, err := os.Stat(what); err == nil {
		file, err := readInput(stdin, what, maxInput)
		if err != nil {
			return simulate.Question{}, fmt.Errorf("--what-if: %w", err)
		}
		o.Files = append(slices.Clone(o.Files), file)
		return f.read(ctx, o)
	}
	other, err := q.Vary(what)
	if err != nil {
		return other, fmt.Errorf("--what-if %w", err)
	}
	return other, nil
}

// options reads the files, or the cluster where there are none.
func (f *simulateFlags) options(ctx context.Context, stdin io.Reader, names []string) (simulate.Options, error) {
	if os.Getenv("GOGC") == "" {
		// Of a large dump a third of the memory would be room to grow. A tenth more processor time.
		debug.SetGCPercent(collectAt)
	}
	o := simulate.Options{Location: f.location, Pending: simulate.Pending(f.pending), Preferences: place.Preferences(f.preferences),
		MinValues: place.MinValues(f.minValues), Without: f.without, Accept: f.accept}
	var errs []error
	if f.at != "" {
		at, err := time.Parse(time.RFC3339, f.at)
		if err != nil {
			errs = append(errs, fmt.Errorf("--at: %q is not a time such as 2026-05-01T12:00:00Z", f.at))
		}
		o.Now = at
	}
	if len(names) == 0 || f.live.also {
		file, notes, err := f.live.dump(ctx)
		if err != nil {
			return simulate.Options{}, err
		}
		o.Files, o.Notes = append(o.Files, file), notes
		if o.Now.IsZero() {
			o.Now = time.Now()
		}
		if f.pending == "" { // kube-scheduler is at work there
			o.Pending = simulate.PendingUnschedulable
		}
	}
	for _, name := range names {
		file, err := readInput(stdin, name, maxInput)
		errs = append(errs, err)
		o.Files = append(o.Files, file)
	}
	if f.catalog != "" {
		file, err := readInput(stdin, f.catalog, maxInput)
		errs = append(errs, err)
		o.Catalog = file
	}
	return o, errors.Join(errs...)
}

// read fills in what can be bought where the files do not say it.
func (f *simulateFlags) read(ctx context.Context, o simulate.Options) (simulate.Question, error) {
	var err error
	if o.Locations, err = offlineRegions(); err != nil {
		return simulate.Question{}, err
	}
	var azure *offlineAzure // made when it is needed; a run has one site
	defer func() {
		if azure != nil {
			azure.Close()
		}
	}()
	o.Offerings = func(ctx context.Context, site simulate.Site, class model.Class) (model.Catalog, error) {
		if azure == nil {
			made, err := f.offline(site)
			if err != nil {
				return model.Catalog{}, err
			}
			azure = made
		}
		return azure.Offerings(ctx, class)
	}
	return simulate.Read(ctx, o)
}

// offline is the Azure of a site, with the network that the flags say.
func (f *simulateFlags) offline(site simulate.Site) (*offlineAzure, error) {
	return newOffline(offlineSite{site.Location, site.Cluster, f.networkPlugin, f.networkMode, f.memoryOverhead})
}

// readInput reads a file, or standard input for "-", of at most so many bytes.
func readInput(stdin io.Reader, name string, most int64) (simulate.File, error) {
	from := stdin
	shown := name
	size := int64(0)
	if name == "-" {
		shown = "stdin"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return simulate.File{}, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return simulate.File{}, fmt.Errorf("%s is a directory: name the files in it, like %s", name, filepath.Join(name, "*.yaml"))
		} else if err == nil {
			size = info.Size()
			if info.Mode().IsRegular() && size >= mappedFrom && size <= most {
				if text, done, err := mapped(f, int(size)); err == nil {
					return simulate.File{Name: shown, Text: text, Done: done}, nil
				}
			}
		}
		from = f
	}
	buf := bytes.NewBuffer(make([]byte, 0, min(size, most)+bytes.MinRead)) // a large dump is not copied while it is read
	_, err := buf.ReadFrom(io.LimitReader(from, most+1))
	text := buf.Bytes()
	switch {
	case err != nil && name != "-":
		return simulate.File{}, err // it names the file
	case err != nil:
		return simulate.File{}, fmt.Errorf("read %s: %w", shown, err)
	case int64(len(text)) > most:
		return simulate.File{}, fmt.Errorf("read %s: it is larger than %d MiB, which is the most that is read: is it the right file?", shown, most>>20)
	}
	return simulate.File{Name: shown, Text: text}, nil
}

func simulateCommand() *cobra.Command {
	var f simulateFlags
	var face answerFace
	var fail bool
	cmd := &cobra.Command{
		Use:   "simulate [FILE...]",
		Short: "Say what would be bought for the pods of a cluster, a dump or a scenario, and why not",
		Long: `Say what would be bought for the pods of a cluster, a dump or a scenario, for how much, and why pods would be left over.
Nothing is bought, and Azure is not asked. Without a FILE the cluster is asked that kubectl would ask; that takes the right to
read, and changes nothing. With --live FILEs come on top of what the cluster has.

A FILE is a dump (YAML or JSON) or a scenario (lines like "pod web x3 cpu=1"); "-" is standard input. Several files
make one world; an object in a later file takes the place of its namesake in an earlier one.`,
		Example: `  kubectl get nodes,pods,daemonsets,nodepools,nodeclaims,aksnodeclasses,pdb -A -o yaml > dump.yaml
  karpenter simulate dump.yaml
  karpenter simulate                                      # the cluster of the kubeconfig
  karpenter simulate --live another-nodepool.yaml         # what if it had one more pool?
  karpenter simulate dump.yaml another-nodepool.yaml      # the same for a dump
  karpenter simulate dump.yaml --without aks-node-1       # what if that node left?
  karpenter simulate dump.yaml --what-if spot --what-if 'requests*0.7'
  karpenter help scenario                                 # how scenarios are written
  kubectl get nodes,pods,nodepools -A -o json | karpenter simulate - --location westeurope`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := face.check(); err != nil {
				return err
			}
			if f.accept < 0 {
				return fmt.Errorf("--trace-upto: %d is no line of a trace; they begin with 1", f.accept)
			}
			f.progress = newProgress(cmd.ErrOrStderr())
			defer f.progress.end()
			a, err := f.answer(cmd.Context(), cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			f.progress.end() // nothing comes between the lines of a table
			if err := face.write(cmd.OutOrStdout(), a); err != nil {
				return err
			}
			if n := len(a.Plan.Unscheduled); fail && n > 0 {
				return exit{unscheduledExit, fmt.Errorf("%d pods have no place (--fail-on-unscheduled)", n)}
			}
			return nil
		},
	}
	f.register(cmd)
	face.register(cmd)
	cmd.Flags().IntVar(&f.accept, "trace-upto", 0, "show the plan as it was at this line of the trace")
	cmd.Flags().StringArrayVar(&f.whatIf, "what-if", nil, "also say in short what would be if: a file on top, or "+simulate.Variations+". May be given more than once")
	cmd.Flags().BoolVar(&fail, "fail-on-unscheduled", false, fmt.Sprintf("end with exit code %d when a pod is left without a place", unscheduledExit))
	return cmd
}

// answerFace is how an answer is shown.
type answerFace struct {
	output string // "" = table on a terminal, else text
	trace  bool
	colour colourFlag
}

func (f *answerFace) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "table, text, wide (text, and nothing cut short), json or yaml (default: table on a terminal, else text)")
	fl.BoolVar(&f.trace, "trace", false, "also list the decisions on the way to the plan, and what each changed")
	f.colour.register(cmd)
}

func (f *answerFace) check() error {
	if f.output != "" {
		if err := oneOfFlag("output", f.output, "table", "text", "wide", "json", "yaml"); err != nil {
			return err
		}
	}
	if f.trace && (f.output == "json" || f.output == "yaml") {
		return fmt.Errorf("--trace is text: leave it out, or -o %s", f.output)
	}
	return f.colour.check()
}

func (f *answerFace) write(w io.Writer, a simulate.Answer) error {
	screen, shown := screenOf(w)
	output := f.output
	if output == "" && (shown || f.colour.when == "always") {
		output = "table"
	}
	if output == "json" || output == "yaml" {
		text, err := a.JSON()
		if err != nil {
			return err
		}
		return writeText(w, output, text)
	}
	text := a.Text(output == "wide")
	if output == "table" {
		look := simulate.Look{Colour: f.colour.on(shown, os.Getenv)}
		if shown {
			look.Width, _, _ = term.GetSize(int(screen.Fd())) // 0 when it does not say: nothing is cut
		}
		text = a.Table(look)
	}
	if f.trace {
		text += a.Trace()
	}
	return writeText(w, output, []byte(text))
}

// unscheduledExit is the exit code of a simulation that was asked to fail, so that scripts can tell it from one that could not be made.
const unscheduledExit = 3

func oneOfFlag(name, value string, choices ...string) error {
	for _, c := range choices {
		if value == c {
			return nil
		}
	}
	return fmt.Errorf("--%s: there is no %q: want %s", name, value, strings.Join(choices, ", "))
}
