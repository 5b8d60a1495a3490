// Package buffer answers: which pods stand for reserved room?
//
// A capacity buffer asks for room for so many pods of some shape. Resolve finds the shape and the number; Pods makes pods of it
// that exist in pictures of the world only. They wait like others, so machines are bought for them and nodes that hold their room are
// not empty; they come after every real pod, so that real pods take the room at once and the next plan makes it good. Status
// says what the buffer's status should show. The package is pure; it places nothing (place) and writes nothing (control).
package buffer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// MostPods bounds how many pods one buffer stands for, whatever it asks: a typing error must not fill the memory, nor buy
// a fortune before anyone sees it.
const MostPods = 10_000

// Reasons of a buffer's conditions, as users know them.
const (
	Resolved                = "Resolved"
	ScalableRefNotFound     = "ScalableRefNotFound"
	PodTemplateNotFound     = "PodTemplateNotFound"
	ResolutionFailed        = "ResolutionFailed"
	FitsExistingCapacity    = "FitsExistingCapacity"
	RequiresNewCapacity     = "RequiresNewCapacity"
	NotReadyForProvisioning = "NotReadyForProvisioning"
	BufferEmpty             = "BufferEmpty"
)

// Shape is what a buffer comes to.
type Shape struct {
	// Ours is false for buffers of another strategy; then nothing else is set.
	Ours bool
	// Template is what its pods look like; nil when Reason is not Resolved.
	Template *model.Template
	// Count is how many pods it stands for.
	Count  int
	Reason string
	Detail string // in words
}

// Resolve finds what the buffer asks for. templates is sorted as in model.World. O(log templates).
func Resolve(b model.Buffer, templates []model.Template) Shape {
	if b.Strategy != "" && b.Strategy != model.BufferActive {
		return Shape{}
	}
	s := Shape{Ours: true, Reason: ResolutionFailed}
	kind, name := model.KindPodTemplate, b.Template
	switch {
	case b.Unreadable != "":
		s.Detail = "a value cannot be read: " + b.Unreadable
		return s
	case b.Template != "" && b.Scalable != nil:
		s.Detail = "spec: podTemplateRef and scalableRef exclude each other"
		return s
	case b.Template == "" && b.Scalable == nil:
		s.Detail = "spec: neither podTemplateRef nor scalableRef is set"
		return s
	case b.Scalable != nil:
		kind, name = b.Scalable.Kind, b.Scalable.Name
		known := []string{model.KindDeployment, model.KindStatefulSet, model.KindReplicaSet}
		if g := b.Scalable.Group; g != "" && g != "apps" || !slices.Contains(known, kind) {
			s.Detail = fmt.Sprintf("spec.scalableRef: %s of group %q is not supported; use one of %s of group \"apps\"", kind, b.Scalable.Group, strings.Join(known, ", "))
			return s
		}
	}
	i, found := slices.BinarySearchFunc(templates, model.Template{Kind: kind, Namespace: b.Namespace, Name: name}, Order)
	if !found {
		s.Reason = PodTemplateNotFound
		if b.Scalable != nil {
			s.Reason = ScalableRefNotFound
		}
		s.Detail = fmt.Sprintf("there is no %s %s in namespace %s", kind, name, b.Namespace)
		return s
	}
	s.Template, s.Reason = &templates[i], Resolved
	s.Count, s.Detail = count(b, templates[i])
	return s
}

// Order is how templates are sorted: by kind, namespace, name.
func Order(a, b model.Template) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// count is the larger of replicas and percentage, cut down to the limits; with neither, as many as the limits hold. A
// percentage above zero is at least one pod.
func count(b model.Buffer, t model.Template) (n int, detail string) {
	asked := int64(0)
	if b.Replicas != nil {
		asked = int64(max(0, *b.Replicas))
	}
	if b.Percentage != nil && b.Scalable != nil && *b.Percentage > 0 {
		asked = max(asked, 1, (int64(*b.Percentage)*int64(max(0, t.Replicas))+99)/100)
	}
	bounded := int64(math.MaxInt64)
	for _, name := range slices.Sorted(maps.Keys(b.Limits)) {
		if each := t.Pod.Requests.Get(name); each > 0 {
			bounded = min(bounded, max(0, b.Limits[name])/each)
		}
	}
	switch {
	case b.Replicas == nil && b.Percentage == nil && bounded == math.MaxInt64:
		return 0, "neither replicas nor percentage is set, and no limit bounds what the pods ask for"
	case b.Replicas == nil && b.Percentage == nil:
		asked = bounded
	case bounded < asked:
		detail = fmt.Sprintf("the limits hold %d of %d pods", bounded, asked)
	}
	if asked = min(asked, bounded); asked > MostPods {
		return MostPods, fmt.Sprintf("a buffer holds room for %d pods at most, not %d", MostPods, asked)
	}
	return int(asked), detail
}

// Pods makes the pods of all buffers, sorted by namespace and name. The same input gives the same pods, UIDs included.
func Pods(buffers []model.Buffer, templates []model.Template) []model.Pod {
	var out []model.Pod
	for _, b := range buffers {
		s := Resolve(b, templates)
		for i := range s.Count {
			out = append(out, pod(b, *s.Template, i))
		}
	}
	slices.SortFunc(out, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// prefix marks the names of virtual pods. No real name has a colon in it.
const prefix = "buffer:"

// Of names the buffer that the pod stands for; false for real pods.
func Of(p model.PodKey) (model.PodKey, bool) {
	rest, ok := strings.CutPrefix(p.Name, prefix)
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return model.PodKey{}, false
	}
	return model.PodKey{Namespace: p.Namespace, Name: rest[:i]}, true
}

// pod makes one pod. It keeps what the shape says about where such a pod may run and what it takes there, and loses what makes a
// pod an individual: volumes, which belong to one pod, and everything about its life.
func pod(b model.Buffer, t model.Template, i int) model.Pod {
	p := t.Pod
	p.Namespace, p.Name, p.UID = b.Namespace, fmt.Sprintf("%s%s-%d", prefix, b.Name, i), fmt.Sprintf("%s-%d", b.UID, i)
	p.Virtual, p.Unschedulable, p.Priority, p.Critical = true, true, math.MinInt32, false
	p.Node, p.Nominated, p.Gated, p.DaemonSet, p.Mirror, p.Terminal = "", "", false, false, false, false
	p.DoNotDisrupt, p.DeletionCost, p.VolumeClaims, p.Volumes = "", 0, nil, nil
	p.Needs = slices.DeleteFunc(slices.Clone(p.Needs), func(w model.Why) bool { return w == model.WhyVolumes })
	return p
}

// Room is where the pods of a buffer would go now.
type Room struct {
	Nodes    int // so many fit on nodes that are there
	OnTheWay int // and so many on machines that were bought and have no node yet
}

// Status is what a buffer's status should show.
type Status struct {
	Conditions         []model.Condition // Since is left zero
	Replicas           int32
	Template           string // the PodTemplate in use, "" when the shape comes from elsewhere
	TemplateGeneration int64  // of that PodTemplate
	Strategy           string
}

// Describe says what the status of a buffer of ours should show.
func Describe(b model.Buffer, s Shape, r Room) Status {
	out := Status{Replicas: int32(s.Count), Strategy: cmp.Or(b.Strategy, model.BufferActive)}
	ready := model.Condition{Type: model.ReadyForProvisioning, Status: model.True, Reason: s.Reason, Message: s.Detail}
	there := model.Condition{Type: model.Provisioning, Status: model.False}
	if s.Template != nil && s.Template.Kind == model.KindPodTemplate {
		out.Template, out.TemplateGeneration = s.Template.Name, s.Template.Generation
	}
	switch {
	case s.Reason != Resolved:
		ready.Status = model.False
		there.Reason, there.Message = NotReadyForProvisioning, s.Detail
	case s.Count == 0:
		there.Reason, there.Message = BufferEmpty, "it asks for room for no pods"
	case r.Nodes >= s.Count:
		there.Status, there.Reason, there.Message = model.True, FitsExistingCapacity, fmt.Sprintf("there is room for all %d pods", s.Count)
	default:
		there.Reason = RequiresNewCapacity
		there.Message = fmt.Sprintf("there is room for %d of %d pods; machines on their way have room for %d", r.Nodes, s.Count, r.OnTheWay)
	}
	for _, c := range []model.Condition{ready, there} {
		c.ObservedGeneration = b.Generation
		out.Conditions = append(out.Conditions, c)
	}
	return out
}
