package exam

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path"
	"sync"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/kube/storetest"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

// The real store sits the same exam as its twin, against a real API server, with the CRDs of the chart.
func TestTheRealStoreSitsTheExam(t *testing.T) {
	cfg, err := planetest.Start(t).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := apikube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	must(t, authv1.AddToScheme(scheme)) // the store does not ask who others are, the exam does
	api, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a Follow says that a kind is missing instead of trying for ever", func(t *testing.T) {
		s := newStore(t, cfg)
		if err := s.Follow(t.Context(), nowhere{}); kube.CodeOf(err) != kube.NotFound {
			t.Errorf("without CRDs: %v, want code %s", err, kube.NotFound)
		}
	})
	installCRDs(t, api)
	await(t, "the default service account", func(ctx context.Context) bool {
		return api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	storetest.Run(t, func(t *testing.T) storetest.World {
		wipe(t, api)
		return realWorld{store: newStore(t, cfg), api: api, cfg: cfg}
	})
	t.Run("metrics are for those who may see them", func(t *testing.T) { metricsAreGuarded(t, cfg, api) })
	t.Run("a broken connection is mended, a lost one reported", func(t *testing.T) {
		wipe(t, api)
		brokenConnections(t, cfg, api)
	})
	t.Run("events reach people", func(t *testing.T) {
		wipe(t, api)
		eventsReachPeople(t, realWorld{store: newStore(t, cfg), api: api, cfg: cfg})
	})
}

func newStore(t *testing.T, cfg *rest.Config) *apikube.Store {
	t.Helper()
	s, err := apikube.New(cfg, apikube.Options{Extras: everyKind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// await asks until ok says yes; the limit is the exam's.
func await(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v in vain for %s", storetest.Patience, what)
		case <-tick.C:
		}
	}
}

// installCRDs applies the chart's CRDs and waits until each is served.
func installCRDs(t *testing.T, api client.Client) {
	t.Helper()
	files, err := fs.Glob(deploy.Charts, path.Join("charts", "karpenter", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the chart carries %d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		raw, err := fs.ReadFile(deploy.Charts, file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &crd.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := api.Create(t.Context(), crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for _, list := range append(kindsOfOurs(), extraKinds()...) {
		await(t, "the CRDs to be served", func(ctx context.Context) bool { return api.List(ctx, list) == nil })
	}
}

func kindsOfOurs() []client.ObjectList {
	return []client.ObjectList{&karpv1.NodeClaimList{}, &karpv1.NodePoolList{}, &v1beta1.AKSNodeClassList{}}
}

// wipe removes what the question before left behind.
func wipe(t *testing.T, api client.Client) {
	t.Helper()
	lists := append(append(kindsOfOurs(), extraKinds()...), &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{}, &storagev1.CSINodeList{})
	tokens := &corev1.SecretList{}
	await(t, "an empty cluster", func(ctx context.Context) bool {
		left := 0
		for _, list := range append(lists, tokens) {
			if err := api.List(ctx, list); err != nil {
				t.Fatal(err)
			}
			items, err := meta.ExtractList(list)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				o := item.(client.Object)
				if secret, ok := o.(*corev1.Secret); ok && secret.Type != corev1.SecretTypeBootstrapToken {
					continue
				}
				left++
				base := o.DeepCopyObject().(client.Object)
				o.SetFinalizers(nil)
				if len(base.GetFinalizers()) > 0 {
					must(t, client.IgnoreNotFound(api.Patch(ctx, o, client.MergeFrom(base))))
				}
				must(t, client.IgnoreNotFound(api.Delete(ctx, o, client.GracePeriodSeconds(0))))
			}
		}
		return left == 0
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// realWorld is the real store with levers that act as other clients of the API server would.
type realWorld struct {
	store *apikube.Store
	api   client.Client
	cfg   *rest.Config
}

func (w realWorld) Store() kube.Store { return w.store }

func (w realWorld) PutClass(t *testing.T, name string) model.ClassRef {
	must(t, w.api.Create(t.Context(), &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	return model.ClassRef{Group: v1beta1.Group, Kind: v1beta1.Kind, Name: name}
}

func (w realWorld) PutPool(t *testing.T, name string, class model.ClassRef) {
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
	p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: class.Group, Kind: class.Kind, Name: class.Name}
	p.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
	p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("0s")
	must(t, w.api.Create(t.Context(), p))
}

func (w realWorld) PutNode(t *testing.T, n model.Node) {
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
		Spec:       corev1.NodeSpec{ProviderID: n.ProviderID},
	}
	for _, x := range n.Taints {
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: x.Key, Value: x.Value, Effect: corev1.TaintEffect(x.Effect)})
	}
	must(t, w.api.Create(t.Context(), o))
	base := o.DeepCopy()
	now := metav1.Now()
	o.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Exam", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	must(t, w.api.Status().Patch(t.Context(), o, client.MergeFrom(base)))
}

func (w realWorld) PutPod(t *testing.T, p model.Pod) {
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels},
		Spec: corev1.PodSpec{
			NodeName:                      p.Node,
			NodeSelector:                  p.NodeSelector,
			TerminationGracePeriodSeconds: &p.GraceSeconds,
			Containers:                    []corev1.Container{{Name: "main", Image: "exam.invalid/pause:1"}},
		},
	}
	must(t, w.api.Create(t.Context(), o))
	if p.Node == "" {
		return
	}
	base, now := o.DeepCopy(), metav1.Now()
	o.Status.Phase, o.Status.StartTime = corev1.PodRunning, &now
	o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	must(t, w.api.Status().Patch(t.Context(), o, client.MergeFrom(base)))
}

func (w realWorld) PutBudget(t *testing.T, name string, labels map[string]string, allowed int) {
	var pods corev1.PodList
	must(t, w.api.List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels(labels)))
	keep := intstr.FromInt32(int32(len(pods.Items) - allowed))
	o := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &keep, Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}
	must(t, w.api.Create(t.Context(), o))
	await(t, "the disruption controller", func(ctx context.Context) bool {
		must(t, w.api.Get(ctx, client.ObjectKeyFromObject(o), o))
		return o.Status.ObservedGeneration == o.Generation && o.Status.CurrentHealthy == int32(len(pods.Items)) &&
			o.Status.DisruptionsAllowed == int32(allowed)
	})
}

// Tokens asks the API server who each token is, once it had the time to hear of it; an expired one must not count.
func (w realWorld) Tokens(t *testing.T) map[string][]string {
	var all corev1.SecretList
	must(t, w.api.List(t.Context(), &all, client.InNamespace(metav1.NamespaceSystem), client.HasLabels{"karpenter.azure.com/nodeclaim-uid"}))
	out := map[string][]string{}
	for _, x := range all.Items {
		token := string(x.Data["token-id"]) + "." + string(x.Data["token-secret"])
		counts := func(ctx context.Context) bool {
			review := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token}}
			must(t, w.api.Create(ctx, review))
			return review.Status.Authenticated && review.Status.User.Username == "system:bootstrap:"+string(x.Data["token-id"])
		}
		until, err := time.Parse(time.RFC3339, string(x.Data["expiration"]))
		must(t, err)
		switch {
		case until.After(x.CreationTimestamp.Add(kube.TokenLife)):
			t.Errorf("token %s, made at %v, ends at %v", x.Name, x.CreationTimestamp, until)
		case until.Before(time.Now()):
			if counts(t.Context()) {
				t.Errorf("token %s is taken after it expired", x.Name)
			}
			continue
		}
		await(t, "the API server to take token "+x.Name, counts)
		uid := x.Labels["karpenter.azure.com/nodeclaim-uid"]
		out[uid] = append(out[uid], token)
	}
	return out
}

func (w realWorld) Another(t *testing.T) kube.Store { return newStore(t, w.cfg) }

func (w realWorld) DeletePod(t *testing.T, name string) {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	must(t, client.IgnoreNotFound(w.api.Delete(t.Context(), o, client.GracePeriodSeconds(0))))
}

// eventsReachPeople asks for what kubectl describe shows: events about the object, by UID, said once.
func eventsReachPeople(t *testing.T, w realWorld) {
	s, api := w.store, w.api
	w.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	var node corev1.Node
	must(t, api.Get(t.Context(), client.ObjectKey{Name: "n"}, &node))
	about := model.Node{Name: "n", UID: string(node.UID)}
	for range 3 {
		s.Announce(kube.Event{About: about, Type: kube.Warning, Reason: "FailedDraining", Message: "pod x is held by a budget"})
	}
	s.Announce(kube.Event{About: about, Type: kube.Normal, Reason: "Exam", Message: "last"})
	var events corev1.EventList
	ours := func() (first, last int) {
		for _, e := range events.Items {
			switch {
			case e.Source.Component != "karpenter" || e.InvolvedObject.UID != node.UID || e.InvolvedObject.Kind != "Node":
			case e.Reason == "FailedDraining" && e.Type == corev1.EventTypeWarning && e.Message == "pod x is held by a budget":
				first++
			case e.Reason == "Exam":
				last++
			}
		}
		return first, last
	}
	await(t, "the last event", func(ctx context.Context) bool {
		must(t, api.List(ctx, &events, client.InNamespace("default")))
		_, last := ours()
		return last == 1
	})
	if first, _ := ours(); first != 1 {
		t.Errorf("the repeated event was said %d times, want once", first)
	}
}

// nowhere is a sink that listens to nothing.
type nowhere struct{}

func (nowhere) Begin()             {}
func (nowhere) Apply(model.Change) {}
func (nowhere) Synced()            {}

// cable is a connection to the API server that can be broken and cut.
type cable struct {
	mu    sync.Mutex
	conns []net.Conn
	cut   bool
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the cable is cut")}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// snap breaks every connection; with cut, no new one is made either.
func (c *cable) snap(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// brokenConnections looks at one Follow through its mirror: it survives a broken connection without beginning anew, and ends
// with Unavailable when no new one can be made.
func brokenConnections(t *testing.T, cfg *rest.Config, api client.Client) {
	wire := &cable{}
	cfg = rest.CopyConfig(cfg)
	cfg.Dial = wire.dial
	s, w := newStore(t, cfg), world.New()
	direct := realWorld{api: api}
	ended := make(chan error, 1)
	go func() { ended <- s.Follow(t.Context(), w) }()
	await(t, "the first picture", func(context.Context) bool { return w.IsSynced() })

	wire.snap(false)
	direct.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	await(t, "the node made meanwhile", func(context.Context) bool {
		if !w.IsSynced() {
			t.Fatal("the Follow began anew")
		}
		return len(w.Snapshot().Nodes) == 1
	})

	wire.snap(true)
	if err := <-ended; kube.CodeOf(err) != kube.Unavailable {
		t.Errorf("the Follow ended with %v, want code %s", err, kube.Unavailable)
	}
	if err := s.DeleteNode(t.Context(), "n"); kube.CodeOf(err) != kube.Unavailable {
		t.Errorf("a call without a connection: %v, want code %s", err, kube.Unavailable)
	}
	wire.snap(false)
	if err := s.DeleteNode(t.Context(), "n"); err != nil {
		t.Errorf("connected again: %v", err)
	}
}
