package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// writeValue writes a value for programs: as YAML, or for every other output as JSON.
func writeValue(w io.Writer, output string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeText(w, output, append(text, '\n'))
}

// writeText writes an answer. For yaml it is JSON, and written as YAML; for every other output as it is.
func writeText(w io.Writer, output string, text []byte) (err error) {
	if output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}

// screenOf is the terminal that w writes to. ok is false when it is none.
func screenOf(w io.Writer) (file *os.File, ok bool) {
	file, ok = w.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// colourFlag says whether to use colours.
type colourFlag struct{ when string }

func (f *colourFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.when, "color", "auto", "auto (on terminals, unless NO_COLOR is set), always or never")
}

func (f *colourFlag) check() error { return oneOfFlag("color", f.when, "auto", "always", "never") }

// of says whether to use them in what is written to w.
func (f *colourFlag) of(w io.Writer) bool {
	_, screen := screenOf(w)
	return f.on(screen, os.Getenv)
}

// on says whether to use them; env is the environment. Source of NO_COLOR: no-color.org.
func (f *colourFlag) on(screen bool, env func(string) string) bool {
	if f.when == "auto" {
		return screen && env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	return f.when == "always"
}
