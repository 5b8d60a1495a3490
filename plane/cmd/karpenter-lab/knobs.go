package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// maxKnobs bounds a file of knobs.
const maxKnobs = 4 << 20

const knobsPath = "/lab/knobs"

func knobsCommand(dir *string) *cobra.Command {
	c := &cobra.Command{
		Use:   "knobs",
		Short: "Show or turn what the simulated Azure lacks, refuses and delays",
	}
	c.AddCommand(
		&cobra.Command{
			Use:   "show",
			Short: "Print the knobs that are turned, as YAML",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := assemble.Load(*dir)
				if err != nil {
					return err
				}
				b, err := s.Ask(cmd.Context(), http.MethodGet, knobsPath, nil)
				if err != nil {
					return err
				}
				if b, err = yaml.JSONToYAML(b); err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(b)
				return err
			},
		},
		&cobra.Command{
			Use:   "list",
			Short: "Print the name of every knob, what it takes and what it does",
			Args:  cobra.NoArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return knobTable(cmd.OutOrStdout()) },
		},
		setKnobsCommand(dir),
	)
	return c
}

// knobTable prints one line per knob. It needs no lab that runs.
func knobTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tTAKES\tUNSET\tEFFECT")
	for _, k := range arm.KnobTable() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", k.Name, k.Range, k.Unset, k.Effect)
	}
	return t.Flush()
}

func setKnobsCommand(dir *string) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "set [NAME=VALUE…]",
		Short: "Turn knobs",
		Long: `Turn knobs.

With NAME=VALUE, only the named knobs change; the value is YAML, and an empty one turns the knob back. With --file, the
file replaces all knobs. "knobs list" prints every name.`,
		Example: `  karpenter-lab knobs set createTime=5s throttle.every=3
  karpenter-lab knobs set 'capacity=[{size: Standard_D2s_v5, limit: 0}]'
  karpenter-lab knobs set capacity=
  karpenter-lab knobs set --file sold-out.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (file == "") == (len(args) == 0) {
				return errors.New("give either NAME=VALUE or --file")
			}
			s, err := assemble.Load(*dir)
			if err != nil {
				return err
			}
			var body []byte
			if file != "" {
				body, err = readKnobs(cmd.InOrStdin(), file)
			} else if body, err = s.Ask(cmd.Context(), http.MethodGet, knobsPath, nil); err == nil {
				body, err = turn(body, args)
			}
			if err != nil {
				return err
			}
			_, err = s.Ask(cmd.Context(), http.MethodPut, knobsPath, body)
			return err
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "YAML file; - for standard input")
	return c
}

// readKnobs reads a YAML file as JSON.
func readKnobs(stdin io.Reader, file string) ([]byte, error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxKnobs))
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(b)
}

// turn changes the named knobs in a JSON document. A dot goes into an object.
func turn(doc []byte, settings []string) ([]byte, error) {
	knobs := map[string]any{}
	if err := json.Unmarshal(doc, &knobs); err != nil {
		return nil, err
	}
	for _, set := range settings {
		name, text, ok := strings.Cut(set, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not NAME=VALUE", set)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		at := knobs
		steps := strings.Split(name, ".")
		for _, step := range steps[:len(steps)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		last := steps[len(steps)-1]
		if value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	return json.Marshal(knobs)
}
