package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// present is a moment that every store can keep: whole seconds, UTC.
func present() time.Time { return time.Now().UTC().Truncate(time.Second) }

func createdClaimIsTold(t *testing.T, w World) {
	b := newBench(t, w)
	want := b.order("c")
	made := b.claim(t, "c")
	if made.UID == "" || made.Created.IsZero() || made.Generation == 0 {
		t.Errorf("the answer lacks UID, creation time or generation: %+v", made)
	}
	got := see(t, b.p, model.Claim{Name: "c"}, any1)
	if !reflect.DeepEqual(got, made) {
		t.Errorf("told\n%+v\nanswered\n%+v", got, made)
	}
	if !slices.Equal(got.Finalizers, []string{model.Finalizer}) {
		t.Errorf("finalizers %v", got.Finalizers)
	}
	want.UID, want.Created, want.Generation, want.Finalizers = got.UID, got.Created, got.Generation, got.Finalizers
	if !reflect.DeepEqual(got, want) {
		t.Errorf("told\n%+v\nwant\n%+v", got, want)
	}
}

func takenName(t *testing.T, w World) {
	b := newBench(t, w)
	first := b.claim(t, "c")
	_, err := b.s.CreateClaim(t.Context(), b.order("c"))
	code(t, err, kube.Exists)
	if got := see(t, b.p, model.Claim{Name: "c"}, any1); got.UID != first.UID {
		t.Errorf("the first claim was replaced: UID %s, want %s", got.UID, first.UID)
	}
}

func invalidClaim(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.order("c")
	c.Class = model.ClassRef{}
	_, err := b.s.CreateClaim(t.Context(), c)
	code(t, err, kube.Invalid)
}

func patchOnlyNamed(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	capacity := model.Resources{CPU: 2000, Memory: 8 << 30, Ephemeral: 100 << 30, Pods: 110}
	allocatable := model.Resources{CPU: 1900, Memory: 6 << 30, Ephemeral: 90 << 30, Pods: 110}
	since := present().Add(-time.Minute)
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{
		UID:        c.UID,
		ProviderID: "azure:///vm/1", ImageID: "image-1", Capacity: &capacity, Allocatable: &allocatable,
		Labels:      map[string]string{model.LabelZone: "z-1"},
		Annotations: map[string]string{"note": "x"},
		Conditions:  []model.Condition{{Type: model.Launched, Status: model.True, Reason: model.Launched, Since: since, ObservedGeneration: c.Generation}},
	}))
	want := c
	want.ProviderID, want.ImageID, want.Capacity, want.Allocatable = "azure:///vm/1", "image-1", capacity, allocatable
	want.Labels, want.Annotations = with(c.Labels, model.LabelZone, "z-1"), with(c.Annotations, "note", "x")
	want.Conditions = []model.Condition{{Type: model.Launched, Status: model.True, Reason: model.Launched, Since: since, ObservedGeneration: c.Generation}}
	got := see(t, b.p, c, func(c model.Claim) bool { return c.Is(model.Launched) && c.Labels[model.LabelZone] != "" })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the first patch\n%+v\nwant\n%+v", got, want)
	}

	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{NodeName: "n", LastPodEvent: since}))
	want.NodeName, want.LastPodEvent = "n", since
	got = see(t, b.p, c, func(c model.Claim) bool { return c.NodeName == "n" })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the second patch\n%+v\nwant\n%+v", got, want)
	}
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{}))
}

func with(m map[string]string, k, v string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[k] = v
	return out
}

func conditionTimes(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	first, later := present().Add(-time.Hour), present().Add(-time.Minute)
	set := func(status model.Status, message string, since time.Time) model.Condition {
		must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{Conditions: []model.Condition{
			{Type: model.Initialized, Status: status, Reason: "Exam", Message: message, Since: since, ObservedGeneration: c.Generation},
		}}))
		got := see(t, b.p, c, func(c model.Claim) bool {
			x, _ := model.FindCondition(c.Conditions, model.Initialized)
			return x.Message == message
		})
		x, _ := model.FindCondition(got.Conditions, model.Initialized)
		if len(got.Conditions) != 1 || x.Status != status {
			t.Errorf("conditions %+v, want one with status %s", got.Conditions, status)
		}
		return x
	}
	if x := set(model.Unknown, "waiting", first); !x.Since.Equal(first) || x.ObservedGeneration != c.Generation {
		t.Errorf("new: %+v, want since %v, generation %d", x, first, c.Generation)
	}
	if x := set(model.Unknown, "still waiting", later); !x.Since.Equal(first) {
		t.Errorf("same status: since %v, want it unmoved at %v", x.Since, first)
	}
	if x := set(model.True, "there", later); !x.Since.Equal(later) {
		t.Errorf("other status: since %v, want %v", x.Since, later)
	}
}

func conditionOrder(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	set := func(typ string, ago time.Duration) {
		must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{Conditions: []model.Condition{
			{Type: typ, Status: model.True, Reason: "Exam", Since: present().Add(-ago), ObservedGeneration: c.Generation},
		}}))
	}
	set(model.Ready, time.Minute)
	set(model.Registered, 2*time.Minute)
	set(model.Launched, 3*time.Minute)
	set(model.Consolidatable, time.Second)
	got := see(t, b.p, c, func(c model.Claim) bool { return len(c.Conditions) == 4 })
	var order []string
	for _, x := range got.Conditions {
		order = append(order, x.Type)
	}
	if want := []string{model.Launched, model.Registered, model.Consolidatable, model.Ready}; !slices.Equal(order, want) {
		t.Errorf("conditions %v, want %v: in the order in which they came, and Ready last", order, want)
	}
}

func dropCondition(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{Conditions: []model.Condition{
		{Type: model.Consolidatable, Status: model.True, Reason: "A"}, {Type: model.Drifted, Status: model.True, Reason: "B"},
	}}))
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{DropConditions: []string{model.Consolidatable, "NeverThere"}}))
	got := see(t, b.p, c, func(c model.Claim) bool { return len(c.Conditions) == 1 })
	if x := got.Conditions[0]; x.Type != model.Drifted || x.Since.IsZero() || x.ObservedGeneration != c.Generation {
		t.Errorf("left: %+v, want Drifted with a time and generation %d", x, c.Generation)
	}
}

func dropAnnotation(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{Annotations: map[string]string{"gone": "x", "stays": "y"}}))
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{Annotations: map[string]string{"gone": "", "never": ""}}))
	got := see(t, b.p, c, func(c model.Claim) bool { return c.Annotations["stays"] == "y" && c.Annotations["gone"] != "x" })
	if _, there := got.Annotations["gone"]; there {
		t.Errorf("annotations %v", got.Annotations)
	}
	if _, there := got.Annotations["never"]; there {
		t.Errorf("annotations %v", got.Annotations)
	}
}

func patchWrongUID(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	n := see(t, b.p, model.Node{Name: "n"}, any1)
	other := "11111111-2222-4333-8444-555555555555"
	code(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{UID: other, ProviderID: "x", DropFinalizer: true}), kube.NotFound)
	code(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{UID: other, Labels: map[string]string{"x": "y"}}), kube.NotFound)
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{UID: c.UID, NodeName: "n"}))
	must(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{UID: n.UID, Labels: map[string]string{"mark": "1"}}))
	got := see(t, b.p, c, func(c model.Claim) bool { return c.NodeName == "n" })
	if got.ProviderID != "" || len(got.Finalizers) != 1 {
		t.Errorf("the refused patch had effect: %+v", got)
	}
	if got := see(t, b.p, n, func(n model.Node) bool { return n.Labels["mark"] == "1" }); got.Labels["x"] != "" {
		t.Errorf("the refused patch had effect: %v", got.Labels)
	}
}

func notFound(t *testing.T, w World) {
	b := newBench(t, w)
	ctx := t.Context()
	missing := b.class
	missing.Name = "missing"
	for what, err := range map[string]error{
		"PatchClaim":  b.s.PatchClaim(ctx, "missing", kube.ClaimPatch{NodeName: "n"}),
		"DeleteClaim": b.s.DeleteClaim(ctx, "missing"),
		"PatchNode":   b.s.PatchNode(ctx, "missing", kube.NodePatch{AddFinalizer: true}),
		"DeleteNode":  b.s.DeleteNode(ctx, "missing"),
		"PatchPool":   b.s.PatchPool(ctx, "missing", kube.PoolPatch{Nodes: new(int64)}),
		"PatchClass":  b.s.PatchClass(ctx, missing, kube.ClassPatch{AddFinalizer: true}),
		"RemovePod":   b.s.RemovePod(ctx, kube.Removal{Pod: model.PodKey{Namespace: "default", Name: "missing"}}),
		"force": b.s.RemovePod(ctx, kube.Removal{Pod: model.PodKey{Namespace: "default", Name: "missing"}, UID: "1", Force: true,
			GraceSeconds: new(int64)}),
	} {
		if kube.CodeOf(err) != kube.NotFound {
			t.Errorf("%s: %v, want code %s", what, err, kube.NotFound)
		}
	}
}

func deleteClaim(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	must(t, b.s.DeleteClaim(t.Context(), "c"))
	must(t, b.s.DeleteClaim(t.Context(), "c")) // asking twice is asking once
	see(t, b.p, c, func(c model.Claim) bool { return c.Deleting() })
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{UID: c.UID, DropFinalizer: true,
		Conditions: []model.Condition{{Type: model.InstanceTerminating, Status: model.True, Reason: "Exam"}}}))
	gone(t, b.p, c)
	code(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{DropFinalizer: true}), kube.NotFound)
	again := b.claim(t, "c")
	if again.UID == c.UID {
		t.Error("a new claim of the same name has the old one's UID")
	}
}

func finalizerTwice(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{AddFinalizer: true})) // it has it: nothing to do
	must(t, b.s.DeleteClaim(t.Context(), "c"))
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{AddFinalizer: true}))
	b.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	must(t, b.s.DeleteNode(t.Context(), "n"))
	code(t, b.s.PatchNode(t.Context(), "n", kube.NodePatch{AddFinalizer: true}), kube.NotFound)
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{DropFinalizer: true}))
	gone(t, b.p, c)
}

func poolStatus(t *testing.T, w World) {
	b := newBench(t, w)
	nodes, used := int64(3), model.Resources{CPU: 6000, Memory: 24 << 30, Pods: 330}
	must(t, b.s.PatchPool(t.Context(), "exam", kube.PoolPatch{
		Nodes: &nodes, Resources: &used, ClassGeneration: 1, Annotations: map[string]string{model.AnnotationPoolHash: "42"},
		Conditions: []model.Condition{{Type: model.Ready, Status: model.True, Reason: model.Ready, ObservedGeneration: b.pool.Generation}},
	}))
	got := see(t, b.p, b.pool, func(p model.Pool) bool { return p.Ready() && p.Annotations[model.AnnotationPoolHash] == "42" })
	if got.ClassGeneration != 1 {
		t.Errorf("the class is of generation %d, want 1", got.ClassGeneration)
	}
	if got.StatusNodes != 3 || !reflect.DeepEqual(got.StatusResources, used) {
		t.Errorf("status says %d nodes, %v; want 3, %v", got.StatusNodes, got.StatusResources, used)
	}
	if got.UID != b.pool.UID || got.Class != b.class || got.Generation != b.pool.Generation {
		t.Errorf("the status patch changed the pool: %+v", got)
	}
}

func classStatus(t *testing.T, w World) {
	b := newBench(t, w)
	before := see(t, b.p, model.Class{Ref: b.class}, any1)
	images := []model.Image{{ID: "image-1", Requirements: []model.Requirement{{Key: model.LabelArch, Op: model.In, Values: []string{"amd64"}}}}}
	must(t, b.s.PatchClass(t.Context(), b.class, kube.ClassPatch{
		AddFinalizer: true, Images: images, KubernetesVersion: "1.37.1", Annotations: map[string]string{"note": "x"},
		Conditions: []model.Condition{{Type: model.Ready, Status: model.True, Reason: model.Ready, ObservedGeneration: before.Generation}},
	}))
	got := see(t, b.p, before, func(c model.Class) bool { return c.Ready() && len(c.Finalizers) == 1 })
	if got.Finalizers[0] != model.ClassFinalizer {
		t.Errorf("finalizers %v: a class has its cloud's own", got.Finalizers)
	}
	if !reflect.DeepEqual(got.Images, images) || got.KubernetesVersion != "1.37.1" || got.Annotations["note"] != "x" {
		t.Errorf("status says %+v, %q, annotations %v", got.Images, got.KubernetesVersion, got.Annotations)
	}
	must(t, b.s.PatchClass(t.Context(), b.class, kube.ClassPatch{DropFinalizer: true}))
	see(t, b.p, before, func(c model.Class) bool { return len(c.Finalizers) == 0 && len(c.Images) == 1 })
}

func followAgain(t *testing.T, w World) {
	s, p := w.Store(), newPicture()
	class := w.PutClass(t, "exam")
	w.PutPool(t, "exam", class)
	stop := follow(t, s, p)
	b := bench{World: w, s: s, p: p, class: class, pool: see(t, p, model.Pool{Name: "exam"}, any1)}
	kept, lost := b.claim(t, "kept"), b.claim(t, "lost")
	see(t, p, kept, any1)
	see(t, p, lost, any1)
	stop()

	must(t, s.DeleteClaim(t.Context(), "lost"))
	must(t, s.PatchClaim(t.Context(), "lost", kube.ClaimPatch{DropFinalizer: true}))
	must(t, s.PatchClaim(t.Context(), "kept", kube.ClaimPatch{NodeName: "n"}))
	fresh := b.claim(t, "fresh")

	follow(t, s, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	got, _ := p.objects[keyOf(kept)].(model.Claim)
	if got.NodeName != "n" {
		t.Errorf("after Synced the kept claim is %+v, want the newest state", got)
	}
	if _, there := p.objects[keyOf(lost)]; there {
		t.Error("after Synced the lost claim is still there")
	}
	for _, o := range []model.Object{kept, fresh, b.pool, model.Class{Ref: class}} {
		if n := p.told[keyOf(o)]; n != 1 {
			t.Errorf("%s was told %d times, want once", keyOf(o), n)
		}
	}
}

func followTwice(t *testing.T, w World) {
	b := newBench(t, w)
	other := newPicture()
	stop := follow(t, b.s, other)
	c := b.claim(t, "c")
	see(t, b.p, c, any1)
	see(t, other, c, any1)
	stop()
	d := b.claim(t, "d")
	see(t, b.p, d, any1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over before it began"))
	_, err := b.s.CreateClaim(ctx, b.order("e"))
	code(t, err, kube.Unavailable)
}

func cluster(t *testing.T, w World) {
	c, err := w.Store().Cluster(t.Context())
	must(t, err)
	if !strings.HasPrefix(c.Endpoint, "https://") || !strings.HasPrefix(string(c.CA), "-----BEGIN CERTIFICATE-----") {
		t.Errorf("endpoint %q, CA %.30q", c.Endpoint, c.CA)
	}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(c.Version, "%d.%d.%d", &major, &minor, &patch); n != 3 || fmt.Sprintf("%d.%d.%d", major, minor, patch) != c.Version {
		t.Errorf("version %q, want numbers only", c.Version)
	}
}

func maintenanceWindow(t *testing.T, w World) {
	none, err := w.Store().MaintenanceWindow(t.Context())
	must(t, err)
	if none != (model.MaintenanceWindow{}) {
		t.Errorf("nothing is announced, and the answer is %v", none)
	}
	want := model.MaintenanceWindow{Opens: present(), Closes: present().Add(4 * time.Hour)}
	w.SetWindow(t, want)
	got, err := w.Store().MaintenanceWindow(t.Context())
	must(t, err)
	if got != want {
		t.Errorf("announced %v, read %v", want, got)
	}
}

func announce(t *testing.T, w World) {
	b := newBench(t, w)
	c := b.claim(t, "c")
	start := time.Now()
	for i := range 5000 { // far more than is published: the rest is dropped, not waited for
		b.s.Announce(kube.Event{About: c, Type: kube.Normal, Reason: "Exam", Message: fmt.Sprint("event ", i)})
	}
	if took := time.Since(start); took > Patience {
		t.Errorf("announcing took %v", took)
	}
	must(t, b.s.PatchClaim(t.Context(), "c", kube.ClaimPatch{NodeName: "n"}))
	see(t, b.p, c, func(c model.Claim) bool { return c.NodeName == "n" })
}
