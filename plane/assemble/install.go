package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// fieldManager owns what the lab installs.
	fieldManager = "karpenter-lab"
	// establishLimit bounds the wait for the API server to serve new kinds; it takes well under a second.
	establishLimit = 30 * time.Second
	yamlBuffer     = 4096
)

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

// apply applies the objects. It may be repeated.
func (in *installer) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	return in.each(objects, Namespace, "apply", func(to dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := to.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}

// Add creates those objects of a stream of YAML documents that the cluster has not; what is there stays as it is. Where
// an object names no namespace it is default.
func (s State) Add(ctx context.Context, manifests []byte) error {
	objects, err := decode(manifests)
	if err != nil {
		return fmt.Errorf("read the manifests: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return err
	}
	in, err := newInstaller(cfg)
	if err != nil {
		return err
	}
	return in.each(objects, metav1.NamespaceDefault, "create", func(to dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := to.Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// each does something to where each object belongs; verb says what, and namespace where it is if the object does not say.
func (in *installer) each(objects []*unstructured.Unstructured, namespace, verb string,
	do func(dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	groups, err := restmapper.GetAPIGroupResources(in.disco)
	if err != nil {
		return fmt.Errorf("discover the API: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return fmt.Errorf("%s %s %s: %w", verb, gvk.Kind, o.GetName(), err)
		}
		var to dynamic.ResourceInterface = in.client.Resource(m.Resource)
		if m.Scope.Name() == "namespace" {
			ns := o.GetNamespace()
			if ns == "" {
				ns = namespace
			}
			to = in.client.Resource(m.Resource).Namespace(ns)
		}
		if err := do(to, o); err != nil {
			return fmt.Errorf("%s %s %s: %w", verb, gvk.Kind, o.GetName(), err)
		}
	}
	return nil
}

// established waits until the API server serves every custom resource that is defined.
func (in *installer) established(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	crds := in.client.Resource(schema.GroupVersionResource{Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions"})
	waits := ""
	err := until(ctx, func() bool {
		got, err := crds.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		i := slices.IndexFunc(got.Items, func(o unstructured.Unstructured) bool { return !isEstablished(o) })
		if i >= 0 {
			waits = got.Items[i].GetName()
		}
		return i < 0
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w", waits, err)
	}
	return nil
}

func isEstablished(o unstructured.Unstructured) bool {
	var crd apiextensionsv1.CustomResourceDefinition
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd) != nil {
		return false
	}
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
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
