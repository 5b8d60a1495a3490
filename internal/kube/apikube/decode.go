package apikube

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/karpenter/pkg/apis"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/kube"
)

// ErrKind says that an object is of a kind that no decider looks at.
var ErrKind = errors.New("a kind that is not looked at")

// Reader tells a sink of objects that stand in a file, in the way in which Follow tells of those in a cluster: the same
// decoding, and the joins are left to the sink as well. Features that users switch on count as on. It calls neither
// Begin nor Synced. But for Decode it is not for concurrent use. Make one with NewReader.
type Reader struct {
	f     *following
	known map[schema.GroupVersionKind]kind
	kinds []schema.GroupVersionKind // keys of known, in the order of Follow
	types map[reflect.Type]kind     // by the type of what Tell is given
}

// NewReader returns a reader that tells sink.
func NewReader(sink kube.Sink) (*Reader, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	r := &Reader{
		f:     &following{sink: sink, failures: map[string]int{}},
		known: map[schema.GroupVersionKind]kind{},
		types: map[reflect.Type]kind{},
	}
	for _, k := range slices.Concat(kinds(), Extras{Overlays: true, Buffers: true}.kinds()) {
		gvks, _, err := scheme.ObjectKinds(k.object)
		if err != nil {
			return nil, fmt.Errorf("apikube: %s: %w", k.name, err)
		}
		r.types[reflect.TypeOf(k.object)] = k
		for _, gvk := range gvks {
			r.known[gvk], r.kinds = k, append(r.kinds, gvk)
		}
	}
	return r, nil
}

// Report is what there is to say about an object that could be read.
type Report struct {
	Unknown []string      // fields that nobody knows, in words; they have no effect
	Faults  []admit.Fault // why no API server would have taken it
}

// Check decodes one object, written as JSON, and tells nobody. An error is ErrKind (wrapped) for kinds that no decider looks at.
func (r *Reader) Check(object []byte) (Report, error) {
	t := r.headed(object)
	if t.err != nil {
		return Report{}, t.err
	}
	return t.report, nil
}

// Typed is an object that was decoded, and not told yet; or why it could not be.
type Typed struct {
	kind   kind
	object client.Object
	report Report
	err    error
}

// Decode decodes one object, written as JSON, and tells nobody. The caller has read its apiVersion and kind. Unlike the rest of Reader it
// is for concurrent use: it takes by far the most of the time.
func (r *Reader) Decode(object []byte, apiVersion, kind string) (t Typed) {
	t.kind, t.object, t.report.Unknown, t.err = r.typed(object, schema.FromAPIVersionAndKind(apiVersion, kind))
	if t.err == nil {
		t.report.Faults = refused(t.object)
	}
	return t
}

// headed is Decode for who does not know what the object is.
func (r *Reader) headed(object []byte) Typed {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &head); err != nil {
		return Typed{err: fmt.Errorf("apiVersion and kind: %w", err)}
	}
	return r.Decode(object, head.APIVersion, head.Kind)
}

// Read decodes one object, written as JSON, and tells the sink. Errors and the report are those of Check.
func (r *Reader) Read(object []byte) (Report, error) { return r.Take(r.headed(object)) }

// Take tells the sink of an object that Decode returned, once. Errors and the report are those of Check.
func (r *Reader) Take(t Typed) (Report, error) {
	if t.err != nil {
		return Report{}, t.err
	}
	k, o := t.kind, t.object
	if p, ok := o.(*corev1.Pod); ok && p.UID == "" { // no API server has filled in what it fills in
		p.Spec = *filled(&p.Spec)
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.f.tell(k.decode(r.f, o), false)
	return t.report, nil
}

// Tell tells the sink of an object that is decoded already, as a watch delivers it. The error is ErrKind (wrapped) for kinds that no
// decider looks at.
func (r *Reader) Tell(o client.Object) error {
	k, ok := r.types[reflect.TypeOf(o)]
	if !ok {
		return fmt.Errorf("%T: %w", o, ErrKind)
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.f.tell(k.decode(r.f, o), false)
	return nil
}

func (r *Reader) typed(object []byte, gvk schema.GroupVersionKind) (kind, client.Object, []string, error) {
	if gvk.Group == v1beta1.Group && gvk.Version == v1alpha2.Version {
		// The versions have one schema: the API server changes the name only, and so do we.
		gvk.Version = v1beta1.Version
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(object, &fields); err != nil {
			return kind{}, nil, nil, err
		}
		fields["apiVersion"] = json.RawMessage(`"` + v1beta1.GroupVersion().String() + `"`)
		var err error
		if object, err = json.Marshal(fields); err != nil {
			return kind{}, nil, nil, err
		}
	}
	k, ok := r.known[gvk]
	if !ok {
		return kind{}, nil, nil, r.stranger(gvk)
	}
	if longNumber(object) { // a file holds what no API server has looked at: reading it must end
		if unreadable, err := readLeniently(object, k.object.DeepCopyObject()); err == nil && unreadable != "" {
			return kind{}, nil, nil, errors.New(unreadable)
		}
	}
	o, ok := k.object.DeepCopyObject().(client.Object)
	if !ok {
		return kind{}, nil, nil, fmt.Errorf("%s: decoded to a %T", gvk, k.object)
	}
	// As an API server's serializer does, which would look for apiVersion and kind once more.
	strict, err := kjson.UnmarshalStrict(object, o)
	if err != nil {
		return kind{}, nil, nil, err
	}
	var unknown []string
	for _, e := range strict {
		unknown = append(unknown, e.Error())
	}
	return k, o, unknown, nil
}

// stranger says why a kind is not read. Versions that the API servers of today no longer serve are an error of the
// file: silence would lose a pool.
func (r *Reader) stranger(gvk schema.GroupVersionKind) error {
	if gvk.Kind == "" || gvk.Version == "" {
		return errors.New("no apiVersion or no kind: is this a Kubernetes object?")
	}
	// The core group has one version for ever; of others, a cluster may serve older or newer ones.
	ours := gvk.Group == apis.Group || gvk.Group == v1beta1.Group || gvk.Group == ""
	for _, known := range r.kinds {
		switch {
		case known.Group != gvk.Group || !strings.EqualFold(known.Kind, gvk.Kind):
		case known.Kind != gvk.Kind:
			return fmt.Errorf("there is no kind %q: want %q", gvk.Kind, known.Kind)
		case ours:
			hint := ""
			if gvk.Group == apis.Group && gvk.Version == "v1beta1" {
				hint = " (karpenter convert rewrites it)"
			}
			return fmt.Errorf("%s is not served any more: want %s%s", gvk.GroupVersion(), known.GroupVersion(), hint)
		}
	}
	return fmt.Errorf("%s %s: %w", gvk.GroupVersion(), gvk.Kind, ErrKind)
}
