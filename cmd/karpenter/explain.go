package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/model"
)

func explainCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "explain", Short: "Say why something is as it is",
		Long: `Say why something is as it is, by the same deciders that run in the cluster. Without -f the cluster is asked that kubectl would ask; that takes
the right to read, and changes nothing.`,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	for _, k := range explainedKinds() {
		cmd.AddCommand(k.command())
	}
	return cmd
}

// explainedKinds are the kinds of objects that can be explained.
func explainedKinds() []explained {
	return []explained{
		{kind: "pod", resource: "pods", short: "Say where a pod runs or would go, or which constraint of which pool refuses it", name: "NAMESPACE/NAME", tell: explainPod, data: podData},
		{kind: "node", resource: "nodes", short: "Say what a node was bought for, and why it stays or leaves",
			tell: judged((simulate.Answer).ExplainNode), data: judgedData((simulate.Answer).NodeJSON)},
		{kind: "nodeclaim", resource: "nodeclaims", short: "Say what a NodeClaim waits for, was bought for, and why it stays or leaves",
			tell: judged((simulate.Answer).ExplainClaim), data: judgedData((simulate.Answer).ClaimJSON)},
		{kind: "nodepool", resource: "nodepools", short: "Say what a NodePool holds and may buy, what its budgets leave, and what keeps its nodes",
			tell: judged((simulate.Answer).ExplainPool), data: judgedData((simulate.Answer).PoolJSON)},
		{kind: "aksnodeclass", resource: "aksnodeclasses", short: "Say whether machines can be built by a class, and who uses it",
			tell: func(a simulate.Answer, name string, _ map[string]bool) (string, bool, error) {
				text, ok := a.ExplainClass(name)
				return text, ok, nil
			}, data: func(a simulate.Answer, name string, _ map[string]bool) ([]byte, bool, error) {
				return a.ClassJSON(name)
			}},
	}
}

// explained is a kind of object that can be explained.
type explained struct {
	kind, resource, short string
	name                  string // how it is named; "" = NAME
	// tell explains the object; ok is false when there is none.
	tell func(a simulate.Answer, name string, gates map[string]bool) (text string, ok bool, err error)
	// data is the same for machines, as JSON.
	data func(a simulate.Answer, name string, gates map[string]bool) (text []byte, ok bool, err error)
}

// answer is tell or data, as the output asks: text, or else JSON.
func (k explained) answer(a simulate.Answer, name, output string, gates map[string]bool) (text []byte, ok bool, err error) {
	if output == "text" {
		said, ok, err := k.tell(a, name, gates)
		return []byte(said), ok, err
	}
	return k.data(a, name, gates)
}

func (k explained) command() *cobra.Command {
	var f simulateFlags
	var files []string
	var gates, output string
	var colour colourFlag
	name := k.name
	if name == "" {
		name = "NAME"
	}
	cmd := &cobra.Command{
		Use:     k.kind + " " + name + " [-f FILE]",
		Short:   k.short,
		Example: fmt.Sprintf("  karpenter explain %s %s\n  karpenter explain %s %s -f dump.yaml", k.kind, strings.ToLower(name), k.kind, strings.ToLower(name)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one %s, as %s; files are given with -f", k.kind, name)
			}
			if err := oneOfFlag("output", output, "text", "json", "yaml"); err != nil {
				return err
			}
			if err := colour.check(); err != nil {
				return err
			}
			open, err := config.Gates(gates)
			if err != nil {
				return fmt.Errorf("--feature-gates %w", err)
			}
			f.progress = newProgress(cmd.ErrOrStderr())
			defer f.progress.end()
			a, err := f.answer(cmd.Context(), cmd.InOrStdin(), files)
			if err != nil {
				return err
			}
			f.progress.say("asking why")
			text, ok, err := k.answer(a, args[0], output, open)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("there is no %s %s in the input", k.kind, args[0])
			}
			if output == "text" && colour.of(cmd.OutOrStdout()) {
				text = []byte(simulate.Painted(string(text)))
			}
			return writeText(cmd.OutOrStdout(), output, text)
		},
	}
	cmd.ValidArgsFunction = k.names(&f, &files)
	f.register(cmd)
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "a dump or a scenario instead of a cluster; may be given more than once")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().StringVar(&gates, "feature-gates", "", "the controller's feature gates, such as SpotToSpotConsolidation=true,NodeRepair=true")
	colour.register(cmd)
	return cmd
}

// judged asks what would be decided about nodes, and explains one object by it.
func judged(tell func(simulate.Answer, string, simulate.Disruption) (string, bool)) func(simulate.Answer, string, map[string]bool) (string, bool, error) {
	return judgedData(func(a simulate.Answer, name string, d simulate.Disruption) (string, bool, error) {
		text, ok := tell(a, name, d)
		return text, ok, nil
	})
}

// judgedData is judged for answers of any kind.
func judgedData[T any](data func(simulate.Answer, string, simulate.Disruption) (T, bool, error)) func(simulate.Answer, string, map[string]bool) (T, bool, error) {
	return func(a simulate.Answer, name string, gates map[string]bool) (none T, _ bool, _ error) {
		d, err := a.Disrupt(gates)
		if err != nil {
			return none, false, err
		}
		return data(a, name, d)
	}
}

func explainPod(a simulate.Answer, arg string, _ map[string]bool) (string, bool, error) {
	key := podKey(arg)
	text, ok := a.Explain(key)
	return text, ok, missing(a, key, ok)
}

func podData(a simulate.Answer, arg string, _ map[string]bool) ([]byte, bool, error) {
	key := podKey(arg)
	text, ok, err := a.ExplainJSON(key)
	if err == nil {
		err = missing(a, key, ok)
	}
	return text, ok, err
}

func podKey(arg string) model.PodKey {
	ns, name, ok := strings.Cut(arg, "/")
	if !ok {
		ns, name = "default", arg
	}
	return model.PodKey{Namespace: ns, Name: name}
}

// missing is the error for a pod that is not there.
func missing(a simulate.Answer, key model.PodKey, there bool) error {
	if there {
		return nil
	}
	return fmt.Errorf("there is no pod %s in the input%s", key, a.Namesakes(key.Name))
}
