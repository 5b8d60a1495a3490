package judge

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	snapshots "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/karpenter-aks/karpenter/compat/objects"
	"github.com/karpenter-aks/karpenter/model"
)

// judges are the filter plugins asked, those of kube-scheduler's default profile that depend on pods, nodes and volumes.
func judges(storage bool) []config.Plugin {
	list := []string{names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
		names.PodTopologySpread, names.InterPodAffinity}
	if storage {
		list = append(list, names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone)
	}
	var out []config.Plugin
	for _, n := range list {
		out = append(out, config.Plugin{Name: n})
	}
	return out
}

// court is one sitting: the nodes with the pods bound so far, and kube-scheduler's framework over them.
type court struct {
	ctx     context.Context
	q       Question
	storage objects.Storage
	all     []model.Node
	nodes   *nodes
	fw      framework.Framework
	close   func() // ends the sitting and waits for what it started

	// wanted lists the nodes that the plan has for each claim, and made says where each volume was made that is wanted on several.
	wanted map[string][]string
	made   map[string]model.Node
}

// newCourt seats the plugins over the picture with the machines in it. close ends it.
func newCourt(ctx context.Context, q Question, pods map[model.PodKey]*corev1.Pod) (*court, error) {
	metrics.Register()
	c := &court{ctx: ctx, q: q, all: append(slices.Clone(q.World.Nodes), q.Machines...), wanted: map[string][]string{}, close: func() {}}
	if q.Storage != nil {
		c.storage = *q.Storage
	} else {
		c.storage = objects.StorageOf(q.World.Pods)
	}
	c.nodes = newNodes(q, c.all)
	for _, x := range q.Placements {
		for _, k := range claimsOf(pods[x.Pod]) {
			if !slices.Contains(c.wanted[k], x.Node) {
				c.wanted[k] = append(c.wanted[k], x.Node)
			}
		}
	}
	return c, c.seat(c.storage)
}

// claimsOf names the volume claims that a pod mounts.
func claimsOf(p *corev1.Pod) []string {
	var out []string
	if p != nil {
		for _, v := range p.Spec.Volumes {
			out = append(out, p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
	}
	return out
}

// seat sets the plugins up over the storage as it is now.
func (c *court) seat(storage objects.Storage) error {
	c.close()
	ctx, stop := context.WithCancel(c.ctx)
	c.close = stop
	factory := informers.NewSharedInformerFactory(clientset.NewSimpleClientset(stored(c.q.World, c.all, storage)...), 0)
	some := len(storage.Volumes)+len(storage.Claims) > 0
	fw, err := framed(ctx, c.nodes, factory, some || c.q.Storage != nil)
	if err != nil {
		stop()
		return fmt.Errorf("seat kube-scheduler's plugins: %w", err)
	}
	c.fw = fw
	if some {
		// The volume binder follows events, so the informers must run; each ends with ctx.
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		c.close = func() { stop(); factory.Shutdown() }
		return nil
	}
	index := factory.Core().V1().Namespaces().Informer().GetIndexer()
	for _, n := range c.q.World.Namespaces {
		if err := index.Add(objects.Namespace(n)); err != nil {
			stop()
			return fmt.Errorf("list namespaces: %w", err)
		}
	}
	return nil
}

// again takes everything away that was bound or made since.
func (c *court) again() error {
	c.nodes.reset()
	if c.made == nil {
		return nil
	}
	c.made = nil
	return c.seat(c.storage)
}

// settle lets the volumes be made for which the first pod is bound now. Only those matter that pods of other nodes are to use.
func (c *court) settle(pod *corev1.Pod, node model.Node) error {
	fresh := false
	for _, k := range claimsOf(pod) {
		if _, done := c.made[k]; done || len(c.wanted[k]) < 2 || !c.storage.Waits(k) {
			continue
		}
		if c.made == nil {
			c.made = map[string]model.Node{}
		}
		c.made[k], fresh = node, true
	}
	if !fresh {
		return nil
	}
	return c.seat(c.storage.Settled(c.made))
}

func framed(ctx context.Context, nodes *nodes, factory informers.SharedInformerFactory, storage bool) (framework.Framework, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := defaults.Profiles[0]
	set := config.PluginSet{Enabled: judges(storage)}
	both := config.PluginSet{}
	for _, p := range set.Enabled {
		// NodeUnschedulable, TaintToleration and NodeName have nothing to prepare; naming them there is an error.
		if p.Name != names.NodeUnschedulable && p.Name != names.TaintToleration && p.Name != names.NodeName {
			both.Enabled = append(both.Enabled, p)
		}
	}
	profile.Plugins = &config.Plugins{
		QueueSort: config.PluginSet{Enabled: []config.Plugin{{Name: names.PrioritySort}}},
		Bind:      config.PluginSet{Enabled: []config.Plugin{{Name: names.DefaultBinder}}},
		PreFilter: both, Filter: set,
	}
	return frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithSnapshotSharedLister(nodes), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())))
}

// stored lists what the API server would hold beside pods.
func stored(w model.World, all []model.Node, s objects.Storage) []runtime.Object {
	if len(s.Volumes)+len(s.Claims) == 0 {
		return nil
	}
	var out []runtime.Object
	for _, n := range w.Namespaces {
		out = append(out, objects.Namespace(n))
	}
	for _, n := range all {
		out = append(out, objects.Node(n), s.CSINode(n))
	}
	for _, v := range s.Volumes {
		out = append(out, v)
	}
	for _, c := range s.Claims {
		out = append(out, c)
	}
	for _, c := range s.Classes {
		out = append(out, c)
	}
	return out
}

// admit asks whether the pod may land on the node, and binds it there if so. Otherwise it names the plugin that refused.
func (c *court) admit(pod *corev1.Pod, node string) (plugin, message string, err error) {
	info, ok := c.nodes.byName[node]
	if !ok {
		return "", "", fmt.Errorf("no such node")
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = ""
	state := framework.NewCycleState()
	result, status, _ := c.fw.RunPreFilterPlugins(c.ctx, state, pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return "", "", status.AsError()
	}
	if status.IsRejected() {
		return pluginOf(status), status.Message(), nil
	}
	if !result.AllNodes() && !result.NodeNames.Has(node) {
		return "PreFilter", "the node is not among those that are asked at all", nil
	}
	status = c.fw.RunFilterPlugins(c.ctx, state, pod, info)
	if !status.IsSuccess() && !status.IsRejected() {
		return "", "", status.AsError()
	}
	if status.IsRejected() {
		return pluginOf(status), status.Message(), nil
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	info.AddPod(bound)
	return "", "", c.settle(bound, c.nodes.model(node))
}

func pluginOf(s *fwk.Status) string {
	if s.Plugin() == "" {
		return "unnamed plugin"
	}
	return s.Plugin()
}

// nodes is a picture that kube-scheduler's plugins read while pods are added to it.
type nodes struct {
	*snapshots.Snapshot // answers what nobody asks about here (pod groups)
	all                 []model.Node
	running             map[string][]*corev1.Pod // by node, before anything is bound
	list                []fwk.NodeInfo
	byName              map[string]*framework.NodeInfo
}

var _ fwk.SharedLister = (*nodes)(nil)

func newNodes(q Question, all []model.Node) *nodes {
	out := &nodes{Snapshot: snapshots.NewEmptySnapshot(), all: all, running: map[string][]*corev1.Pod{}}
	for _, p := range q.World.Pods {
		if p.Node != "" && !p.Terminal {
			out.running[p.Node] = append(out.running[p.Node], q.written(p))
		}
	}
	for _, m := range q.Machines {
		out.running[m.Name] = append(out.running[m.Name], daemons(q.World, m)...)
	}
	return out
}

// reset takes everything away that was bound since.
func (n *nodes) reset() {
	n.list, n.byName = nil, map[string]*framework.NodeInfo{}
	for _, x := range n.all {
		info := framework.NewNodeInfo(n.running[x.Name]...)
		info.SetNode(objects.Node(x))
		n.list, n.byName[x.Name] = append(n.list, info), info
	}
}

// model is the node as the picture has it.
func (n *nodes) model(name string) model.Node {
	return n.all[slices.IndexFunc(n.all, func(x model.Node) bool { return x.Name == name })]
}

// NodeInfos lists the nodes.
func (n *nodes) NodeInfos() fwk.NodeInfoLister { return n }

// StorageInfos says which volume claims are in use.
func (n *nodes) StorageInfos() fwk.StorageInfoLister { return n }

// List returns all nodes.
func (n *nodes) List() ([]fwk.NodeInfo, error) { return n.list, nil }

// HavePodsWithAffinityList returns the nodes with pods that have affinity or anti-affinity terms.
func (n *nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return n.having(func(i fwk.NodeInfo) bool { return len(i.GetPodsWithAffinity()) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList returns the nodes with pods that have required anti-affinity terms.
func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return n.having(func(i fwk.NodeInfo) bool { return len(i.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList returns those of them whose terms reach beyond one node.
func (n *nodes) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return n.having(func(i fwk.NodeInfo) bool { return len(i.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 }), nil
}

func (n *nodes) having(yes func(fwk.NodeInfo) bool) []fwk.NodeInfo {
	var out []fwk.NodeInfo
	for _, i := range n.list {
		if yes(i) {
			out = append(out, i)
		}
	}
	return out
}

// Get returns one node.
func (n *nodes) Get(name string) (fwk.NodeInfo, error) {
	if i, ok := n.byName[name]; ok {
		return i, nil
	}
	return nil, fmt.Errorf("node %s does not exist", name)
}

// IsPVCUsedByPods reports whether a pod that is bound uses the claim, "namespace/name".
func (n *nodes) IsPVCUsedByPods(key string) bool {
	return slices.ContainsFunc(n.list, func(i fwk.NodeInfo) bool { return i.GetPVCRefCounts()[key] > 0 })
}
