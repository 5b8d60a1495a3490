package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/karpenter-aks/karpenter/plane"
)

const (
	// fieldManager owns what the lab installs.
	fieldManager = "karpenter-lab"
	// establishLimit bounds the wait for the API server to serve new kinds; it takes well under a second.
	establishLimit = 30 * time.Second
	yamlBuffer     = 4096
)

// withheld are kinds of the chart that the lab does not install: the controller runs as a process here, so there is
// nothing for these to run, guard, or scrape. Everything else is installed as a user would get it.
func withheld(kind string) bool {
	return slices.Contains([]string{"Deployment", "PodDisruptionBudget", "Service", "ServiceMonitor", "PodMonitor", "PrometheusRule"}, kind)
}

// render returns the objects of a chart for the given values, in the order of their file names.
func render(charts fs.FS, root string, values map[string]any) ([]*unstructured.Unstructured, error) {
	var files []*loader.BufferedFile
	err := fs.WalkDir(charts, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(charts, path)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(path, root+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", root, err)
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", root, err)
	}
	release := chartutil.ReleaseOptions{Name: "karpenter", Namespace: Namespace, Revision: 1, IsInstall: true}
	cluster, err := chartutil.ParseKubeVersion(plane.Version)
	if err != nil {
		return nil, err
	}
	able := chartutil.DefaultCapabilities.Copy()
	able.KubeVersion = *cluster
	all, err := chartutil.ToRenderValues(chart, values, release, able)
	if err != nil {
		return nil, fmt.Errorf("values of chart %s: %w", root, err)
	}
	out, err := engine.Engine{}.Render(chart, all)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %w", root, err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".tpl") {
			continue
		}
		more, err := decode([]byte(out[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// decode reads a stream of YAML documents; empty ones are left out.
func decode(stream []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	dec := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), yamlBuffer)
	for {
		o := &unstructured.Unstructured{}
		if err := dec.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// installer applies objects to a cluster.
type installer struct {
	disco  discovery.DiscoveryInterface
	client dynamic.Interface
}

func newInstaller(cfg *rest.Config) (*installer, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &installer{disco: d, client: c}, nil
}

// apply applies the objects, custom resource definitions first, and waits until these are served. It may be repeated.
func (in *installer) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	groups, err := restmapper.GetAPIGroupResources(in.disco)
	if err != nil {
		return fmt.Errorf("discover the API: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", gvk.Kind, o.GetName(), err)
		}
		var to dynamic.ResourceInterface = in.client.Resource(m.Resource)
		if m.Scope.Name() == "namespace" {
			ns := o.GetNamespace()
			if ns == "" {
				ns = Namespace
			}
			to = in.client.Resource(m.Resource).Namespace(ns)
		}
		if _, err := to.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", gvk.Kind, o.GetName(), err)
		}
	}
	return nil
}

// established waits until the API server serves every definition among the objects.
func (in *installer) established(ctx context.Context, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	crds := in.client.Resource(schema.GroupVersionResource{Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"})
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		err := until(ctx, func() bool {
			got, err := crds.Get(ctx, o.GetName(), metav1.GetOptions{})
			if err != nil {
				return false
			}
			var crd apiextensionsv1.CustomResourceDefinition
			if runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, &crd) != nil {
				return false
			}
			return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			})
		})
		if err != nil {
			return fmt.Errorf("wait until %s is served: %w", o.GetName(), err)
		}
	}
	return nil
}

// pollEvery is the pause between two looks.
const pollEvery = 100 * time.Millisecond

// until asks until the answer is yes or ctx ends.
func until(ctx context.Context, ask func() bool) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}

// containerEnv returns the literal environment of the chart's controller: what its pod would see.
func containerEnv(objects []*unstructured.Unstructured) (map[string]string, error) {
	out := map[string]string{}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
			return nil, fmt.Errorf("read the chart's deployment: %w", err)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				if e.ValueFrom == nil { // references name pods and limits, which a process has not
					out[e.Name] = e.Value
				}
			}
		}
	}
	return out, nil
}
