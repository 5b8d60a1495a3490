package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Asides tells of every object that is set aside because something in it cannot be read, on the object itself.
func (r *Recorder) Asides(list []model.Object) {
	r.metrics.unreadable.Reset()
	for _, o := range list {
		r.metrics.unreadable.WithLabelValues(KindOf(o), o.ObjectKey()).Set(1)
		r.say(o, kube.Warning, "Unreadable", "A value cannot be read, and nothing is decided by this object until it is corrected: %s", model.Unreadable(o))
	}
	r.onChange("objects", len(list) == 0, func() string {
		var names []string
		for _, o := range list {
			names = append(names, fmt.Sprintf("%s %s: %s", KindOf(o), o.ObjectKey(), model.Unreadable(o)))
		}
		return mention(names)
	}, "objects are set aside because a value in them cannot be read; nothing is decided by them until it is corrected")
}

// Unserved tells of kinds that the API server does not serve. Their features wait.
func (r *Recorder) Unserved(list []model.Unserved) {
	r.metrics.unserved.Reset()
	for _, u := range list {
		r.metrics.unserved.WithLabelValues(u.Resource).Set(1)
		r.say(u, kube.Warning, "Unserved", "The API server does not serve %s in version %s; the feature that needs it waits: %s. "+
			"Install the CRDs of this version (chart karpenter-crd), or switch the feature gate off", u.Resource, u.Version, u.Message)
	}
	r.onChange("kinds", len(list) == 0, func() string {
		var names []string
		for _, u := range list {
			names = append(names, u.Resource+"/"+u.Version+": "+u.Message)
		}
		return mention(names)
	}, "the API server does not serve kinds that a feature gate asks for; only these features wait. Install the CRDs of this version, or switch the gates off")
}

// Pruned is what the API server did not keep of an object that we wrote: its CRD does not know the fields.
type Pruned struct {
	About  model.Object
	Fields []string // paths
}

// NotKept says on an object that fields of its status are lost. The controller decides by its own picture; people see less.
func (r *Recorder) NotKept(p Pruned) {
	r.say(p.About, kube.Warning, "FieldsPruned", "The API server does not keep %s: the CRD of this kind is older than the controller. "+
		"Install the CRDs of this version (chart karpenter-crd)", strings.Join(p.Fields, ", "))
}

// Pruned shows which fields are not kept, by kind.
func (r *Recorder) Pruned(list []Pruned) {
	r.metrics.pruned.Reset()
	names := map[string]bool{}
	for _, p := range list {
		for _, f := range p.Fields {
			r.metrics.pruned.WithLabelValues(KindOf(p.About), f).Set(1)
			names[KindOf(p.About)+" "+f] = true
		}
	}
	r.onChange("fields", len(names) == 0, func() string { return mention(slices.Sorted(maps.Keys(names))) },
		"the API server does not keep fields that we write, because their CRDs are older than this version; they are written again every few minutes at most. Install the CRDs of this version")
}

// maxAsides bounds how many a log line names.
const maxAsides = 20

func mention(names []string) string { return list(names, maxAsides) }

// onChange logs what there is when it differs from what was logged last under that name; an end of it, too.
func (r *Recorder) onChange(about string, none bool, text func() string, message string) {
	now := ""
	if !none {
		now = text()
	}
	r.mu.Lock()
	before := r.told[about]
	if r.told == nil {
		r.told = map[string]string{}
	}
	r.told[about] = now
	r.mu.Unlock()
	switch {
	case now == before:
	case none:
		r.log.Info("all of them are right again", "what", about)
	default:
		r.log.Error(nil, message, "which", now)
	}
}

// KindOf names an object's kind as users know it.
func KindOf(o model.Object) string {
	switch o := o.(type) {
	case model.Pool:
		return "NodePool"
	case model.Class:
		return o.Ref.Kind
	case model.Claim:
		return "NodeClaim"
	case model.Node:
		return "Node"
	case model.Pod:
		return "Pod"
	case model.Unserved:
		return "CustomResourceDefinition"
	case model.Overlay:
		return "NodeOverlay"
	case model.Buffer:
		return "CapacityBuffer"
	}
	return fmt.Sprintf("%T", o)
}
