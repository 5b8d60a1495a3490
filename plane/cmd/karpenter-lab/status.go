package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/plane/assemble"
)

func statusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether a lab runs, and where its parts are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := assemble.Load(*dir)
			if err != nil {
				return err
			}
			state := "ready"
			if !s.Ready {
				state = "starting"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s since %s, process %d\n  Kubernetes API   %s, process %d\n  Azure            %s in %s\n%s  KUBECONFIG=%s\n",
				state, s.Started.Format("2006-01-02 15:04:05"), s.PID, s.APIServer, s.PlanePID, s.Azure, s.Location, autoscaler(s), s.Kubeconfig)
			return err
		},
	}
}
