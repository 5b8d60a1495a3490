package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/evidence"
)

// refusedPlansCommand shows what the controller wrote down. The controller's image has neither a shell nor tar, so that kubectl cp
// cannot fetch a file from it; kubectl exec with this command can.
func refusedPlansCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "refused-plans [NAME]",
		Short: "List the plans that the controller's own audit refused, or print the picture of one",
		Long: `List the plans that the controller's own audit refused, or print the picture of one.

Such a plan is a defect of the controller, and is never carried out. Its picture is a scenario: "karpenter simulate" says from it what
is wrong with the plan, and what this version would do.`,
		Example: `  kubectl exec -n kube-system deploy/karpenter -- karpenter refused-plans
  kubectl exec -n kube-system deploy/karpenter -- karpenter refused-plans NAME > case.txt
  karpenter simulate case.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := evidence.List(dir)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				for _, f := range list {
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %9d  %s\n", f.ModTime().UTC().Format("2006-01-02T15:04:05Z"), f.Size(), f.Name())
				}
				if len(list) == 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "no plan was refused: there is none in %s\n", dir)
				}
				return nil
			}
			for _, f := range list {
				if f.Name() == args[0] {
					return printFile(cmd.OutOrStdout(), filepath.Join(dir, f.Name()))
				}
			}
			var names []string
			for _, f := range list {
				names = append(names, f.Name())
			}
			return fmt.Errorf("there is no refused plan %q in %s: there is %s", args[0], dir, cmp.Or(strings.Join(names, ", "), "none"))
		},
	}
	cmd.Flags().StringVar(&dir, "refused-plans-dir", cmp.Or(os.Getenv("REFUSED_PLANS_DIR"), config.RefusedPlansDir), "where the controller writes them")
	return cmd
}

func printFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}
