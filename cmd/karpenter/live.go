package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karpenter-aks/karpenter/internal/simulate"
)

// liveFlags say which cluster to ask.
type liveFlags struct {
	clusterFlags
	also bool
}

func (f *liveFlags) register(cmd *cobra.Command) {
	f.clusterFlags.register(cmd)
	cmd.Flags().BoolVar(&f.also, "live", false, "ask the cluster, too, when files are named: these come on top of what it has")
}

// kind is what is asked of a cluster.
type kind struct {
	schema.GroupVersionResource
	// optional kinds are not there in every cluster.
	optional bool
}

func kinds() []kind {
	of := func(group, version string, resources ...string) (out []kind) {
		for _, r := range resources {
			out = append(out, kind{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: r}})
		}
		return out
	}
	out := of("", "v1", "nodes", "pods", "namespaces", "persistentvolumeclaims", "persistentvolumes")
	out = append(out, of("apps", "v1", "daemonsets")...)
	out = append(out, of("policy", "v1", "poddisruptionbudgets")...)
	out = append(out, of("storage.k8s.io", "v1", "storageclasses", "csinodes", "volumeattachments")...)
	out = append(out, of("karpenter.sh", "v1", "nodepools", "nodeclaims")...)
	some := of("karpenter.azure.com", "v1beta1", "aksnodeclasses")
	some = append(some, of("karpenter.sh", "v1alpha1", "nodeoverlays")...)
	some = append(some, of("autoscaling.x-k8s.io", "v1beta1", "capacitybuffers")...)
	for _, k := range some {
		k.optional = true
		out = append(out, k)
	}
	return out
}

const (
	// A large cluster is asked in parts, so that no answer takes the API server long.
	livePage = 500
	// livePages bounds a list that never ends.
	livePages = 4000
)

// dump reads what a cluster has, as a file, with notes on what could not be read. It only lists.
func (f *liveFlags) dump(ctx context.Context) (simulate.File, []string, error) {
	rc, err := f.connection()
	if err != nil {
		return simulate.File{}, nil, fmt.Errorf("no file: name a dump or a scenario, or \"-\" for standard input (karpenter simulate --help shows how to dump); nor is there a cluster to ask: %w", err)
	}
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return simulate.File{}, nil, fmt.Errorf("prepare the connection to the API server: %w", err)
	}
	var text bytes.Buffer
	text.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	var notes []string
	first := true
	for _, k := range kinds() {
		err := listAll(ctx, client.Resource(k.GroupVersionResource), func(object []byte) {
			if !first {
				text.WriteByte(',')
			}
			first = false
			text.Write(object)
		})
		switch {
		case apierrors.IsNotFound(err) && k.optional:
		case apierrors.IsNotFound(err):
			notes = append(notes, fmt.Sprintf("the cluster has no %s of %s", k.Resource, k.GroupVersion()))
		case apierrors.IsForbidden(err):
			notes = append(notes, "you may not list "+k.Resource+": taken not to exist")
		case err != nil:
			return simulate.File{}, nil, fmt.Errorf("list %s: %w", k.Resource, err)
		}
	}
	text.WriteString("]}")
	return simulate.File{Name: strings.TrimPrefix(rc.Host, "https://") + ".json", Text: text.Bytes()}, notes, nil
}

// listAll calls each for every object of a kind, as JSON.
func listAll(ctx context.Context, of dynamic.ResourceInterface, each func([]byte)) error {
	opts := metav1.ListOptions{Limit: livePage}
	for range livePages {
		page, err := of.List(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			// A third of an object, which no decider reads.
			unstructured.RemoveNestedField(page.Items[i].Object, "metadata", "managedFields")
			object, err := json.Marshal(page.Items[i].Object)
			if err != nil {
				return err
			}
			each(object)
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
	return fmt.Errorf("there are more than %d objects", livePage*livePages)
}
