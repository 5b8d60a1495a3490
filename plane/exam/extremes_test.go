package exam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

// The extremes are put into every field that is more than a word: what a person mistypes, and what someone writes to see us fall.
var (
	words = []any{
		"1h", "100ms", "9999999h", "99999999999h", "9999999h9999999m", "0s", "-1h", "Never", strings.Repeat("9", 300) + "h",
		"1e3", "1e999999", "1e-999999", "1e2147483648", "1E1.5", "-1e999999", strings.Repeat("9", 300), "999999999999Ei",
		"2026-01-01T00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01T00:00:00.123456789+14:00", "0000-12-31T23:59:60Z", "50%", "99999999999999999999%", "", "١",
		int64(1) << 53, 1e30, 1.5,
	}
	numbers = []any{int64(0), int64(1), int64(50), int64(1000), int64(100000), int64(300000), int64(1000000), int64(-1), int64(1) << 31, int64(1) << 53, 1e30, 1.5, "1"}
)

// subject is one kind of custom resource: an object of it that is right, and its Go type.
type subject struct {
	yaml string
	typ  reflect.Type
}

const classAndRequirements = `
    requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot], minValues: 1}]
    nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: c}
    taints: [{key: k, effect: NoSchedule}]
    startupTaints: [{key: s, effect: NoSchedule}]
`

func subjects() []subject {
	zone := `{zone: %q, queryLogging: Error, protocol: PreferUDP, forwardDestination: %s, forwardPolicy: Random, maxConcurrent: 1, cacheDuration: 1h, serveStaleDuration: 1h, serveStale: Verify}`
	zones := "[" + fmt.Sprintf(zone, ".", "VnetDNS") + ", " + fmt.Sprintf(zone, "cluster.local", "ClusterCoreDNS") + "]"
	return []subject{
		{"apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption: {consolidateAfter: 0s, budgets: [{nodes: \"1\", schedule: '@daily', duration: 1h}]}\n" +
			"  template:\n   spec:" + classAndRequirements, reflect.TypeFor[karpv1.NodePoolSpec]()},
		{"apiVersion: karpenter.sh/v1\nkind: NodeClaim\nspec:" + classAndRequirements, reflect.TypeFor[karpv1.NodeClaimSpec]()},
		{"apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nspec: {kubelet: {failSwapOn: false}, localDNS: {mode: Required, vnetDNSOverrides: " + zones +
			", kubeDNSOverrides: " + zones + "}}", reflect.TypeFor[v1beta1.AKSNodeClassSpec]()},
		{"apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nspec: {requirements: [{key: a, operator: Exists}]}", reflect.TypeFor[v1alpha1.NodeOverlaySpec]()},
		{"apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {namespace: default}\nspec: {scalableRef: {apiGroup: apps, kind: Deployment, name: d}}",
			reflect.TypeFor[bufferv1beta1.CapacityBufferSpec]()},
	}
}

// step is one step into an object: a field, any key of a map, or the first element of a list.
type step struct {
	field string
	list  bool
}

// fields lists the paths to all values below t whose Go type could refuse what a schema allows: all but words, and yes or no.
func fields(t reflect.Type, at []step, tell func(at []step, extremes []any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := map[reflect.Type]bool{
		reflect.TypeFor[resource.Quantity](): true, reflect.TypeFor[metav1.Duration](): true,
		reflect.TypeFor[karpv1.NillableDuration](): true, reflect.TypeFor[intstr.IntOrString](): true, reflect.TypeFor[metav1.Time](): true,
	}
	switch {
	case own[t]:
		tell(at, words)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case name == "":
				fields(f.Type, at, tell)
			default:
				fields(f.Type, append(at[:len(at):len(at)], step{field: name}), tell)
			}
		}
	case t.Kind() == reflect.Map:
		fields(t.Elem(), append(at[:len(at):len(at)], step{field: "example.com/x"}), tell)
	case t.Kind() == reflect.Slice:
		fields(t.Elem(), append(at[:len(at):len(at)], step{list: true}), tell)
	case t.Kind() != reflect.String && t.Kind() != reflect.Bool:
		tell(at, numbers)
	}
}

// put returns v with the value at the path.
func put(v any, at []step, value any) any {
	if len(at) == 0 {
		return value
	}
	if at[0].list {
		list, _ := v.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		return append([]any{put(list[0], at[1:], value)}, list[1:]...)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields[at[0].field] = put(fields[at[0].field], at[1:], value)
	return fields
}

// Everything that the API server takes is read, or set aside by name; and none of it hides the rest. Offline
// we judge as it does, object by object. The work is bounded: with one of
// these values computed with, the exam would not end.
func TestNoObjectThatTheAPIServerTakesBlindsTheController(t *testing.T) {
	cfg, err := planetest.Start(t).RESTConfig()
	must(t, err)
	cfg.QPS = -1
	scheme, err := apikube.Scheme()
	must(t, err)
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	must(t, err)

	t.Run("a CRD that is missing holds up nothing but its feature", func(t *testing.T) { missingCRD(t, newStore(t, cfg), api) })
	t.Run("a CRD that is older drops fields, and it is told which", func(t *testing.T) { olderCRD(t, newStore(t, cfg), api) })

	var judge admit.Server
	accepted := map[string]string{} // by what the sink calls the object: the value that was put into it
	reached := map[string]bool{}    // by field: some value was taken
	n := 0
	for _, s := range subjects() {
		fields(s.typ, []step{{field: "spec"}}, func(at []step, extremes []any) {
			field := fmt.Sprint(s.typ.Name(), at)
			reached[field] = reached[field] || false
			for _, value := range extremes {
				o := &unstructured.Unstructured{}
				must(t, yaml.Unmarshal([]byte(s.yaml), &o.Object))
				put(o.Object, at, value)
				n++
				o.SetName(fmt.Sprintf("x-%d", n))
				raw, err := json.Marshal(o)
				must(t, err)
				_, faults, _, err := judge.Create(raw)
				must(t, err)
				refusal := api.Create(t.Context(), o)
				if (refusal == nil) != (len(faults) == 0) {
					t.Errorf("%s: the API server says %v, offline we say %v", raw, refusal, faults)
				}
				if refusal != nil {
					continue
				}
				reached[field] = true
				raw, err = json.Marshal(value)
				must(t, err)
				accepted[o.GetKind()+" "+o.GetName()] = string(raw)
			}
		})
	}
	for field, ok := range reached {
		if !ok {
			t.Errorf("no value at all is taken for %s: it was not put to the test", field)
		}
	}
	for i, amount := range []string{"1e999999999", "1e2147483000", "-1"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("pod-%d", i)}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "exam.invalid/pause:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}}}
		if api.Create(t.Context(), p) == nil {
			accepted["model.Pod default/"+p.Name] = amount
		}
	}

	s, w := newStore(t, cfg), world.New()
	follow(t, s, w)
	await(t, "the first lists", func(context.Context) bool { return w.IsSynced() })
	got := w.Snapshot().Flat()
	if told := len(got.Pools) + len(got.Claims) + len(got.Classes) + len(got.Overlays) + len(got.Buffers) + len(got.Pods); told != len(accepted) {
		t.Errorf("%d objects were taken, %d are seen", len(accepted), told)
	}
	aside := 0
	for _, o := range got.Asides() {
		aside++
		_, name, _ := strings.Cut("/"+o.ObjectKey(), "/x-")
		why := model.Unreadable(o)
		found := false
		for key, value := range accepted {
			_, other, _ := strings.Cut(key, " x-")
			found = found || other == name && strings.Contains(why, ": "+value[:min(len(value), 60)]) && strings.HasPrefix(why, "spec.")
		}
		if !found {
			t.Errorf("%s is set aside without naming its field and value: %s", o.ObjectKey(), why)
		}
	}
	t.Logf("%d objects were tried, %d taken, %d set aside", n, len(accepted), aside)
	if aside < 50 {
		t.Errorf("only %d objects are set aside: the exam no longer asks what it should", aside)
	}
	t.Run("the status of one that is set aside can be written, and the rest of it stays", func(t *testing.T) { patchAside(t, s, api, got) })
}

// follow runs a Follow until the test ends.
func follow(t *testing.T, s *apikube.Store, sink kube.Sink) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Follow(ctx, sink); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the Follow ended: %v", err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

// missingCRD installs all CRDs but one, follows, and installs that one, too.
func missingCRD(t *testing.T, s *apikube.Store, api client.Client) {
	files, err := fs.Glob(deploy.Charts, path.Join("charts", "karpenter", "crds", "*.yaml"))
	must(t, err)
	var last *unstructured.Unstructured
	for _, file := range files {
		raw, err := fs.ReadFile(deploy.Charts, file)
		must(t, err)
		crd := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(raw, &crd.Object))
		if strings.Contains(file, "capacitybuffers") {
			last = crd
			continue
		}
		must(t, api.Create(t.Context(), crd))
	}
	for _, list := range append(kindsOfOurs(), &v1alpha1.NodeOverlayList{}) {
		await(t, "the CRDs to be served", func(ctx context.Context) bool { return api.List(ctx, list) == nil })
	}
	await(t, "the default service account", func(ctx context.Context) bool {
		return api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	w := world.New()
	follow(t, s, w)
	await(t, "everything but buffers", func(context.Context) bool { return w.IsSynced() })
	if u := w.Snapshot().Unserved; len(u) != 1 || u[0].Resource != "capacitybuffers.autoscaling.x-k8s.io" || u[0].Message == "" {
		t.Errorf("told that these are not served: %+v", u)
	}
	must(t, api.Create(t.Context(), last))
	await(t, "the CRD to be noticed", func(context.Context) bool { return len(w.Snapshot().Unserved) == 0 })
	b := &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	one := int32(1)
	b.Spec.Replicas, b.Spec.PodTemplateRef = &one, &bufferv1beta1.LocalObjectRef{Name: "t"}
	must(t, api.Create(t.Context(), b))
	await(t, "a buffer", func(context.Context) bool { return len(w.Snapshot().Buffers) == 1 })
	must(t, api.Delete(t.Context(), b))
}

// patchAside writes the status of the first pool that is set aside.
func patchAside(t *testing.T, s *apikube.Store, api client.Client, w model.World) {
	for _, o := range w.Asides() {
		pool, ok := o.(model.Pool)
		if !ok {
			continue
		}
		read := func() *unstructured.Unstructured {
			o := &unstructured.Unstructured{}
			o.SetAPIVersion("karpenter.sh/v1")
			o.SetKind("NodePool")
			must(t, api.Get(t.Context(), client.ObjectKey{Name: pool.Name}, o))
			return o
		}
		before := read()
		must(t, s.PatchPool(t.Context(), pool.Name, kube.PoolPatch{Annotations: map[string]string{"a": "b"},
			Conditions: []model.Condition{{Type: model.Ready, Status: model.False, Reason: "Unreadable", Message: pool.Unreadable}}}))
		after := read()
		if !reflect.DeepEqual(before.Object["spec"], after.Object["spec"]) || after.GetAnnotations()["a"] != "b" {
			t.Errorf("the spec was %v and is %v", before.Object["spec"], after.Object["spec"])
		}
		if got, _, _ := unstructured.NestedSlice(after.Object, "status", "conditions"); len(got) != 1 {
			t.Errorf("the conditions are %v", got)
		}
		return
	}
	t.Error("no pool is set aside")
}
