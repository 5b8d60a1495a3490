package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/kube/survey"
	"github.com/karpenter-aks/karpenter/internal/values"
)

// maxAnswer bounds a file of Azure's answers: a cluster with a hundred pools has some hundred KiB.
const maxAnswer = 16 << 20

type valuesFlags struct {
	clusterFlags
	offline        bool
	files, set     []string
	sshKey, output string
}

func installValuesCommand() *cobra.Command {
	var f valuesFlags
	cmd := &cobra.Command{
		Use:   "install-values [-f FILE]... [--set PATH=VALUE]...",
		Short: "Print a values file for the chart, from what the cluster shows of itself",
		Long: `Print a values file for the chart, from what the cluster shows of itself; each value with its source. The cluster is only read: its nodes,
the issuer of its tokens, service kube-dns, DaemonSets, and a Karpenter that is installed already. What a cluster does not show is in what
Azure's command line prints, which -f takes in as it is. Values that nobody says are listed on standard error with the way to find them, and
the exit code is then 1; 2 when the cluster could not be asked.`,
		Example: `  karpenter install-values > values.yaml
  az aks show -g rg -n shop -o json > aks.json
  karpenter install-values -f aks.json -f vnets.json -f identity.json > values.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.files, "filename", "f", nil, `what az printed as JSON about the cluster, its virtual networks or the controller's identity; "-" is standard input`)
	fl.StringArrayVar(&f.set, "set", nil, "a value by its path, such as settings.azure.location=westus3; it wins over what is found")
	fl.StringVar(&f.sshKey, "ssh-public-key-file", "", "a file with the key that may log in to machines")
	fl.BoolVar(&f.offline, "offline", false, "do not ask the cluster")
	fl.StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	return cmd
}

func (f *valuesFlags) run(cmd *cobra.Command) error {
	facts, err := f.facts(cmd.InOrStdin())
	if err != nil {
		return exit{2, err}
	}
	var hidden []string
	if !f.offline {
		if hidden, err = f.ask(cmd.Context(), &facts); err != nil {
			return exit{2, fmt.Errorf("%w (--offline asks no cluster)", err)}
		}
	}
	file := values.Find(facts)
	if err := f.print(cmd.OutOrStdout(), file); err != nil {
		return exit{2, err}
	}
	for _, line := range file.Told() {
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
	for _, h := range hidden {
		fmt.Fprintln(cmd.ErrOrStderr(), "hidden:", h)
	}
	if len(file.Missing) > 0 {
		return exit{code: 1}
	}
	return nil
}

func (f *valuesFlags) print(w io.Writer, file values.File) error {
	if f.output == "json" {
		return writeValue(w, f.output, file)
	}
	_, err := io.WriteString(w, file.YAML())
	return err
}

// facts are what the command line says; everything that is wrong with it at once.
func (f *valuesFlags) facts(stdin io.Reader) (values.Facts, error) {
	out := values.Facts{Given: map[string]string{}}
	errs := []error{oneOfFlag("output", f.output, "yaml", "json")}
	for _, s := range f.set {
		path, v, ok := strings.Cut(s, "=")
		if !ok || !slices.Contains(values.Keys(), path) {
			errs = append(errs, fmt.Errorf("--set %s: want PATH=VALUE with one of %s", s, strings.Join(values.Keys(), ", ")))
		}
		out.Given[path] = v
	}
	if f.sshKey != "" {
		in, err := readInput(stdin, f.sshKey, maxAnswer)
		errs = append(errs, err)
		out.Given["settings.azure.sshPublicKey"] = strings.TrimSpace(string(in.Text))
	}
	for _, name := range f.files {
		in, err := readInput(stdin, name, maxAnswer)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a := values.Answer{Name: in.Name}
		if err := json.Unmarshal(in.Text, &a.Data); err != nil {
			errs = append(errs, fmt.Errorf("%s is not JSON, as az prints it with -o json: %w", in.Name, err))
		}
		out.Answers = append(out.Answers, a)
	}
	return out, errors.Join(errs...)
}

// ask adds what the cluster shows. Of several installed Karpenters none is taken over.
func (f *valuesFlags) ask(ctx context.Context, facts *values.Facts) (hidden []string, err error) {
	rc, err := f.rest()
	if err != nil {
		return nil, err
	}
	c, err := survey.New(rc)
	if err != nil {
		return nil, err
	}
	seen, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	facts.Endpoint, facts.Issuer, facts.DNS, facts.DaemonSets = seen.Endpoint, seen.Issuer, seen.DNS, seen.DaemonSets
	facts.Cluster, facts.User = f.entry()
	for _, n := range seen.Nodes {
		facts.Nodes = append(facts.Nodes, values.Node{Name: n.Name, ProviderID: n.ProviderID, Labels: n.Labels})
	}
	switch len(seen.Karpenters) {
	case 0:
	case 1:
		k := seen.Karpenters[0]
		facts.Karpenter = k.Env
		facts.Account = values.Account{Namespace: k.Namespace, Name: k.Account, ClientID: k.ClientID}
	default:
		var names []string
		for _, k := range seen.Karpenters {
			names = append(names, k.Namespace+"/"+k.Name)
		}
		seen.Hidden = append(seen.Hidden, "several Karpenters are installed, none was taken over: "+strings.Join(names, ", "))
	}
	return seen.Hidden, nil
}
