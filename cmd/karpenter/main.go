// Command karpenter answers: how do I run it?
//
// It is one binary with sub-commands. It constructs the parts and connects them; it contains no rules.
package main

import (
	"crypto/fips140"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
)

// version is set by the linker.
var version = "dev"

func main() {
	name, args := called(os.Args)
	os.Exit(runAs(name, args, os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return runAs(ownName, args, stdout, stderr)
}

// rootCommand is the whole program.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           ownName,
		Short:         "A node autoscaler for Kubernetes on Azure",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(controllerCommand(), simulateCommand(), explainCommand(), topCommand(), doctorCommand(), installValuesCommand(), crdsCommand(), convertCommand(), migrateCommand(), refusedPlansCommand(), versionCommand(), manCommand(), scenarioTopic())
	return root
}

// runAs is run by a program that people call by this name.
func runAs(name string, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	speakAs(root, name)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	code := 1
	var e exit
	if errors.As(err, &e) {
		code, err = e.code, e.err
	}
	if err != nil {
		fmt.Fprintln(stderr, "karpenter:", err)
	}
	return code
}

// exit ends the process with a code of its own; err may be nil when everything was said.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return fmt.Sprint("exit ", e.code, ": ", e.err) }

// build is what "version -o json" says.
type build struct {
	Version   string `json:"version"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// FIPS says whether Go's FIPS 140-3 module is in use, as this process finds it.
	FIPS bool `json:"fips140"`
}

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOfFlag("output", output, "text", "json", "yaml"); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if output == "text" {
				return writeText(out, output, []byte(version+"\n"))
			}
			return writeValue(out, output, build{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH,
				fips140.Enabled()})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text (the version alone), json or yaml")
	return cmd
}

// scenarioTopic is help about the notation of scenarios; it does nothing.
func scenarioTopic() *cobra.Command {
	return &cobra.Command{Use: "scenario", Short: "How scenarios are written, for simulate and explain", Long: worldtext.Notation}
}
