package memkube

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// extras are the objects of features that users switch on. The twin always tells them: who wants a feature off puts none.
type extras struct {
	overlays  map[string]model.Overlay
	buffers   map[string]model.Buffer
	templates map[string]model.Template
}

func newExtras() extras {
	return extras{overlays: map[string]model.Overlay{}, buffers: map[string]model.Buffer{}, templates: map[string]model.Template{}}
}

// putExtra creates or replaces one of them. Callers hold mu.
func (s *Store) putExtra(o model.Object) {
	var ignored time.Time // none of them keeps a creation time
	switch o := o.(type) {
	case model.Overlay:
		s.born(&o.UID, &ignored, s.overlays[o.ObjectKey()].UID, ignored)
		o.Generation = max(o.Generation, 1)
		keep(s, s.overlays, o)
	case model.Buffer:
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
