package exam

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
	"github.com/karpenter-aks/karpenter/plane"
)

// At rest, the controller may say and ask this much within restFor: room for what it looks at once in a while, none for a loop that
// has gone wild. It writes nothing at all. Of the processor it may have a hundredth (it has a ten-thousandth), which a wild loop has at once; the control plane
// is another process.
const (
	restFor       = 20 * time.Second
	restReads     = 10
	restLines     = 5
	restProcessor = restFor / 100
)

// processor is how long this process has had a processor.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wire counts what a controller asks of the API server.
type wire struct {
	below http.RoundTripper

	mu    sync.Mutex // guards the fields below
	reads int
	wrote []string
	lines []string
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if r.Method == http.MethodGet {
		w.reads++
	} else {
		w.wrote = append(w.wrote, r.Method+" "+r.URL.Path)
	}
	w.mu.Unlock()
	return w.below.RoundTrip(r)
}

func (w *wire) log(prefix, args string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, prefix+args)
}

func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads, w.wrote, w.lines = 0, nil, nil
}

// alive is a whole controller on a real control plane, with a cloud in memory.
type alive struct {
	api    client.Client
	cloud  *memcloud.Cloud
	wire   *wire
	mirror *world.World
}

func live(t *testing.T, p *plane.Plane) *alive {
	cfg, err := p.RESTConfig()
	must(t, err)
	scheme, err := apikube.Scheme()
	must(t, err)
	a := &alive{wire: &wire{}, mirror: world.New(), cloud: memcloud.New(memcloud.Config{Catalog: memcloud.SmallCatalog("here")})}
	a.api, err = client.New(cfg, client.Options{Scheme: scheme})
	must(t, err)
	installCRDs(t, a.api)
	await(t, "the default service account", func(ctx context.Context) bool {
		return a.api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	counted := rest.CopyConfig(cfg)
	counted.Wrap(func(below http.RoundTripper) http.RoundTripper { a.wire.below = below; return a.wire })
	store := newStore(t, counted)
	metrics, err := observe.NewMetrics(prometheus.NewRegistry(), meter.Options{Version: "exam"})
	must(t, err)
	log := funcr.New(a.wire.log, funcr.Options{})
	c, err := control.New(control.Parts{Store: store, Market: market.New(a.cloud, market.Config{}), World: a.mirror,
		Observe: observe.New(store, log, metrics), Log: log, Now: time.Now})
	must(t, err)
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log))
	var running sync.WaitGroup
	for _, part := range []func(context.Context) error{c.Follow, c.Run} {
		running.Go(func() {
			if err := part(ctx); err != nil || ctx.Err() == nil {
				t.Errorf("the controller ended: %v", err)
			}
		})
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return a
}

func (a *alive) claims(t *testing.T) []karpv1.NodeClaim {
	var list karpv1.NodeClaimList
	must(t, a.api.List(t.Context(), &list))
	return list.Items
}

// pending creates a pod that asks for so much that a machine of its own is bought for it.
func (a *alive) pending(t *testing.T, name string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "exam.invalid/pause:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}}}}
	await(t, "the API server to take a pod", func(ctx context.Context) bool { return a.api.Create(ctx, p) == nil })
}

// join plays the machine of the claim: its node, ready at once.
func (a *alive) join(t *testing.T, c karpv1.NodeClaim) {
	capacity := corev1.ResourceList{}
	for name, q := range c.Status.Capacity {
		capacity[name] = q
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: c.Labels}, Spec: corev1.NodeSpec{ProviderID: c.Status.ProviderID,
		Taints: []corev1.Taint{{Key: model.TaintUnregistered, Effect: corev1.TaintEffectNoExecute}}}}
	must(t, a.api.Create(t.Context(), n))
	base, now := n.DeepCopy(), metav1.Now()
	n.Status.Capacity, n.Status.Allocatable = capacity, c.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Exam", LastHeartbeatTime: now, LastTransitionTime: now}}
	must(t, a.api.Status().Patch(t.Context(), n, client.MergeFrom(base)))
}

// A controller at rest writes nothing, and asks, says and computes next to nothing. It outlives its control plane: afterwards it plans again, and
// what was bought before is not bought twice.
func TestTheControllerIsQuietAtRestAndOutlivesItsControlPlane(t *testing.T) {
	cfg := plane.Config{Dir: t.TempDir()}
	first, err := plane.Start(t.Context(), cfg)
	must(t, err)
	t.Cleanup(first.Stop)
	a := live(t, first)
	w := realWorld{api: a.api}
	w.PutPool(t, "pool", w.PutClass(t, "class"))
	a.pending(t, "one")
	accepted := func(n int) func(context.Context) bool {
		return func(context.Context) bool {
			list := a.claims(t)
			return len(list) == n && !slices.ContainsFunc(list, func(c karpv1.NodeClaim) bool { return c.Status.ProviderID == "" })
		}
	}
	await(t, "a machine", accepted(1))
	a.join(t, a.claims(t)[0])
	await(t, "the pod to be bound, and the node to be initialized", func(ctx context.Context) bool {
		var p corev1.Pod
		must(t, a.api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "one"}, &p))
		s := a.mirror.Snapshot()
		return p.Spec.NodeName != "" && len(s.Claims) == 1 && s.Claims[0].Is(model.Initialized) && len(s.Pools) == 1 && s.Pools[0].StatusNodes == 1
	})

	time.Sleep(15 * time.Second) // what is under way may end; nodes with pods are judged within ten seconds, and it is said once what keeps them
	a.wire.forget()
	before := processor(t)
	time.Sleep(restFor)
	took := processor(t) - before
	a.wire.mu.Lock()
	t.Logf("within %v at rest: %d reads, %d lines, %v of a processor", restFor, a.wire.reads, len(a.wire.lines), took)
	if took > restProcessor {
		t.Errorf("within %v at rest it had a processor for %v, at most %v", restFor, took, restProcessor)
	}
	if len(a.wire.wrote) > 0 || a.wire.reads > restReads || len(a.wire.lines) > restLines {
		t.Errorf("within %v at rest: %d reads; wrote %q; said\n%s", restFor, a.wire.reads, a.wire.wrote, strings.Join(a.wire.lines, "\n"))
	}
	a.wire.mu.Unlock()

	first.Kill()
	time.Sleep(3 * time.Second)
	second, err := plane.Start(t.Context(), cfg)
	must(t, err)
	t.Cleanup(second.Stop)
	a.pending(t, "two")
	await(t, "a second machine", func(ctx context.Context) bool { return accepted(2)(ctx) })
	if n := a.cloud.Accepted(); n != 2 {
		t.Errorf("%d machines were bought, want 2", n)
	}
}
