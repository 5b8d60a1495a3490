// Command gen answers: how do the CRDs get into the charts? It writes every one of them to both.
//
// It is run by go generate with the charts' directory as its only argument, and decides nothing.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenter-aks/karpenter/api/crds"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen <charts directory>")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(charts string) error {
	files, err := crds.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(charts, "karpenter", "crds", f.Name), f.Plain, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(charts, "karpenter-crd", "templates", f.Name), f.Template, 0o644); err != nil {
			return err
		}
	}
	return nil
}
