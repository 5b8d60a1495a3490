package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/karpenter-aks/karpenter/internal/simulate"
)

const (
	// completeWithin is how long a shell waits for names.
	completeWithin = 3 * time.Second
	// mostNames bounds how many names a shell is offered.
	mostNames = 500
)

// names completes the name of an object of the kind: those of the files, or else of the cluster. What cannot be had is not offered.
func (k explained) names(f *simulateFlags, files *[]string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		var list []string
		if len(*files) > 0 {
			list = k.inFiles(ctx, f, *files)
		} else {
			list = k.inCluster(ctx, f)
		}
		list = slices.DeleteFunc(list, func(n string) bool { return !strings.HasPrefix(n, begun) })
		slices.Sort(list)
		return list[:min(len(list), mostNames)], cobra.ShellCompDirectiveNoFileComp
	}
}

// inFiles lists the names of the kind's objects in files. Standard input is not read for that.
func (k explained) inFiles(ctx context.Context, f *simulateFlags, files []string) (out []string) {
	var o simulate.Options
	for i, name := range files {
		if name == "-" {
			return nil
		}
		if slices.Contains(files[:i], name) {
			continue // cobra reads the flags of an unfinished line twice
		}
		file, err := readInput(nil, name, maxInput)
		if err != nil {
			return nil
		}
		o.Files = append(o.Files, file)
	}
	o.Location, o.Pending = f.location, simulate.Pending(f.pending)
	q, err := f.read(ctx, o)
	if err != nil {
		return nil
	}
	w := q.World.Indexed()
	switch k.kind {
	case "pod":
		for p := range w.Index.All().All() {
			out = append(out, p.Key().String())
		}
	case "node":
		for i := range w.Nodes {
			out = append(out, w.Nodes[i].Name)
		}
	case "nodeclaim":
		for i := range w.Claims {
			out = append(out, w.Claims[i].Name)
		}
	case "nodepool":
		for i := range w.Pools {
			out = append(out, w.Pools[i].Name)
		}
	case "aksnodeclass":
		for i := range w.Classes {
			out = append(out, w.Classes[i].Ref.Name)
		}
	}
	return out
}

// inCluster lists the names of the kind's objects in the cluster, as many as one answer holds.
func (k explained) inCluster(ctx context.Context, f *simulateFlags) (out []string) {
	rc, err := f.live.rest()
	if err != nil {
		return nil
	}
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(kinds(), func(x kind) bool { return x.Resource == k.resource })
	if i < 0 {
		return nil
	}
	page, err := client.Resource(kinds()[i].GroupVersionResource).List(ctx, metav1.ListOptions{Limit: mostNames})
	if err != nil {
		return nil
	}
	for i := range page.Items {
		name := page.Items[i].GetName()
		if ns := page.Items[i].GetNamespace(); ns != "" {
			name = ns + "/" + name
		}
		out = append(out, name)
	}
	return out
}
