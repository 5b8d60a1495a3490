package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes manual pages, for archives and packages. The moment stands in them, so that the same release has the same bytes.
func manCommand() *cobra.Command {
	var dir, date string
	cmd := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write manual pages, one for each command",
		Long: `Write manual pages in the form of man(1) into a directory that exists, one for each command: karpenter.1, karpenter-explain.1 and
so on. The archives of a release have them in man/man1 already.`,
		Example: "  mkdir -p ~/.local/share/man/man1\n  karpenter man --dir ~/.local/share/man/man1\n  man karpenter-explain-pod",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return errors.New("--dir: say into which directory")
			}
			if in, err := os.Stat(dir); err != nil || !in.IsDir() {
				return fmt.Errorf("--dir: %s is not a directory that is there", filepath.Clean(dir))
			}
			header := &doc.GenManHeader{Section: "1", Source: "karpenter " + version, Manual: "Karpenter for AKS"}
			if date != "" {
				at, err := time.Parse(time.DateOnly, date)
				if err != nil {
					return fmt.Errorf("--date: %q is not a day such as 2026-05-01", date)
				}
				header.Date = &at
			}
			root := rootCommand() // not the one that runs: pages name the program by itself
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, header, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the directory; pages of earlier versions in it are written over")
	cmd.Flags().StringVar(&date, "date", "", "the day that the pages name, such as 2026-05-01 (default today)")
	return cmd
}
