package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// kubectlCommand is kubectl itself, pointed at the lab. Everything after the word kubectl is kubectl's, save a --dir at
// the very beginning.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl [--dir DIR] ARGS…",
		Short:              "Run kubectl against the lab, also where kubectl is not installed",
		DisableFlagParsing: true, // kubectl parses its own
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, rest := splitDir(args)
			s, err := assemble.Load(dir)
			if err != nil {
				return err
			}
			if err := os.Setenv("KUBECONFIG", s.Kubeconfig); err != nil {
				return err
			}
			plane.SetVersion()
			os.Args = append([]string{"kubectl"}, rest...) // kubectl reads it to find plugins
			if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
				kubectlutil.CheckErr(err) // prints as kubectl does, and exits
			}
			return nil
		},
	}
}

// splitDir takes a leading --dir off kubectl's arguments. A --dir before the word kubectl arrives here as well: cobra
// does not look at flags of a command that parses its own.
func splitDir(args []string) (dir string, rest []string) {
	switch {
	case len(args) >= 2 && args[0] == "--dir":
		return filepath.Clean(args[1]), args[2:]
	case len(args) >= 1 && strings.HasPrefix(args[0], "--dir="):
		return filepath.Clean(strings.TrimPrefix(args[0], "--dir=")), args[1:]
	}
	return ourDir(), args
}
