package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// followEvery is the pause between two looks at a log that is followed.
const followEvery = 200 * time.Millisecond

func logsCommand(dir *string) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:       "logs [controller|machines|plane]",
		Short:     "Print what the autoscaler, the simulated machines or the control plane said",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"controller", "machines", "plane"},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := assemble.Load(*dir)
			if err != nil {
				return err
			}
			path := s.ControllerLog
			if len(args) == 1 {
				path = map[string]string{"controller": s.ControllerLog, "machines": s.MachinesLog, "plane": s.PlaneLog}[args[0]]
			}
			if path == "" {
				return fmt.Errorf("this lab runs no controller")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return printLog(ctx, cmd.OutOrStdout(), path, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	return c
}

// printLog copies a file, and what is appended to it until ctx ends.
func printLog(ctx context.Context, to io.Writer, path string, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := time.NewTicker(followEvery)
	defer t.Stop()
	for {
		if _, err := io.Copy(to, f); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
