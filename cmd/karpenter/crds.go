package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/internal/crddiff"
	"github.com/karpenter-aks/karpenter/internal/manifest"
)

const (
	crdKind = "CustomResourceDefinition"
	// crdManager owns the fields that crds apply writes.
	crdManager = "karpenter"
	// maxCRDs bounds a file of definitions; all of a large cluster have a few MiB.
	maxCRDs = 64 << 20
)

func crdsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "crds", Short: "Compare, install and adopt the custom resource definitions",
		Long: `Compare the cluster's custom resource definitions with those of this version, install them, or give them to a Helm release. Helm
installs those of a chart's directory crds/ once and never upgrades them.`,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(crdsPrintCommand(), crdsDiffCommand(), crdsApplyCommand(), crdsAdoptCommand())
	return cmd
}

// ourCRDs are the definitions of this version, by name.
func ourCRDs() ([]map[string]any, error) {
	const dir = "charts/karpenter/crds"
	files, err := fs.ReadDir(deploy.Charts, dir)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, f := range files {
		raw, err := fs.ReadFile(deploy.Charts, path.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		var o map[string]any
		if err := yaml.Unmarshal(raw, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b map[string]any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return out, nil
}

func nameOf(o map[string]any) string { return (&unstructured.Unstructured{Object: o}).GetName() }

func crdsPrintCommand() *cobra.Command {
	return &cobra.Command{Use: "print", Short: "Print the definitions of this version, for kubectl or a repository", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := ourCRDs()
			if err != nil {
				return err
			}
			for _, o := range all {
				raw, err := yaml.Marshal(o)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", raw); err != nil {
					return err
				}
			}
			return nil
		}}
}

// crdReport is what crds diff says about one definition.
type crdReport struct {
	Name    string           `json:"name"`
	Present bool             `json:"present"`
	Owner   crddiff.Owner    `json:"owner"`
	Changes []crddiff.Change `json:"changes"`
}

func crdReports(have map[string]map[string]any) ([]crdReport, error) {
	all, err := ourCRDs()
	if err != nil {
		return nil, err
	}
	var out []crdReport
	for _, want := range all {
		r := crdReport{Name: nameOf(want), Changes: []crddiff.Change{}}
		if o := have[r.Name]; o != nil {
			r.Present, r.Owner = true, crddiff.OwnerOf(o)
			r.Changes = append(r.Changes, crddiff.Compare(o, want)...)
		}
		out = append(out, r)
	}
	return out, nil
}

func (r crdReport) same() bool { return r.Present && len(r.Changes) == 0 }

func (r crdReport) print(w io.Writer) {
	switch {
	case !r.Present:
		fmt.Fprintf(w, "%s: not in the cluster\n", r.Name)
	case len(r.Changes) == 0:
		fmt.Fprintf(w, "%s: the same; %s\n", r.Name, r.Owner)
	default:
		fmt.Fprintf(w, "%s: differs; %s\n", r.Name, r.Owner)
	}
	for _, c := range r.Changes {
		fmt.Fprintf(w, "  %s\n", c)
	}
}

func crdsDiffCommand() *cobra.Command {
	var c clusterFlags
	var file, output string
	cmd := &cobra.Command{Use: "diff", Short: "Say how the cluster's definitions differ from those of this version", Args: cobra.NoArgs,
		Long: `Say how the cluster's definitions differ from those of this version. Descriptions do not count. The exit code is 0 when they are the same,
1 when they differ, 2 when that could not be found out.`,
		Example: "  karpenter crds diff\n  kubectl get crds -o yaml | karpenter crds diff -f -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOfFlag("output", output, "text", "json"); err != nil {
				return exit{2, err}
			}
			have, err := c.definitions(cmd.Context(), cmd.InOrStdin(), file)
			if err != nil {
				return exit{2, err}
			}
			reports, err := crdReports(have)
			if err != nil {
				return exit{2, err}
			}
			if err := printReports(cmd.OutOrStdout(), reports, output); err != nil {
				return exit{2, err}
			}
			if slices.ContainsFunc(reports, func(r crdReport) bool { return !r.same() }) {
				return exit{code: 1}
			}
			return nil
		}}
	c.register(cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", `a file with the cluster's definitions instead of the cluster; "-" is standard input`)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func printReports(w io.Writer, reports []crdReport, output string) error {
	if output == "json" {
		return writeValue(w, output, reports)
	}
	for _, r := range reports {
		r.print(w)
	}
	return nil
}

// definitions are the cluster's, of our names, by name; from a file when one is named.
func (f *clusterFlags) definitions(ctx context.Context, stdin io.Reader, file string) (map[string]map[string]any, error) {
	if file != "" {
		in, err := readInput(stdin, file, maxCRDs)
		if err != nil {
			return nil, err
		}
		return definitionsOf(in.Name, in.Text)
	}
	client, err := f.definitionsClient()
	if err != nil {
		return nil, err
	}
	return liveDefinitions(ctx, client)
}

func liveDefinitions(ctx context.Context, client dynamic.ResourceInterface) (map[string]map[string]any, error) {
	all, err := ourCRDs()
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, want := range all {
		got, err := client.Get(ctx, nameOf(want), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("get definition %s: %w", nameOf(want), err)
		default:
			out[nameOf(want)] = got.Object
		}
	}
	return out, nil
}

func (f *clusterFlags) definitionsClient() (dynamic.ResourceInterface, error) {
	rc, err := f.rest()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	return client.Resource(crdResource()), nil
}

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// definitionsOf reads definitions, or lists of them, out of a file.
func definitionsOf(name string, raw []byte) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, d := range manifest.Documents(raw) {
		body, line := d.Body()
		var o map[string]any
		if err := yaml.Unmarshal(body, &o); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		items := []any{o}
		if list, ok := o["items"].([]any); ok {
			items = list
		}
		for _, item := range items {
			if x, ok := item.(map[string]any); ok && x["kind"] == crdKind {
				out[nameOf(x)] = x
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no %s", name, crdKind)
	}
	return out, nil
}

// crdChange is what apply and adopt share: which cluster, and how far to go.
type crdChange struct {
	clusterFlags
	dryRun, force bool
}

func (c *crdChange) flags(cmd *cobra.Command, force string) {
	c.register(cmd)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "let the API server check everything and write nothing")
	cmd.Flags().BoolVar(&c.force, "force", false, force)
}

func (c *crdChange) modes() []string {
	if c.dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// each calls do for every definition of ours with the cluster's, nil when it has none. All failures are told.
func (c *crdChange) each(ctx context.Context, w io.Writer, do func(client dynamic.ResourceInterface, have, want map[string]any) (string, error)) error {
	client, err := c.definitionsClient()
	if err != nil {
		return err
	}
	have, err := liveDefinitions(ctx, client)
	if err != nil {
		return err
	}
	all, err := ourCRDs()
	if err != nil {
		return err
	}
	var errs []error
	for _, want := range all {
		said, err := do(client, have[nameOf(want)], want)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", nameOf(want), err))
			continue
		}
		if c.dryRun {
			said += " (dry run)"
		}
		fmt.Fprintf(w, "%s: %s\n", nameOf(want), said)
	}
	return errors.Join(errs...)
}

func crdsApplyCommand() *cobra.Command {
	var c crdChange
	cmd := &cobra.Command{Use: "apply", Short: "Write the definitions of this version into the cluster", Args: cobra.NoArgs,
		Long: `Write the definitions of this version into the cluster, by server-side apply. Fields of others are taken over, the marks of a Helm
release stay. Those that Argo CD or Flux keep are left alone unless --force is given: they would be written back.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.each(cmd.Context(), cmd.OutOrStdout(), func(client dynamic.ResourceInterface, have, want map[string]any) (string, error) {
				return c.apply(cmd.Context(), client, have, want)
			})
		}}
	c.flags(cmd, "also those that Argo CD or Flux keep")
	return cmd
}

func (c *crdChange) apply(ctx context.Context, client dynamic.ResourceInterface, have, want map[string]any) (string, error) {
	if have != nil && len(crddiff.Compare(have, want)) == 0 {
		return "unchanged", nil
	}
	if have != nil {
		if k := crddiff.OwnerOf(have).Keeper; k != "" && !c.force {
			return "", fmt.Errorf("%s keeps it: change it there, or say --force", k)
		}
		if err := c.dropWebhook(ctx, client, have); err != nil {
			return "", err
		}
	}
	o := (&unstructured.Unstructured{Object: want}).DeepCopy()
	if _, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: crdManager, Force: true, DryRun: c.modes()}); err != nil {
		return "", err
	}
	if have == nil {
		return "created", nil
	}
	return "changed", nil
}

// dropWebhook ends conversion by a webhook, which older charts had: ours has one schema and nobody serves the webhook any more. Apply cannot do
// it, because what it does not name stays.
func (c *crdChange) dropWebhook(ctx context.Context, client dynamic.ResourceInterface, have map[string]any) error {
	s, _, err := unstructured.NestedString(have, "spec", "conversion", "strategy")
	if err != nil || s != "Webhook" {
		return err
	}
	patch := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	_, err = client.Patch(ctx, nameOf(have), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: crdManager, DryRun: c.modes()})
	return err
}

func crdsAdoptCommand() *cobra.Command {
	var c crdChange
	var release, namespace string
	cmd := &cobra.Command{Use: "adopt", Short: "Give the cluster's definitions to a Helm release", Args: cobra.NoArgs,
		Long: `Give the cluster's definitions to a Helm release, so that "helm upgrade --install" of the chart karpenter-crd takes them over instead of
refusing them for "invalid ownership metadata". Only labels and annotations change. A definition of another release is left alone unless
--force is given.`,
		Example: "  karpenter crds adopt --release karpenter-crd --namespace kube-system\n" +
			"  helm upgrade --install karpenter-crd ./deploy/charts/karpenter-crd --namespace kube-system",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.each(cmd.Context(), cmd.OutOrStdout(), func(client dynamic.ResourceInterface, have, _ map[string]any) (string, error) {
				return c.adopt(cmd.Context(), client, have, release, namespace)
			})
		}}
	c.flags(cmd, "also those of another release")
	cmd.Flags().StringVar(&release, "release", "karpenter-crd", "name of the release")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "kube-system", "namespace of the release")
	return cmd
}

func (c *crdChange) adopt(ctx context.Context, client dynamic.ResourceInterface, have map[string]any, release, namespace string) (string, error) {
	if have == nil {
		return "not in the cluster: the release will create it", nil
	}
	patch := crddiff.Adoption(have, release, namespace)
	if patch == nil {
		return crddiff.OwnerOf(have).String() + " already", nil
	}
	if was := crddiff.OwnerOf(have); was != (crddiff.Owner{}) && !c.force {
		return "", fmt.Errorf("%s: uninstall that first, keeping the definitions, or say --force", was)
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	o, err := client.Patch(ctx, nameOf(have), types.MergePatchType, bytes.TrimSpace(raw), metav1.PatchOptions{FieldManager: crdManager, DryRun: c.modes()})
	if err != nil {
		return "", err
	}
	return crddiff.OwnerOf(o.Object).String(), nil
}
