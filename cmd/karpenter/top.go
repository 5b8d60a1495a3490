package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/internal/top"
)

func topCommand() *cobra.Command {
	var f simulateFlags
	var files []string
	var gates, view, filter, keys string
	var colour colourFlag
	var once bool
	cmd := &cobra.Command{
		Use:   "top [--from FILE]",
		Short: "Watch nodes, pools, prices, fill, blockers, waiting pods and decisions",
		Long: `Watch a cluster with Karpenter, of whatever make: its nodes and pools, what they cost and how full they are, what holds them, which pods wait, and
what is decided. Sort, filter, go from a pool to its nodes, to their pods, and ask why; ? shows the keys. It takes the right to read, and changes
nothing: no cloud is asked. Prices are those of the built-in table for the region that the nodes are in, or of --catalog; others are "?".

With --from a dump or a scenario is looked at instead of a cluster. With --keys a file gives the screen keys that run commands of yours. Where the output is no terminal, and with --once, one picture is printed.`,
		Example: `  karpenter top
  karpenter top --from dump.yaml
  karpenter top --once --view pending
  karpenter top --once --filter spot`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOfFlag("view", view, top.Views()...); err != nil {
				return err
			}
			if err := colour.check(); err != nil {
				return err
			}
			open, err := config.Gates(gates)
			if err != nil {
				return fmt.Errorf("--feature-gates %w", err)
			}
			given, err := readKeyFile(keys)
			if err != nil {
				return err
			}
			seen := watched{flags: &f, gates: open}
			if len(files) > 0 {
				err = seen.read(cmd.Context(), cmd.InOrStdin(), files)
			} else {
				err = seen.follow(cmd.Context())
			}
			if err != nil {
				return err
			}
			defer seen.stop()
			out, shown := screenOf(cmd.OutOrStdout())
			state := top.NewState(top.Options{Source: seen.source, View: view, Filter: filter, ASCII: !letters(os.Getenv),
				Colour: colour.on(shown && !once, os.Getenv), Commands: given.list(), Welcome: given.Welcome})
			if once || !shown {
				return printOnce(cmd.Context(), &seen, state, cmd.OutOrStdout())
			}
			return watch(cmd.Context(), &screen{seen: &seen, state: state, out: out, keys: given}, os.Stdin)
		},
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&files, "from", nil, "a dump or a scenario instead of a cluster; may be given more than once")
	fl.StringVar(&gates, "feature-gates", "", "the controller's feature gates, such as SpotToSpotConsolidation=true,NodeRepair=true")
	fl.BoolVar(&once, "once", false, "print one picture, as a whole, and end")
	fl.StringVar(&view, "view", "nodes", "what to begin with: "+strings.Join(top.Views(), ", "))
	fl.StringVar(&filter, "filter", "", "show only rows with these words")
	fl.StringVar(&keys, "keys", "", "a YAML file of keys that run commands of yours; docs/top.md says how it is written")
	colour.register(cmd)
	return cmd
}

// letters reports whether the terminal shows more than ASCII, by the locale.
func letters(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// printOnce prints what a first whole picture holds.
func printOnce(ctx context.Context, seen *watched, state *top.State, out io.Writer) error {
	if err := seen.whole(ctx); err != nil {
		return err
	}
	if seen.cluster != nil {
		seen.cluster.prices(ctx)
	}
	seen.show(ctx, state)
	_, err := io.WriteString(out, top.Once(state))
	return err
}

// answered is why a subject is as it is.
type answered struct {
	about top.Subject
	text  string
}

// why asks the deciders about a world, as karpenter explain does.
func why(q simulate.Question, gates map[string]bool, x top.Subject) answered {
	fail := func(err error) answered { return answered{x, err.Error()} }
	a, err := simulate.Decide(q)
	if err != nil {
		return fail(err)
	}
	for _, k := range explainedKinds() {
		if k.kind != x.Kind {
			continue
		}
		text, ok, err := k.tell(a, x.Name, gates)
		switch {
		case err != nil:
			return fail(err)
		case !ok:
			return answered{x, "it is gone"}
		}
		return answered{x, text}
	}
	return answered{x, "nothing is known of a " + x.Kind}
}

// watched is a cluster or a file that is looked at.
type watched struct {
	flags  *simulateFlags
	gates  map[string]bool
	source string

	question simulate.Question // of files
	cluster  *topCluster       // nil = files are looked at
}

// read looks at files.
func (s *watched) read(ctx context.Context, stdin io.Reader, names []string) error {
	o, err := s.flags.options(ctx, stdin, names)
	if err != nil {
		return err
	}
	o.Partial = true
	s.question, err = s.flags.read(ctx, o)
	s.source = strings.Join(names, ", ")
	return err
}

// follow looks at a cluster.
func (s *watched) follow(ctx context.Context) (err error) {
	s.cluster, err = followCluster(ctx, s.flags)
	if err == nil {
		s.source = s.cluster.name
	}
	return err
}

func (s *watched) stop() {
	if s.cluster != nil {
		s.cluster.stop()
	}
}

// whole waits until everything that a cluster has was told.
func (s *watched) whole(ctx context.Context) error {
	if s.cluster == nil {
		return nil
	}
	return s.cluster.whole(ctx)
}

// asked is what the deciders are asked about now. It waits for prices, as long as ctx goes on.
func (s *watched) asked(ctx context.Context) simulate.Question {
	if s.cluster == nil {
		return s.question
	}
	return s.cluster.question(ctx, time.Now())
}

// show gives the state what there is now.
func (s *watched) show(ctx context.Context, state *top.State) {
	if s.cluster == nil {
		state.Note(s.question.Notes)
		state.Show(top.New(s.question.World, s.question.Now))
		return
	}
	s.cluster.show(ctx, state)
}
