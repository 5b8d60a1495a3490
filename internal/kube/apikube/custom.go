package apikube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
)

// Custom resources have a way of their own to the API server, because a typed client reads a list whole or not at all: one object that
// the published types cannot hold would hide all others of its kind. The API server's own kinds go the typed way: what it keeps of
// those went through the same Go types, and pods are too many to be looked at twice.

// customResources maps the Go types to the names of their resources in paths.
func customResources() map[string]client.Object {
	return map[string]client.Object{
		"nodepools": &karpv1.NodePool{}, "nodeclaims": &karpv1.NodeClaim{}, "aksnodeclasses": &v1beta1.AKSNodeClass{},
		"nodeoverlays": &v1alpha1.NodeOverlay{}, "capacitybuffers": &bufferv1beta1.CapacityBuffer{},
	}
}

// custom is one kind of custom resource at the API server.
type custom struct {
	rest     rest.Interface
	resource string
}

// customs makes the way to each custom resource, by kind. It does not talk to the API server.
func customs(cfg *rest.Config, scheme *runtime.Scheme, transport *http.Client) (map[schema.GroupVersionKind]custom, error) {
	out := map[schema.GroupVersionKind]custom{}
	for resource, o := range customResources() {
		kinds, _, err := scheme.ObjectKinds(o)
		if err != nil {
			return nil, err
		}
		version := kinds[0].GroupVersion()
		own := rest.CopyConfig(cfg)
		own.APIPath, own.GroupVersion = "/apis", &version
		own.ContentType, own.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		own.NegotiatedSerializer = texts{serializer.NewCodecFactory(scheme).WithoutConversion()}
		c, err := rest.RESTClientForConfigAndClient(own, transport)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", resource, err)
		}
		out[kinds[0]] = custom{rest: c, resource: resource}
	}
	return out, nil
}

// custom returns the way to a custom resource; false for other kinds.
func (s *Store) custom(o runtime.Object) (custom, bool) {
	kinds, _, err := s.client.Scheme().ObjectKinds(o)
	if err != nil {
		return custom{}, false
	}
	c, ok := s.customs[kinds[0]]
	return c, ok
}

// list reads a page of objects and hands each to tell.
func (c custom) list(ctx context.Context, o metav1.ListOptions, tell func(*written)) (metav1.ListMeta, error) {
	raw, err := body(c.rest.Get().Resource(c.resource).VersionedParams(&o, metav1.ParameterCodec).Do(ctx))
	if err != nil {
		return metav1.ListMeta{}, err
	}
	var page struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return metav1.ListMeta{}, fmt.Errorf("%s: read the list: %w", c.resource, err)
	}
	for _, item := range page.Items {
		tell(&written{Raw: item})
	}
	return page.Metadata, nil
}

// watch follows changes; the events hold what is written.
func (c custom) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.rest.Get().Resource(c.resource).VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
}

// get reads one object, without what of it cannot be read.
func (c custom) get(ctx context.Context, key client.ObjectKey, o client.Object) error {
	return c.into(c.rest.Get().NamespaceIfScoped(key.Namespace, key.Namespace != "").Resource(c.resource).Name(key.Name).Do(ctx), o)
}

// patch sends a merge patch: what the patch does not name, readable or not, stays as it is. o is the answer; what of
// the patch is not in it is returned.
func (c custom) patch(ctx context.Context, o client.Object, data []byte, status bool) ([]string, error) {
	var part []string
	if status {
		part = []string{"status"}
	}
	answer, err := body(c.rest.Patch(types.MergePatchType).NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").Resource(c.resource).
		Name(o.GetName()).SubResource(part...).Body(data).Do(ctx))
	if err != nil {
		return nil, err
	}
	_, err = readLeniently(answer, o)
	return dropped(data, answer), err
}

// into reads an answer.
func (c custom) into(r rest.Result, o client.Object) error {
	raw, err := body(r)
	if err != nil {
		return err
	}
	_, err = readLeniently(raw, o)
	return err
}

func body(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err // with what the API server said
	}
	return r.Raw()
}

// written is an object as the API server wrote it.
type written struct {
	metav1.TypeMeta
	Raw []byte
}

// DeepCopyObject implements runtime.Object. Nobody changes a text.
func (t *written) DeepCopyObject() runtime.Object {
	out := *t
	return &out
}

// texts is a serializer that leaves objects as they came, so that a watch can give each of them; only errors are read.
type texts struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (t texts) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return textDecoder{t.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type textDecoder struct{ errors runtime.Decoder }

// Decode implements runtime.Decoder.
func (d textDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	t := &written{Raw: append([]byte(nil), data...)}
	if err := json.Unmarshal(data, &t.TypeMeta); err != nil {
		return nil, nil, err
	}
	gvk := t.GroupVersionKind()
	if gvk.Kind == "Status" && gvk.Group == "" {
		return d.errors.Decode(data, defaults, into)
	}
	return t, &gvk, nil
}
