package apikube

import (
	"context"
	"encoding/json"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// row is what a reflector gets to see of an object: who it is, and the noun that it decodes to. The object itself is
// dropped as soon as it was read, so that a first list of a hundred thousand pods is never in memory as pods of the API.
type row struct {
	metav1.TypeMeta
	metav1.ObjectMeta // namespace, name and version; annotations of bookmarks
	noun              model.Object
}

// DeepCopyObject implements runtime.Object. Nobody changes a row: the nouns may be shared.
func (r *row) DeepCopyObject() runtime.Object {
	out := *r
	return &out
}

// rowList is a page of rows.
type rowList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject implements runtime.Object.
func (l *rowList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = append([]runtime.Object(nil), l.Items...)
	return &out
}

// newRow decodes an object. Of one that is gone, only who it is counts.
func (f *following) newRow(k kind, o client.Object) *row {
	return &row{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), ResourceVersion: o.GetResourceVersion()},
		noun:       k.decode(f, o),
	}
}

// textRow is newRow for a custom resource, which stands alone: what of it cannot be read is told with it.
func (f *following) textRow(k kind, t *written) (*row, error) {
	o, ok := k.object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, kube.Errorf(kube.Unknown, "a copy of %s is no object", k.name)
	}
	unreadable, err := readLeniently(t.Raw, o)
	if err != nil {
		return nil, kube.Errorf(kube.Unknown, "%s: %w", k.name, err)
	}
	r := f.newRow(k, o)
	if unreadable != "" {
		r.noun = model.Aside(r.noun, unreadable)
	}
	return r, nil
}

// list reads a page and decodes it.
func (s *Store) list(ctx context.Context, f *following, k kind, o metav1.ListOptions) (runtime.Object, error) {
	if c, ok := s.custom(k.object); ok {
		return c.rows(ctx, f, k, o)
	}
	page := k.list()
	if err := s.client.List(ctx, page, &client.ListOptions{Raw: &o, Limit: o.Limit, Continue: o.Continue}); err != nil {
		return nil, err
	}
	out := &rowList{ListMeta: metav1.ListMeta{
		ResourceVersion: page.GetResourceVersion(), Continue: page.GetContinue(), RemainingItemCount: page.GetRemainingItemCount(),
	}}
	err := meta.EachListItem(page, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		if !ok {
			return kube.Errorf(kube.Unknown, "the list holds a %T", item)
		}
		out.Items = append(out.Items, f.newRow(k, o))
		return nil
	})
	return out, err
}

// rows is list for a custom resource.
func (c custom) rows(ctx context.Context, f *following, k kind, o metav1.ListOptions) (runtime.Object, error) {
	out := &rowList{}
	var failed error
	meta, err := c.list(ctx, o, func(t *written) {
		r, err := f.textRow(k, t)
		if failed == nil {
			failed = err
		}
		out.Items = append(out.Items, r)
	})
	if out.ListMeta = meta; err != nil {
		return nil, err
	}
	return out, failed
}

// decodingWatch decodes what a watch gives. Its goroutine ends with the watch below it, or with Stop.
type decodingWatch struct {
	below watch.Interface
	out   chan watch.Event
	done  chan struct{}
	stop  sync.Once
}

func newDecodingWatch(below watch.Interface, f *following, k kind) *decodingWatch {
	w := &decodingWatch{below: below, out: make(chan watch.Event), done: make(chan struct{})}
	go w.run(f, k)
	return w
}

func (w *decodingWatch) run(f *following, k kind) {
	defer close(w.out)
	for e := range w.below.ResultChan() {
		if e.Type != watch.Error {
			e = f.decoded(k, e)
		}
		select {
		case w.out <- e:
		case <-w.done:
			return
		}
	}
}

// decoded returns the event with a row in place of what the watch gave.
func (f *following) decoded(k kind, e watch.Event) watch.Event {
	switch o := e.Object.(type) {
	case client.Object:
		if e.Type == watch.Bookmark {
			e.Object = bookmark(o)
		} else {
			e.Object = f.newRow(k, o)
		}
	case *written:
		if e.Type == watch.Bookmark {
			var head metav1.PartialObjectMetadata
			_ = json.Unmarshal(o.Raw, &head) // a bookmark that says nothing is passed over
			e.Object = bookmark(&head)
			return e
		}
		r, err := f.textRow(k, o)
		if err != nil {
			status := apierrors.NewInternalError(err).Status()
			return watch.Event{Type: watch.Error, Object: &status} // lists anew
		}
		e.Object = r
	}
	return e
}

func bookmark(o client.Object) *row {
	return &row{ObjectMeta: metav1.ObjectMeta{ResourceVersion: o.GetResourceVersion(), Annotations: o.GetAnnotations()}}
}

// Stop implements watch.Interface.
func (w *decodingWatch) Stop() {
	w.stop.Do(func() { close(w.done) })
	w.below.Stop()
}

// ResultChan implements watch.Interface.
func (w *decodingWatch) ResultChan() <-chan watch.Event { return w.out }
