// Package upstream answers: what would Karpenter's own engine do with this picture?
//
// It translates a picture into the types of sigs.k8s.io/karpenter, runs that project's scheduler, and translates the
// result back. It is a witness, not a part of the product: nothing but judges and benchmarks may import it. It does
// not judge the result.
//
// A Problem is translated once, outside any timer. Each Run has a topology, a cluster state and a scheduler of its own,
// because a scheduler that has solved once remembers the machines it opened. No time limit is set: what the real
// provisioner would cut after a minute is carried through here. Preparing registers label keys in a table that
// all of upstream shares, so problems are not to be prepared concurrently.
package upstream

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/model"
)

// Options change how upstream runs.
type Options struct {
	// IgnorePreferences is its preference policy Ignore; otherwise Respect.
	IgnorePreferences bool
	// Workers is how many goroutines look for a place at once; 0 = 1.
	Workers int
}

// Problem is a picture in upstream's words.
type Problem struct {
	world   model.World
	opts    []scheduling.Options
	pods    []*corev1.Pod
	daemons []*corev1.Pod
	pools   []*v1.NodePool
	types   map[string][]*cloudprovider.InstanceType
	client  client.Client
	volumes map[types.UID][]requirements.Requirements
	nodes   []*corev1.Node
	claims  []*v1.NodeClaim
}

// Prepare translates the picture; pods are those to place. Pools that may not buy are left out, as upstream does.
func Prepare(w model.World, pods []model.Pod, o Options) (*Problem, error) {
	p := &Problem{world: w, opts: []scheduling.Options{scheduling.DisableReservedCapacityFallback, scheduling.NumConcurrentReconciles(max(o.Workers, 1)),
		scheduling.MinValuesPolicy(options.MinValuesPolicyStrict)}, types: map[string][]*cloudprovider.InstanceType{},
		volumes: map[types.UID][]requirements.Requirements{}}
	if o.IgnorePreferences {
		p.opts = append(p.opts, scheduling.IgnorePreferences)
	}
	for _, x := range pods {
		p.pods = append(p.pods, objects.Pod(x))
	}
	for _, d := range w.Daemons {
		x := d.Pod
		x.Namespace, x.Name, x.UID, x.DaemonSet = d.Namespace, d.Name, "uid-daemon-"+d.Name, true
		p.daemons = append(p.daemons, objects.Pod(x))
	}
	for _, x := range w.Pools {
		if !x.Ready() || x.Replicas != nil {
			continue
		}
		np := nodePool(x)
		p.pools = append(p.pools, np)
		p.types[np.Name] = instanceTypes(w.Catalog(x.Name, x.Class))
	}
	slices.SortFunc(p.pools, func(a, b *v1.NodePool) int {
		if a.Spec.Weight != nil && b.Spec.Weight != nil && *a.Spec.Weight != *b.Spec.Weight {
			return int(*b.Spec.Weight - *a.Spec.Weight)
		}
		return strings.Compare(b.Name, a.Name)
	})
	p.build()
	topology := scheduling.NewVolumeTopology(p.client)
	for _, x := range p.pods {
		reqs, err := topology.GetRequirements(quiet(), x)
		if err != nil {
			return nil, fmt.Errorf("volumes of %s: %w", x.Name, err)
		}
		if len(reqs) > 0 {
			p.volumes[x.UID] = reqs
		}
	}
	return p, nil
}

// quiet is a context whose logger says nothing: neither the tests nor the timers should hear upstream's logs.
func quiet() context.Context { return log.IntoContext(context.Background(), logr.Discard()) }

// build fills the API server's stand-in.
func (p *Problem) build() {
	storage := objects.StorageOf(p.world.Pods)
	var all []client.Object
	for _, n := range p.world.Namespaces {
		all = append(all, objects.Namespace(n))
	}
	going := map[string]bool{}
	for _, n := range p.world.Nodes {
		x := objects.Node(n)
		p.nodes = append(p.nodes, x)
		stored := x.DeepCopy()
		if n.Deleting() {
			// The stand-in keeps nothing that is on its way out unless something holds it. Whoever deletes a node has its claim deleted, too.
			stored.Finalizers, going[n.ProviderID] = []string{"example.com/held"}, true
		}
		all = append(all, stored, storage.CSINode(n))
	}
	for _, x := range p.world.Pods {
		if x.Node != "" {
			pod := objects.Pod(x)
			if x.Deleting() { // the stand-in keeps nothing that is on its way out unless something holds it
				pod.Finalizers = []string{"example.com/held"}
			}
			all = append(all, pod)
		}
	}
	for i := range storage.Volumes {
		all = append(all, storage.Volumes[i], storage.Claims[i])
	}
	for _, c := range p.world.Claims {
		if going[c.ProviderID] && !c.Deleting() {
			c.DeletedAt = c.Created
		}
		p.claims = append(p.claims, nodeClaim(c))
	}
	p.client = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{Get: get}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
}

// get is how an API server reads: cluster-scoped objects have no namespace, whatever the caller says. Upstream gives one for
// volumes.
func get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	switch o.(type) {
	case *corev1.PersistentVolume, *corev1.Node, *corev1.Namespace, *storagev1.CSINode, *storagev1.StorageClass:
		key.Namespace = ""
	}
	return c.Get(ctx, key, o, opts...)
}

// Run is one scheduler, good for one Solve.
type Run struct {
	problem   *Problem
	ctx       context.Context
	scheduler *scheduling.Scheduler
	results   scheduling.Results
}

// Fresh sets a scheduler up: cluster state, topology, templates. This is what upstream does anew for every batch of pods.
func (p *Problem) Fresh() (*Run, error) {
	ctx := settings("provisioner")
	cluster := state.NewCluster(clock.RealClock{}, p.client, nil)
	if err := p.fill(ctx, cluster); err != nil {
		return nil, err
	}
	nodes := cluster.DeepCopyNodes().Active()
	topology, err := scheduling.NewTopology(ctx, p.client, cluster, nodes, p.pools, p.types, p.pods, p.opts...)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	s := scheduling.NewScheduler(ctx, p.client, p.pools, cluster, nodes, topology, p.types, p.daemons, events.NewRecorder(&record.FakeRecorder{}),
		clock.RealClock{}, p.volumes, nil, p.opts...)
	return &Run{problem: p, ctx: ctx, scheduler: s}, nil
}

// settings is a context with the options that upstream has by default.
func settings(controller string) context.Context {
	return options.ToContext(injection.WithControllerName(quiet(), controller),
		&options.Options{PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict, IgnoreDRARequests: true,
			FeatureGates: options.FeatureGates{ReservedCapacity: true}})
}

// fill tells upstream's cluster state what is there.
func (p *Problem) fill(ctx context.Context, cluster *state.Cluster) error {
	for _, c := range p.claims {
		cluster.UpdateNodeClaim(c.DeepCopy())
	}
	for _, n := range p.nodes {
		if err := cluster.UpdateNode(ctx, n.DeepCopy()); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	for _, x := range p.world.Pods {
		if x.Node == "" {
			continue
		}
		if err := cluster.UpdatePod(ctx, objects.Pod(x)); err != nil {
			return fmt.Errorf("pod %s: %w", x.Key(), err)
		}
	}
	return nil
}

// Solve places the pods; Result says where.
func (r *Run) Solve() error {
	results, err := r.scheduler.Solve(r.ctx, r.problem.pods)
	if err != nil {
		return fmt.Errorf("solve: %w", err)
	}
	r.results = results.TruncateInstanceTypes(r.ctx, scheduling.MaxInstanceTypes)
	return nil
}

// Result translates what Solve decided. It fails when a machine could not be bought as anything.
func (r *Run) Result() (Result, error) { return r.problem.read(r.results) }
