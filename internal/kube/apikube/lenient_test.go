package apikube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// lying is a pool with one value that passes the CRD and that no time.Duration holds.
const lying = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"lying","uid":"u-1","generation":3,"resourceVersion":"7"},
	"spec":{"weight":7,"limits":{"cpu":"1e9"},"template":{"spec":{"nodeClassRef":{"group":"karpenter.azure.com","kind":"AKSNodeClass","name":"c"},
	"requirements":[{"key":"a","operator":"In","values":["b"]}],"expireAfter":"9999999h"}}},
	"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-05-01T12:00:00Z"}]}}`

func TestAValueThatCannotBeReadSpoilsOnlyItself(t *testing.T) {
	var p karpv1.NodePool
	why, err := readLeniently([]byte(lying), &p)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what is said", why, `spec.template.spec.expireAfter: "9999999h": time: invalid duration "9999999h"`)
	if p.Name != "lying" || p.Generation != 3 || *p.Spec.Weight != 7 || len(p.Spec.Template.Spec.Requirements) != 1 || len(p.Spec.Limits) != 1 {
		t.Errorf("the rest is lost: %+v", p)
	}
	pool, ok := model.Aside(decodePool(&p), why).(model.Pool)
	if !ok || pool.Ready() || pool.Hash != "" || pool.UID != "u-1" || len(pool.Budgets) != 1 || pool.Budgets[0].Nodes != "0" {
		t.Errorf("set aside as %+v", pool)
	}
}

func TestUnreadableValuesAreNamedWithTheirPath(t *testing.T) {
	digits := strings.Repeat("9", 70)
	for _, c := range []struct {
		into       any
		spec, want string
	}{
		{&karpv1.NodePool{}, `{"limits":{"cpu":"1e999999","memory":"1Gi"}}`, `spec.limits[cpu]: "1e999999": an exponent of 999999; it must be a whole number from -99 to 99`},
		{&karpv1.NodePool{}, `{"limits":{"cpu":"1e-999999999"}}`, `spec.limits[cpu]: "1e-999999999": an exponent of -999999999; it must be a whole number from -99 to 99`},
		{&karpv1.NodePool{}, `{"limits":{"cpu":"1E1.5"}}`, `spec.limits[cpu]: "1E1.5": an exponent of 1.5; it must be a whole number from -99 to 99`},
		{&karpv1.NodePool{}, `{"limits":{"cpu":"` + digits + `"}}`, `spec.limits[cpu]: "` + digits[:63] + `…: a quantity of 70 characters; at most 64 are read`},
		{&karpv1.NodePool{}, `{"limits":{"cpu":"1E","memory":"1Ei","x/y":1e5}}`, ""},
		{&karpv1.NodePool{}, `{"disruption":{"budgets":[{"nodes":"1"},{"nodes":"2","schedule":"@daily","duration":"99999999999h"}]}}`,
			`spec.disruption.budgets[1].duration: "99999999999h": time: invalid duration "99999999999h"`},
		{&karpv1.NodePool{}, `{"weight":99999999999}`, `spec.weight: 99999999999: json: cannot unmarshal number 99999999999 into Go value of type int32`},
		{&karpv1.NodeClaim{}, `{"resources":{"requests":{"cpu":"1e1000"}},"terminationGracePeriod":"9999999h"}`,
			`spec.resources.requests[cpu]: "1e1000": an exponent of 1000; it must be a whole number from -99 to 99; spec.terminationGracePeriod: "9999999h": time: invalid duration "9999999h"`},
		{&v1beta1.AKSNodeClass{}, `{"kubelet":{"cpuCFSQuotaPeriod":"9999999h"}}`, `spec.kubelet.cpuCFSQuotaPeriod: "9999999h": time: invalid duration "9999999h"`},
		{&v1alpha1.NodeOverlay{}, `{"capacity":{"x/y":"1e500"}}`, `spec.capacity[x/y]: "1e500": an exponent of 500; it must be a whole number from -99 to 99`},
		{&bufferv1beta1.CapacityBuffer{}, `{"limits":{"cpu":"1e500"},"replicas":99999999999}`,
			`spec.replicas: 99999999999: json: cannot unmarshal number 99999999999 into Go value of type int32; spec.limits[cpu]: "1e500": an exponent of 500; it must be a whole number from -99 to 99`},
		{&karpv1.NodePool{}, `{"limits":{"a":"1e999","b":"1e999","c":"1e999","d":"1e999","e":"1e999","f":"1e999","g":"1e999"}}`, "; and 2 more"},
	} {
		got, err := readLeniently([]byte(`{"metadata":{"name":"x","uid":"1e999999-0000"},"spec":`+c.spec+`}`), c.into)
		if err != nil || got != c.want && !(strings.HasPrefix(c.want, ";") && strings.HasSuffix(got, c.want)) {
			t.Errorf("%s:\n%s\nwant %s; %v", c.spec, got, c.want, err)
		}
	}
}

// FuzzNothingIsLostInSilence reads quantities and durations of any text: what the typed decoder takes in bounded time is taken, and
// everything else is named.
func FuzzNothingIsLostInSilence(f *testing.F) {
	seeds := []string{"1", "1e3", "1E", "1e999999", "0.5Gi", "1e-99999999", "9999999h", "Never", "1h0m0s", "١", "1e+", "--1", ""}
	mutated.Add(f, 1000, seeds...)
	f.Fuzz(func(t *testing.T, value string) {
		text := fmt.Sprintf(`{"metadata":{"name":"x"},"spec":{"limits":{"cpu":%q},"template":{"spec":{"expireAfter":%[1]q}}}}`, value)
		var p karpv1.NodePool
		why, err := readLeniently([]byte(text), &p)
		if err != nil {
			return // no JSON
		}
		_, has := p.Spec.Limits["cpu"]
		if has == strings.Contains(why, "spec.limits[cpu]") || p.Name != "x" {
			t.Errorf("%q: read %t, and said %q", value, has, why)
		}
		if q, ok := p.Spec.Limits["cpu"]; ok {
			_ = q.String() // ends soon
		}
	})
}

// A mirror that is told a pool, then an edit of it that cannot be read, then a mended one.
func TestAnUnreadablePoolStaysAndComesBack(t *testing.T) {
	w := world.New()
	f, k := newFollowing(w, "nodepools")
	below := watch.NewFake()
	w.Begin()
	events := newDecodingWatch(below, f, k["nodepools"].kind)
	defer events.Stop()
	tell := func(kind watch.EventType, text string) {
		t.Helper()
		go below.Action(kind, &written{Raw: []byte(text)})
		e := <-events.ResultChan()
		var err error
		switch {
		case e.Type == watch.Error:
			t.Fatalf("%+v", e.Object)
		case kind == watch.Deleted:
			err = k["nodepools"].Delete(e.Object)
		case kind != watch.Bookmark:
			err = k["nodepools"].Update(e.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mended := strings.Replace(lying, "9999999h", "720h", 1)
	other := strings.NewReplacer("lying", "other", "u-1", "u-2", "9999999h", "1h").Replace(lying)
	tell(watch.Added, mended)
	tell(watch.Modified, lying)
	tell(watch.Added, other)
	tell(watch.Bookmark, `{"kind":"NodePool","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	pools := w.Snapshot().Pools
	if len(pools) != 2 || pools[0].Unreadable == "" || pools[0].Ready() || pools[1].Unreadable != "" || !pools[1].Ready() {
		t.Errorf("the mirror shows %+v", pools)
	}
	if a := w.Snapshot().Asides(); len(a) != 1 || a[0].ObjectKey() != "lying" {
		t.Errorf("set aside: %v", a)
	}
	tell(watch.Modified, mended)
	if p := w.Snapshot().Pools[0]; p.Unreadable != "" || !p.Ready() || p.ExpireAfter == nil || *p.ExpireAfter != 720*time.Hour || p.Hash == "" {
		t.Errorf("mended, it is %+v", p)
	}
	tell(watch.Deleted, lying)
	if n := len(w.Snapshot().Pools); n != 1 {
		t.Errorf("%d pools are left, want one", n)
	}
}

// What the API server does not serve holds up nothing but its feature, and comes when it is served.
func TestAnOptionalKindThatIsNotServedIsWaitedFor(t *testing.T) {
	w := world.New()
	ended := false
	f := &following{sink: w, waiting: 1, failures: map[string]int{}, end: func(error) { ended = true }}
	var buffers kind
	for _, k := range (Extras{Overlays: true, Buffers: true}).kinds() {
		if k.optional == nil {
			t.Errorf("%s is not optional", k.name)
		}
		if k.name == "capacitybuffers" {
			buffers = k
		}
	}
	told := newTold(f, buffers)
	w.Begin()
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "capacitybuffers"}, "")
	for range 3 * FollowFailures {
		told.result(t.Context(), missing)
	}
	if !w.IsSynced() || ended {
		t.Fatalf("synced %t, ended %t", w.IsSynced(), ended)
	}
	u := w.Snapshot().Unserved
	if len(u) != 1 || u[0].Resource != "capacitybuffers.autoscaling.x-k8s.io" || u[0].Version != "v1beta1" || u[0].Message == "" {
		t.Errorf("told %+v", u)
	}
	told.result(t.Context(), nil)
	if err := told.Add(&row{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "b"}, noun: model.Buffer{Namespace: "d", Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	if s := w.Snapshot(); len(s.Unserved) != 0 || len(s.Buffers) != 1 {
		t.Errorf("served, the mirror shows %+v and %+v", s.Unserved, s.Buffers)
	}
	told.result(t.Context(), apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("rbac")))
	if s := w.Snapshot(); len(s.Unserved) != 1 || len(s.Buffers) != 1 || ended {
		t.Errorf("no longer allowed, the mirror shows %+v and %+v", s.Unserved, s.Buffers)
	}
	told.result(t.Context(), missing)
	if s := w.Snapshot(); len(s.Buffers) != 0 {
		t.Errorf("gone with its CRD, and yet there is %+v", s.Buffers)
	}
	if ended {
		t.Error("the Follow ended")
	}
}

// Pods come the typed way, and the API server takes amounts that it never computes with itself. With these, one comparison written out
// would need gigabytes: the test ends only when there is none.
func TestAmountsBeyondAllMeasureCostNothing(t *testing.T) {
	const huge, less = "1e2147483000", "-1e2147483000"
	pod := func() *corev1.Pod {
		return read[corev1.Pod](t, `
spec:
  overhead: {memory: `+huge+`}
  containers:
  - {name: a, resources: {requests: {cpu: `+huge+`, x/y: `+less+`}, limits: {cpu: `+huge+`}}}
  - {name: b, resources: {requests: {cpu: 100m, memory: 1Gi}}}
  initContainers: [{name: i, restartPolicy: Always, resources: {requests: {cpu: `+huge+`}}}]
status:
  containerStatuses: [{name: b, allocatedResources: {cpu: `+huge+`}, resources: {requests: {cpu: `+huge+`}}}]
`)
	}
	want := model.Resources{CPU: most, Memory: most, Pods: 1}
	same(t, "requests", podRequests(pod()), want)
	f, _ := newFollowing(&sink{})
	same(t, "requests of a pod among others", f.shared.pod(pod()).Requests, want)
	same(t, "a limit", limits(karpv1.Limits{"cpu": resource.MustParse(huge)}), map[string]int64{"cpu": most})
	node := decodeNode(read[corev1.Node](t, `status: {capacity: {cpu: `+huge+`}, allocatable: {cpu: `+less+`}}`))
	same(t, "capacity", node.Capacity.CPU, int64(most))
	same(t, "allocatable", node.Allocatable.CPU, int64(0))
	daemon := decodeDaemon(read[appsv1.DaemonSet](t, `spec: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: `+huge+`}}}]}}}`))
	same(t, "a daemon", daemon.Pod.Requests.CPU, int64(most))
}
