package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/convert"
)

func convertCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "convert FILE...",
		Short: "Rewrite manifests of karpenter.sh/v1beta1 and karpenter.azure.com/v1alpha2 in today's versions",
		Long: `Rewrite manifests of karpenter.sh/v1beta1 and karpenter.azure.com/v1alpha2 in today's versions, karpenter.sh/v1 and
karpenter.azure.com/v1beta1. The result goes to standard output; comments, order and all other objects stay. What means
something else now is told on standard error. Nothing is changed in place, and no cluster is asked.

Kubelet settings of a v1beta1 NodePool belong to its AKSNodeClass today: name the file of that, too. "-" is standard input. A
file has at most 16 MiB and 10,000 documents.`,
		Example: `  karpenter convert nodepool.yaml nodeclass.yaml | kubectl apply -f -
  kubectl get nodepools,aksnodeclasses -o yaml | karpenter convert - > converted.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(`no file: name a manifest, or "-" for standard input`)
			}
			var in []convert.Input
			var errs []error
			for _, name := range args {
				f, err := readInput(cmd.InOrStdin(), name, convert.MaxFile)
				errs = append(errs, err)
				in = append(in, convert.Input{Name: f.Name, Text: f.Text})
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			out, err := convert.Files(in)
			if err != nil {
				return fmt.Errorf("nothing was converted:\n%w", err)
			}
			for _, n := range out.Notes {
				fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
			}
			if out.Changed == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "note: there was nothing to convert")
			}
			_, err = cmd.OutOrStdout().Write(out.Text)
			return err
		},
	}
}
