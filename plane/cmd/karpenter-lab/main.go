// Command karpenter-lab answers: how do I get a cluster with the autoscaler in charge, here and now, without a cloud?
//
// "up" runs a lab (package assemble) until it is told to stop; the other commands talk to one that runs. It contains no
// rules of its own.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

const (
	// defaultDir is where a lab lives when nobody says otherwise.
	defaultDir = ".lab"
	// dirEnv says otherwise, for a whole shell.
	dirEnv = "KARPENTER_LAB_DIR"
)

// ourDir is the directory to use when no flag names one.
func ourDir() string {
	if d := os.Getenv(dirEnv); d != "" {
		return d
	}
	return defaultDir
}

func main() {
	plane.MaybeRunChild()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.Execute(); err != nil {
		fmt.Fprintln(stderr, "karpenter-lab:", err)
		if errors.Is(err, assemble.ErrNotRunning) {
			fmt.Fprintln(stderr, "hint: start one with \"karpenter-lab up\", or name its directory with --dir")
		}
		return 1
	}
	return 0
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "karpenter-lab",
		Short: "A Kubernetes cluster on a simulated Azure, with Karpenter in charge of its nodes",
		Long: `A Kubernetes cluster on a simulated Azure, with Karpenter in charge of its nodes.

"up" starts a real control plane, a simulated Azure, the machines that it sells and the autoscaler, and runs until
Ctrl-C. The other commands talk to the lab that runs in --dir. Several labs can run side by side, each in its own
directory.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := root.PersistentFlags().String("dir", ourDir(), "directory of the lab; also "+dirEnv)
	root.AddCommand(upCommand(dir), kubectlCommand(), resourcesCommand(dir), knobsCommand(dir), logsCommand(dir), statusCommand(dir), evictCommand(dir), deallocateCommand(dir), demoCommand(dir))
	return root
}
