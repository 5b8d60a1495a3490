package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeState is what a machine remembers of its node object.
type nodeState struct {
	object     *corev1.Node // as the API server returned it at registration
	conditions []corev1.NodeCondition
	readyDue   time.Time // when the network is up; zero once the node is ready
	statusDue  time.Time
	leaseDue   time.Time
	lease      *coordv1.Lease // as last written; nil = not known
	gone       bool           // someone deleted the node object: a kubelet does not make it again
	failures   int            // of status and lease, in a row
}

// set changes a condition; the transition time moves only when the status does.
func (n *nodeState) set(typ corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) {
	i := slices.IndexFunc(n.conditions, func(c corev1.NodeCondition) bool { return c.Type == typ })
	if i < 0 {
		n.conditions = append(n.conditions, corev1.NodeCondition{Type: typ})
		i = len(n.conditions) - 1
	}
	c := &n.conditions[i]
	if c.Status != status {
		c.LastTransitionTime = metav1.NewTime(now)
	}
	c.Status, c.Reason, c.Message = status, reason, message
}

// register makes the node object, or takes over the one that is there, trying until it works; false when the machine
// was halted first.
func (m *machine) register(ctx context.Context) bool {
	now := time.Now()
	n := &m.node
	n.set(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available", now)
	n.set(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now)
	n.set(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available", now)
	n.set(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container runtime network not ready: cni plugin not initialized", now)
	m.takeNews(now) // an early warning is part of the first status
	for wait := retryFirst / 5; ; wait = min(2*wait, retryLast) {
		node, err := m.createOrAdopt(ctx)
		if err == nil {
			err = m.publishDriver(ctx, node)
		}
		if err == nil {
			now = time.Now()
			n.object, n.readyDue, n.statusDue, n.leaseDue = node, now.Add(m.host.cfg.NetworkUp), now, now
			if m.spec.notReady != "" {
				m.log.say("this node will never be ready: %s", m.spec.notReady)
				n.readyDue = now.Add(never)
			}
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		m.log.say("registration failed, will be tried again: %v", err)
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// createOrAdopt registers once. A node of that name that exists keeps its labels and taints; only the labels that a
// kubelet sets by itself are put right, as kubelets do.
func (m *machine) createOrAdopt(ctx context.Context) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	want := m.initialNode(time.Now())
	got, err := m.kube.core.Nodes().Create(ctx, want, metav1.CreateOptions{})
	if err == nil {
		m.log.say("node registered")
		return got, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	if got, err = m.kube.core.Nodes().Get(ctx, m.Name, metav1.GetOptions{}); err != nil {
		return nil, err
	}
	labels := m.ownLabels()
	for k, v := range want.Labels {
		if defaultLabel(k) {
			labels[k] = v
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": got.UID, "labels": labels, "annotations": want.Annotations}})
	if err != nil {
		return nil, err
	}
	if got, err = m.kube.core.Nodes().Patch(ctx, m.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err == nil {
		m.log.say("node was registered before: taken over, with the labels and taints it had")
	}
	return got, err
}

// ownLabels are those a kubelet sets by itself. Instance type and topology come from the cloud's node manager.
func (m *machine) ownLabels() map[string]string {
	return map[string]string{
		corev1.LabelHostname: m.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: m.Arch, betaOS: "linux", betaArch: m.Arch,
	}
}

// defaultLabel reports whether a kubelet corrects this label on a node that exists.
func defaultLabel(key string) bool {
	return slices.Contains([]string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceTypeStable, corev1.LabelInstanceType}, key)
}

// initialNode is the node as a kubelet registers it.
func (m *machine) initialNode(now time.Time) *corev1.Node {
	labels := m.ownLabels()
	maps.Copy(labels, m.spec.labels)
	taints := slices.Clone(m.spec.taints)
	if m.spec.external {
		taints = append(taints, corev1.Taint{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels,
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
		Spec:   corev1.NodeSpec{Taints: taints},
		Status: m.status(now),
	}
}

// status is the whole of what the kubelet says of its node.
func (m *machine) status(now time.Time) corev1.NodeStatus {
	have := capacity(m.Machine, m.spec.maxPods)
	m.alloc = m.spec.allocatable(have)
	conditions := slices.Clone(m.node.conditions)
	for i := range conditions {
		conditions[i].LastHeartbeatTime = metav1.NewTime(now)
	}
	return corev1.NodeStatus{
		Capacity:    have,
		Allocatable: m.alloc,
		Conditions:  conditions,
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.address()}, {Type: corev1.NodeHostName, Address: m.Name}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: m.Name, SystemUUID: m.Name, BootID: fmt.Sprintf("%s-%d", m.Name, m.cidr.slot),
			KernelVersion: "lab", OSImage: m.Image, ContainerRuntimeVersion: "lab://1", KubeletVersion: m.spec.version,
			OperatingSystem: "linux", Architecture: m.Arch,
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
	}
}

// address is the machine's own, or one made up of its slot when the cloud gave none.
func (m *machine) address() string {
	if m.Address != "" {
		return m.Address
	}
	return fmt.Sprintf("10.224.%d.%d", m.cidr.slot/250, m.cidr.slot%250+4)
}

// reportStatus writes the node's status when something changed or it is time to.
func (m *machine) reportStatus(ctx context.Context, now time.Time) {
	n := &m.node
	if !n.readyDue.IsZero() && !n.readyDue.After(now) {
		n.set(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", now)
	}
	n.statusDue = now.Add(m.host.cfg.StatusEvery)
	if n.gone {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.object.UID}, "status": m.status(now)})
	if err == nil {
		_, err = m.kube.core.Nodes().PatchStatus(ctx, m.Name, patch)
	}
	switch {
	case err == nil:
		n.failures = 0
		if n.readyDue.IsZero() {
			return
		}
		if n.readyDue.After(now) {
			n.statusDue = n.readyDue
			return
		}
		n.readyDue = time.Time{}
		m.log.say("node is ready")
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		// Deleted, or another object of that name since. A kubelet registers once in its life and does not come back.
		n.gone = true
		m.log.say("the node object is gone; a kubelet does not make it again")
	default:
		m.heartbeatFailed("status", err)
		n.statusDue = now.Add(m.retryIn())
	}
}

// renewLease tells the node lifecycle controller that the machine is alive. The node owns its lease, so that it goes with it.
func (m *machine) renewLease(ctx context.Context, now time.Time) {
	n := &m.node
	n.leaseDue = now.Add(m.host.cfg.LeaseEvery)
	if n.gone {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	leases := m.kube.coord.Leases(leaseNamespace)
	var err error
	if n.lease == nil {
		n.lease, err = leases.Create(ctx, m.newLease(now), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			if n.lease, err = leases.Get(ctx, m.Name, metav1.GetOptions{}); err == nil {
				n.lease, err = leases.Update(ctx, m.renewed(n.lease, now), metav1.UpdateOptions{})
			}
		}
	} else {
		n.lease, err = leases.Update(ctx, m.renewed(n.lease, now), metav1.UpdateOptions{})
	}
	if err == nil {
		n.failures = 0
		return
	}
	n.lease = nil // read it again
	if apierrors.IsNotFound(err) && m.nodeGone(ctx) {
		return
	}
	m.heartbeatFailed("lease", err)
	n.leaseDue = now.Add(min(m.retryIn(), m.host.cfg.LeaseEvery))
}

// nodeGone asks whether the node object this machine registered is there; its lease goes with it. Without this look, lease
// and garbage collector would chase each other for ever.
func (m *machine) nodeGone(ctx context.Context) bool {
	node, err := m.kube.core.Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	m.node.gone = apierrors.IsNotFound(err) || err == nil && node.UID != m.node.object.UID
	if m.node.gone {
		m.log.say("the node object is gone; a kubelet does not make it again")
	}
	return m.node.gone
}

func (m *machine) newLease(now time.Time) *coordv1.Lease {
	return m.renewed(&coordv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: leaseNamespace}}, now)
}

func (m *machine) renewed(l *coordv1.Lease, now time.Time) *coordv1.Lease {
	l = l.DeepCopy()
	seconds := int32(max(4*m.host.cfg.LeaseEvery/time.Second, 1))
	at := metav1.NewMicroTime(now)
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: m.Name, UID: m.node.object.UID}}
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds, l.Spec.RenewTime = &m.Name, &seconds, &at
	return l
}

func (m *machine) heartbeatFailed(what string, err error) {
	m.node.failures++
	if !errors.Is(err, context.Canceled) { // that is Halt
		m.log.say("%s not written, will be tried again: %v", what, err)
	}
}

// retryIn is the wait after the heartbeat failures so far.
func (m *machine) retryIn() time.Duration {
	return min(retryFirst<<min(m.node.failures, 6), retryLast)
}
