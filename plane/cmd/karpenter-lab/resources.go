package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

const resourcesPath = "/lab/resources"

func resourcesCommand(dir *string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "resources",
		Short: "List every VM, NIC, disk, share and extension that the simulated Azure holds, and what the machines cost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "table" && format != "json" {
				return fmt.Errorf("-o: %q is neither table nor json", format)
			}
			s, err := assemble.Load(*dir)
			if err != nil {
				return err
			}
			b, err := s.Ask(cmd.Context(), http.MethodGet, resourcesPath, nil)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), b)
			}
			var list []arm.Resource
			if err := json.Unmarshal(b, &list); err != nil {
				return fmt.Errorf("read the list: %w", err)
			}
			return resourceTable(cmd.OutOrStdout(), list)
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "table", "table or json")
	return c
}

func printJSON(w io.Writer, b []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}

// resourceTable prints one line per resource, in the order of the list, and what all machines cost together: the list of prices
// has no others.
func resourceTable(w io.Writer, list []arm.Resource) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "Azure holds no VM, NIC, disk, share or extension.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tNAME\tSTATE\tSIZE\tZONE\tPRIORITY\tPOWER\tMACHINE\tUSD/H")
	total, machines := 0.0, 0
	for _, r := range list {
		state := r.State
		if r.Failure != "" {
			state += " (" + r.Failure + ")"
		}
		cells := []string{kind(r.Type), r.Name, state, r.Size, r.Zone, r.Priority, r.Power, "", ""}
		if r.Owner != "" {
			cells[7] = path.Base(r.Owner)
		}
		if r.PricePerHour > 0 {
			cells[8] = fmt.Sprintf("%.4f", r.PricePerHour)
			total, machines = total+r.PricePerHour, machines+1
		}
		for i, c := range cells {
			if c == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	word := "machines"
	if machines == 1 {
		word = "machine"
	}
	_, err := fmt.Fprintf(w, "\n%d %s, USD %.4f per hour; disks and network are not priced.\n", machines, word, total)
	return err
}

// kind is a resource type as people say it; a type that has no such word stands as it is.
func kind(typ string) string {
	switch strings.ToLower(path.Base(typ)) {
	case "virtualmachines":
		return "VM"
	case "networkinterfaces":
		return "NIC"
	case "disks":
		return "disk"
	case "extensions":
		return "extension"
	case "shares":
		return "share"
	}
	return typ
}

func evictCommand(dir *string) *cobra.Command {
	return machineCommand(dir, "evict", "Let the simulated Azure take a spot machine back, after the usual notice")
}

func deallocateCommand(dir *string) *cobra.Command {
	return machineCommand(dir, "deallocate", "Switch a machine off, as somebody with the portal may: it is there, and runs no more")
}

// machineCommand does something to one machine of the simulated Azure.
func machineCommand(dir *string, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " VM",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := assemble.Load(*dir)
			if err != nil {
				return err
			}
			_, err = s.Ask(cmd.Context(), http.MethodPost, "/lab/"+verb+"?vm="+url.QueryEscape(args[0]), nil)
			return err
		},
	}
}
