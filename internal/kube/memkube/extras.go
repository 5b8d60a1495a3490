package memkube

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// extras are the objects of features that users switch on. The twin always tells them: who wants a feature off puts none.
type extras struct {
	overlays  map[string]model.Overlay
	buffers   map[string]model.Buffer
	templates map[string]model.Template
	// unserved are the kinds of which the CRD is missing, by resource.
	unserved map[string]model.Unserved
}

func newExtras() extras {
	return extras{overlays: map[string]model.Overlay{}, buffers: map[string]model.Buffer{}, templates: map[string]model.Template{},
		unserved: map[string]model.Unserved{}}
}

// The kinds that an API server may not know, as their CRDs are named.
const (
	Overlays = "nodeoverlays.karpenter.sh"
	Buffers  = "capacitybuffers.autoscaling.x-k8s.io"
)

// Unserve takes the CRD of Overlays or Buffers away, and with it all objects of the kind. Putting one then panics, because the test is wrong, until
// Serve brings the CRD back.
func (s *Store) Unserve(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := map[string]string{Overlays: "v1alpha1", Buffers: "v1beta1"}[resource]
	if version == "" {
		panic(fmt.Sprintf("memkube: %s is served by every cluster, or by none", resource))
	}
	keep(s, s.unserved, model.Unserved{Resource: resource, Version: version, Message: "the server could not find the requested resource"})
	if resource == Overlays {
		dropAll(s, s.overlays)
	} else {
		dropAll(s, s.buffers)
	}
}

// dropAll removes the objects, by key. Callers hold mu.
func dropAll[T model.Object](s *Store, m map[string]T) {
	for _, key := range sorted(m) {
		o := m[key]
		delete(m, key)
		s.tell(model.Change{Object: o, Gone: true})
	}
}

// Serve brings the CRD back. The kind has no objects then.
func (s *Store) Serve(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.unserved[resource]; ok {
		delete(s.unserved, resource)
		s.tell(model.Change{Object: u, Gone: true})
	}
}

// mustServe panics when the kind's CRD is missing. Callers hold mu.
func (s *Store) mustServe(resource string) {
	if _, missing := s.unserved[resource]; missing {
		panic("memkube: nobody can put an object of " + resource + ", which is not served")
	}
}

// putExtra creates or replaces one of them. Callers hold mu.
func (s *Store) putExtra(o model.Object) {
	var ignored time.Time // none of them keeps a creation time
	switch o := o.(type) {
	case model.Overlay:
		s.mustServe(Overlays)
		s.born(&o.UID, &ignored, s.overlays[o.ObjectKey()].UID, ignored)
		o.Generation = max(o.Generation, 1)
		keep(s, s.overlays, o)
	case model.Buffer:
		s.mustServe(Buffers)
		s.born(&o.UID, &ignored, s.buffers[o.ObjectKey()].UID, ignored)
		o.Generation = max(o.Generation, 1)
		keep(s, s.buffers, o)
	case model.Template:
		o.Generation = max(o.Generation, 1)
		keep(s, s.templates, o)
	}
}

// PatchOverlay implements kube.Store.
func (s *Store) PatchOverlay(ctx context.Context, name string, p kube.OverlayPatch) error {
	return s.do(ctx, OpPatchExtra, func() error {
		o, ok := s.overlays[name]
		if !ok {
			return kube.Errorf(kube.NotFound, "patch overlay %s: no such overlay", name)
		}
		o.Conditions = conditions(o.Conditions, p.Conditions, o.Generation)
		keep(s, s.overlays, o)
		return nil
	})
}

// PatchBuffer implements kube.Store.
func (s *Store) PatchBuffer(ctx context.Context, key model.PodKey, p kube.BufferPatch) error {
	return s.do(ctx, OpPatchExtra, func() error {
		b, ok := s.buffers[key.String()]
		if !ok {
			return kube.Errorf(kube.NotFound, "patch buffer %s: no such buffer", key)
		}
		b.Conditions = conditions(b.Conditions, p.Conditions, b.Generation)
		if r := p.Resolved; r != nil {
			n := r.Replicas
			b.StatusReplicas, b.StatusStrategy = &n, r.Strategy
			b.StatusTemplate, b.StatusTemplateGeneration = r.Template, r.TemplateGeneration
			if r.Template == "" {
				b.StatusTemplateGeneration = 0
			}
		}
		keep(s, s.buffers, b)
		return nil
	})
}
