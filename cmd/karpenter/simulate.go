package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/model"
)

// maxInput bounds one file, so that a wrong name (a disk, a log) ends in words and not in a full memory. A dump of 150,000
// pods as YAML is about a quarter of it.
const maxInput = 4 << 30

// simulateFlags are the flags that say what the world is.
type simulateFlags struct {
	location, catalog, pending string
	preferences, minValues     string
	networkPlugin, networkMode string
	memoryOverhead             float64
	without                    []string
	accept                     int
}

func (f *simulateFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.location, "location", "", "take sizes and prices of this Azure region from the built-in table (default: the region of the nodes)")
	fl.StringVar(&f.catalog, "catalog", "", "take sizes and prices from a file of type lines")
	fl.StringVar(&f.pending, "pending", "", "which pods without a node wait for one: all, or unschedulable (those that kube-scheduler has tried) (default all)")
	fl.StringVar(&f.preferences, "preference-policy", "", "what pods' wishes are worth: Respect or Ignore (default Respect)")
	fl.StringVar(&f.minValues, "min-values-policy", "", "whether minValues of pools are a must: Strict or BestEffort (default Strict)")
	fl.StringArrayVar(&f.without, "without", nil, "do without this node: what if it left? May be given more than once")
	fl.StringVar(&f.networkPlugin, "network-plugin", "azure", "the cluster's network plugin: azure or none; it decides how many pods a machine takes")
	fl.StringVar(&f.networkMode, "network-plugin-mode", "overlay", "overlay, or empty for addresses of the subnet")
	fl.Float64Var(&f.memoryOverhead, "vm-memory-overhead-percent", 0.075, "share of a machine's memory that the hypervisor keeps")
}

// answer reads the world and decides.
func (f *simulateFlags) answer(ctx context.Context, stdin io.Reader, names []string) (simulate.Answer, error) {
	o := simulate.Options{Location: f.location, Pending: simulate.Pending(f.pending), Preferences: place.Preferences(f.preferences),
		MinValues: place.MinValues(f.minValues), Without: f.without, Accept: f.accept}
	var errs []error
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
	if err := errors.Join(errs...); err != nil {
		return simulate.Answer{}, err
	}
	q, err := f.read(ctx, o)
	if err != nil {
		return simulate.Answer{}, err
	}
	return simulate.Decide(q)
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
			made, err := newOffline(offlineSite{site.Location, site.Cluster, f.networkPlugin, f.networkMode, f.memoryOverhead})
			if err != nil {
				return model.Catalog{}, err
			}
			azure = made
		}
		return azure.Offerings(ctx, class)
	}
	return simulate.Read(ctx, o)
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
	var output string
	var trace bool
	cmd := &cobra.Command{
		Use:   "simulate FILE...",
		Short: "Say what would be bought for the pods in a dump or a scenario, and why not",
		Long: `Say what would be bought for the pods in a dump or a scenario, for how much, and why pods would be left over.
Nothing is bought, and neither a cluster nor Azure is asked.

A FILE is a dump (YAML or JSON) or a scenario (lines like "pod web x3 cpu=1"); "-" is standard input. Several files
make one world; an object in a later file takes the place of its namesake in an earlier one.`,
		Example: `  kubectl get nodes,pods,daemonsets,nodepools,nodeclaims,aksnodeclasses,pdb -A -o yaml > dump.yaml
  karpenter simulate dump.yaml
  karpenter simulate dump.yaml another-nodepool.yaml      # what if there were one more pool?
  karpenter simulate dump.yaml --without aks-node-1       # what if that node left?
  kubectl get nodes,pods,nodepools -A -o json | karpenter simulate - --location westeurope`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(`no file: name a dump or a scenario, or "-" for standard input (karpenter simulate --help shows how to dump)`)
			}
			if err := oneOfFlag("output", output, "text", "wide", "json"); err != nil {
				return err
			}
			if trace && output == "json" {
				return errors.New("--trace is text: leave it out, or -o json")
			}
			if f.accept < 0 {
				return fmt.Errorf("--trace-upto: %d is no line of a trace; they begin with 1", f.accept)
			}
			a, err := f.answer(cmd.Context(), cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			text := []byte(a.Text(output == "wide"))
			if trace {
				text = append(text, a.Trace()...)
			}
			if output == "json" {
				if text, err = a.JSON(); err != nil {
					return err
				}
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&trace, "trace", false, "also list the decisions on the way to the plan, and what each changed")
	cmd.Flags().IntVar(&f.accept, "trace-upto", 0, "show the plan as it was at this line of the trace")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, wide (nothing cut short) or json")
	return cmd
}

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "explain", Short: "Say why something is as it is",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(explainPodCommand())
	return cmd
}

func explainPodCommand() *cobra.Command {
	var f simulateFlags
	var files []string
	cmd := &cobra.Command{
		Use:     "pod NAMESPACE/NAME -f FILE",
		Short:   "Say where a pod of a dump would go, or which constraint of which pool refuses it",
		Example: "  karpenter explain pod shop/web-0 -f dump.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one pod, as NAMESPACE/NAME or NAME")
			}
			if len(files) == 0 {
				return errors.New(`no file: give -f with a dump or a scenario, or "-f -" for standard input`)
			}
			a, err := f.answer(cmd.Context(), cmd.InOrStdin(), files)
			if err != nil {
				return err
			}
			ns, name, ok := strings.Cut(args[0], "/")
			if !ok {
				ns, name = "default", args[0]
			}
			text, ok := a.Explain(model.PodKey{Namespace: ns, Name: name})
			if !ok {
				return fmt.Errorf("there is no pod %s/%s in the input%s", ns, name, a.Namesakes(name))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "a dump or a scenario; may be given more than once")
	return cmd
}

func oneOfFlag(name, value string, choices ...string) error {
	for _, c := range choices {
		if value == c {
			return nil
		}
	}
	return fmt.Errorf("--%s: there is no %q: want %s", name, value, strings.Join(choices, ", "))
}
