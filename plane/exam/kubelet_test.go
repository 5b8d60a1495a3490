package exam

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/kubelet"
	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

const (
	serverName  = "lab-dns-1.hcp.westus3.azmk8s.io"
	rightToken  = "abcdef.0123456789abcdef"
	ciliumTaint = "node.cilium.io/agent-not-ready"
	// patience bounds every wait. Each takes well under a second on an idle machine.
	patience = 90 * time.Second
)

// yard is a control plane with machines beside it.
type yard struct {
	plane *plane.Plane
	api   kubernetes.Interface
	host  *kubelet.Host
	rack  *rack
}

// TestMachines boots machines against a real control plane, one claim per subtest.
func TestMachines(t *testing.T) {
	y := open(t)
	y.letIn(t, rightToken)
	y.apply(t, kubelet.Manifests())
	t.Run("joins and registers exactly what its custom data says", y.testRegisters)
	t.Run("runs daemons and pods the scheduler binds, and lets them go gracefully", y.testRuns)
	t.Run("runs a job to its end", y.testJob)
	t.Run("rejects what does not fit", y.testRejects)
	t.Run("heeds readiness gates", y.testGates)
	t.Run("a pod waits for its disk, and a disk for its pod", y.testDisks)
	t.Run("takes over a node that exists", y.testAdopts)
	t.Run("shows a coming spot eviction", y.testPreempt)
	t.Run("its node goes when it is switched off", y.testHalt)
	t.Run("never joins with what is wrong", y.testNeverJoins)
	t.Run("runs many pods at once", y.testMany)
}

func open(t *testing.T) *yard {
	t.Helper()
	return beside(t, planetest.Start(t, serverName), time.Millisecond)
}

// beside puts machines beside a plane; gone is when the node of a machine that is off is deleted.
func beside(t *testing.T, p *plane.Plane, gone time.Duration) *yard {
	t.Helper()
	cfg, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	disks := &rack{}
	host, err := kubelet.New(kubelet.Config{Admin: cfg, NodeGone: gone, Disks: disks, Resolve: func(host string) string {
		if host == serverName+":443" {
			return p.Address()
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return &yard{plane: p, api: api, host: host, rack: disks}
}

// letIn makes a bootstrap token valid.
func (y *yard) letIn(t *testing.T, token string) {
	t.Helper()
	id, secret, _ := strings.Cut(token, ".")
	_, err := y.api.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// apply creates the DaemonSets in a stream of YAML.
func (y *yard) apply(t *testing.T, stream []byte) {
	t.Helper()
	for _, doc := range strings.Split(string(stream), "\n---\n") {
		var ds appsv1.DaemonSet
		if err := yaml.UnmarshalStrict([]byte(doc), &ds); err != nil {
			t.Fatal(err)
		}
		if _, err := y.api.AppsV1().DaemonSets(ds.Namespace).Create(t.Context(), &ds, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits until ask says yes.
func eventually(t *testing.T, what string, ask func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ask(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// node waits until the node is as asked and returns it; if it never is, the machine's boot log is shown.
func (y *yard) node(t *testing.T, name, what string, ask func(*corev1.Node) bool) *corev1.Node {
	t.Helper()
	var got *corev1.Node
	defer func() {
		if t.Failed() {
			t.Logf("last seen: %+v\nboot log:\n%s", got, strings.Join(y.host.BootLog(name), "\n"))
		}
	}()
	eventually(t, name+": "+what, func(ctx context.Context) bool {
		n, err := y.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		got = n
		return ask(n)
	})
	return got
}

// pod waits until the pod in the default namespace is as asked and returns it.
func (y *yard) pod(t *testing.T, name, what string, ask func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	eventually(t, "pod "+name+": "+what, func(ctx context.Context) bool {
		p, err := y.api.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		got = p
		return ask(p)
	})
	return got
}

// logged waits until the boot log of the machine has a line with these words.
func (y *yard) logged(t *testing.T, machine, words string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("boot log:\n%s", strings.Join(y.host.BootLog(machine), "\n"))
		}
	}()
	eventually(t, machine+" to log "+words, func(context.Context) bool {
		return slices.ContainsFunc(y.host.BootLog(machine), func(l string) bool { return strings.Contains(l, words) })
	})
}

// machine is a Standard_D2s_v5 in zone 2 whose custom data is right, but for what change changes.
func (y *yard) machine(name string, change map[string]string) lab.Machine {
	env := provisiontest.Upstream(y.plane.CA())
	maps.Copy(env, map[string]string{
		"API_SERVER_NAME": serverName, "TLS_BOOTSTRAP_TOKEN": rightToken, "KUBERNETES_VERSION": "1.37.1",
		"KUBELET_NODE_LABELS": "karpenter.sh/nodepool=np,kubernetes.azure.com/cluster=c,kubernetes.azure.com/ebpf-dataplane=cilium,test/machine=" + name,
		"KUBELET_FLAGS": strings.Join(append(provisiontest.Flags(),
			"--register-with-taints="+ciliumTaint+"=true:NoExecute,test/only="+name+":NoSchedule"), " "),
	})
	maps.Copy(env, change)
	return lab.Machine{
		Name: name, ProviderID: "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/" + name,
		Size: "Standard_D2s_v5", CPUs: 2, MemoryMiB: 8192, Arch: "amd64", OSDiskGB: 128, DataDisks: 4, Region: "westus3", Zone: "2", Address: "10.224.0.9",
		CustomData: provisiontest.Script(env),
	}
}

func has(n *corev1.Node, taint string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taint })
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// usable is a node that plain pods can go to, once they tolerate test/only.
func usable(n *corev1.Node) bool { return ready(n) && len(n.Spec.Taints) == 1 }

func podReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podFor is a pod that can only go to the named machine's node.
func podFor(machine, name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"test/machine": machine},
			Tolerations:  []corev1.Toleration{{Key: "test/only", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "c", Image: "pause", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}},
		},
	}
}

func (y *yard) create(t *testing.T, p *corev1.Pod) {
	t.Helper()
	// The default service account is made by a controller, a moment after the namespace.
	var err error
	eventually(t, "pod "+p.Name+" to be accepted", func(ctx context.Context) bool {
		_, err = y.api.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
		return err == nil || !apierrors.IsForbidden(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (y *yard) testRegisters(t *testing.T) {
	// Without the cluster label no daemon comes here, so the startup taint stays to be looked at.
	m := y.machine("registers", map[string]string{"KUBELET_NODE_LABELS": "karpenter.sh/nodepool=np,test/machine=registers"})
	y.host.Boot(m)
	y.host.Boot(m) // a machine that is on
	defer y.host.Halt("registers")
	n := y.node(t, "registers", "ready and initialized", func(n *corev1.Node) bool {
		return ready(n) && !has(n, "node.cloudprovider.kubernetes.io/uninitialized") && !has(n, corev1.TaintNodeNotReady)
	})
	want := map[string]string{
		"karpenter.sh/nodepool": "np", "test/machine": "registers", "kubernetes.io/hostname": "registers", "kubernetes.io/os": "linux",
		"kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
		"node.kubernetes.io/instance-type": "Standard_D2s_v5", "topology.kubernetes.io/region": "westus3", "topology.kubernetes.io/zone": "westus3-2", "topology.disk.csi.azure.com/zone": "westus3-2",
	}
	if !maps.Equal(n.Labels, want) {
		t.Errorf("labels %v, want %v", n.Labels, want)
	}
	driver, err := y.api.StorageV1().CSINodes().Get(t.Context(), "registers", metav1.GetOptions{})
	if err != nil || len(driver.Spec.Drivers) != 2 || driver.Spec.Drivers[1].Name != "file.csi.azure.com" || driver.Spec.Drivers[0].Name != "disk.csi.azure.com" || *driver.Spec.Drivers[0].Allocatable.Count != 4 {
		t.Errorf("drivers %+v: %v", driver, err)
	}
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	slices.Sort(taints)
	if wantTaints := []string{ciliumTaint + "=true:NoExecute", "test/only=registers:NoSchedule"}; !slices.Equal(taints, wantTaints) {
		t.Errorf("taints %v, want %v", taints, wantTaints)
	}
	if n.Spec.ProviderID != m.ProviderID || n.Status.NodeInfo.KubeletVersion != "v1.37.1" {
		t.Errorf("provider %q, version %q", n.Spec.ProviderID, n.Status.NodeInfo.KubeletVersion)
	}
	for name, amounts := range map[corev1.ResourceName][2]string{"cpu": {"2", "1900m"}, "memory": {"7952Mi", "5359Mi"}, "pods": {"250", "250"}, "ephemeral-storage": {"124Gi", "124Gi"}} {
		c, a := n.Status.Capacity[name], n.Status.Allocatable[name]
		if c.Cmp(resource.MustParse(amounts[0])) != 0 || a.Cmp(resource.MustParse(amounts[1])) != 0 {
			t.Errorf("%s: capacity %s, allocatable %s, want %v", name, c.String(), a.String(), amounts)
		}
	}
	eventually(t, "a lease", func(ctx context.Context) bool {
		l, err := y.api.CoordinationV1().Leases("kube-node-lease").Get(ctx, "registers", metav1.GetOptions{})
		return err == nil && len(l.OwnerReferences) == 1 && l.OwnerReferences[0].UID == n.UID && *l.Spec.HolderIdentity == "registers"
	})
	if log := strings.Join(y.host.BootLog("registers"), "\n"); strings.Contains(log, "0123456789abcdef") || strings.Count(log, "power on") != 1 {
		t.Errorf("the boot log shows a secret, or a machine that was on booted again:\n%s", log)
	}
}

func (y *yard) testRuns(t *testing.T) {
	y.host.Boot(y.machine("runs", nil))
	defer y.host.Halt("runs")
	y.node(t, "runs", "ready without startup taint", usable)
	eventually(t, "three daemons on the node", func(ctx context.Context) bool {
		l, err := y.api.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=runs,status.phase=Running"})
		return err == nil && len(l.Items) == 3
	})
	slow := podFor("runs", "slow", "500m")
	grace := int64(30)
	slow.Spec.TerminationGracePeriodSeconds = &grace
	slow.Annotations = map[string]string{kubelet.StopAfterAnnotation: "1s"}
	slow.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "pause"}}
	y.create(t, slow)
	p := y.pod(t, "slow", "running and ready", podReady)
	if p.Spec.NodeName != "runs" || !strings.HasPrefix(p.Status.PodIP, "10.244.") || p.Status.HostIP != "10.224.0.9" ||
		len(p.Status.ContainerStatuses) != 1 || !p.Status.ContainerStatuses[0].Ready || p.Status.InitContainerStatuses[0].State.Terminated == nil {
		t.Errorf("runs as %+v", p.Status)
	}
	asked := time.Now()
	if err := y.api.CoreV1().Pods("default").Delete(t.Context(), "slow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if p, err := y.api.CoreV1().Pods("default").Get(t.Context(), "slow", metav1.GetOptions{}); err == nil && p.DeletionTimestamp == nil {
		t.Error("asked to go, and no trace of it")
	}
	eventually(t, "the pod to go", func(ctx context.Context) bool {
		_, err := y.api.CoreV1().Pods("default").Get(ctx, "slow", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if took := time.Since(asked); took < time.Second {
		t.Errorf("gone after %v: its containers need a second to stop", took)
	}
}

func (y *yard) testJob(t *testing.T) {
	y.host.Boot(y.machine("works", nil))
	defer y.host.Halt("works")
	y.node(t, "works", "ready without startup taint", usable)
	spec := podFor("works", "", "100m").Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kubelet.RunForAnnotation: "10ms"}}, Spec: spec}}}
	if _, err := y.api.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job to complete", func(ctx context.Context) bool {
		j, err := y.api.BatchV1().Jobs("default").Get(ctx, "job", metav1.GetOptions{})
		return err == nil && j.Status.Succeeded == 1 && j.Status.CompletionTime != nil
	})
}

func (y *yard) testRejects(t *testing.T) {
	y.host.Boot(y.machine("strict", nil))
	defer y.host.Halt("strict")
	y.node(t, "strict", "ready without startup taint", usable)
	big := podFor("strict", "big", "8")
	big.Spec.NodeName = "strict" // past the scheduler
	y.create(t, big)
	p := y.pod(t, "big", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "OutOfcpu" || !strings.HasPrefix(p.Status.Message, "Pod was rejected: Node didn't have enough resource: cpu") {
		t.Errorf("reason %q, message %q", p.Status.Reason, p.Status.Message)
	}
	lost := podFor("elsewhere", "lost", "0")
	lost.Spec.NodeName = "strict"
	y.create(t, lost)
	p = y.pod(t, "lost", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "NodeAffinity" {
		t.Errorf("reason %q, message %q", p.Status.Reason, p.Status.Message)
	}
}

func (y *yard) testGates(t *testing.T) {
	y.host.Boot(y.machine("gated", nil))
	defer y.host.Halt("gated")
	y.node(t, "gated", "ready without startup taint", usable)
	p := podFor("gated", "gated", "0")
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "test/gate"}}
	y.create(t, p)
	p = y.pod(t, "gated", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if podReady(p) {
		t.Error("ready although its gate is not open")
	}
	open := []byte(`{"status":{"conditions":[{"type":"test/gate","status":"True"}]}}`)
	if _, err := y.api.CoreV1().Pods("default").Patch(t.Context(), "gated", types.StrategicMergePatchType, open, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	y.pod(t, "gated", "ready", podReady)
}

func (y *yard) testAdopts(t *testing.T) {
	_, err := y.api.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "known", Labels: map[string]string{"old": "yes"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	y.host.Boot(y.machine("known", nil))
	defer y.host.Halt("known")
	n := y.node(t, "known", "ready", ready)
	if n.Labels["old"] != "yes" || n.Labels["kubernetes.io/hostname"] != "known" || n.Labels["test/machine"] != "" || has(n, "test/only") {
		t.Errorf("labels %v, taints %v: a kubelet adds only its own labels to a node that exists", n.Labels, n.Spec.Taints)
	}
}

func (y *yard) testPreempt(t *testing.T) {
	y.host.Boot(y.machine("cheap", nil))
	defer y.host.Halt("cheap")
	y.host.Warn("cheap", "Preempt", time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	y.node(t, "cheap", "told of its eviction", func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == kubelet.PreemptionCondition && c.Status == corev1.ConditionTrue && c.Reason == "SpotEvictionIncoming" &&
				strings.Contains(c.Message, "Wed, 02 Jan 2030 03:04:05 GMT")
		})
	})
}

func (y *yard) testHalt(t *testing.T) {
	y.host.Boot(y.machine("halted", nil))
	y.node(t, "halted", "ready and initialized", usable)
	y.host.Halt("halted")
	y.host.Halt("halted") // twice is fine
	eventually(t, "the node manager to delete the node", func(ctx context.Context) bool {
		_, err := y.api.CoreV1().Nodes().Get(ctx, "halted", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if slices.Contains(y.host.On(), "halted") {
		t.Error("still on")
	}
	// The same name can be used again: the machine begins anew.
	y.host.Boot(y.machine("halted", nil))
	defer y.host.Halt("halted")
	y.node(t, "halted", "back", usable)
}

func (y *yard) testNeverJoins(t *testing.T) {
	other := planeCA(t)
	for name, c := range map[string]struct {
		change map[string]string
		says   string
		then   string // what the boot log says last; "" while the machine goes on trying
	}{
		"wrong-token":  {map[string]string{"TLS_BOOTSTRAP_TOKEN": "abcdef.fedcba9876543210"}, "does not accept TLS_BOOTSTRAP_TOKEN", ""},
		"wrong-server": {map[string]string{"API_SERVER_NAME": "elsewhere.azmk8s.io"}, "lookup elsewhere.azmk8s.io: no such host", ""},
		"wrong-ca":     {map[string]string{"KUBE_CA_CRT": base64.StdEncoding.EncodeToString(other)}, "KUBE_CA_CRT is not the CA of this API server", "exit code 51"},
		"wrong-flag":   {map[string]string{"KUBELET_FLAGS": "--max-pod=30"}, "unknown flag: --max-pod", "the kubelet exits, and is started again"},
		"wrong-label":  {map[string]string{"KUBELET_NODE_LABELS": "node-role.kubernetes.io/x="}, "unknown 'kubernetes.io' or 'k8s.io' labels", "the kubelet exits, and is started again"},
		"no-driver":    {map[string]string{"GPU_NODE": "true"}, "no NVIDIA driver finds a GPU", "exit code 84"},
	} {
		t.Run(name, func(t *testing.T) {
			y.host.Boot(y.machine(name, c.change))
			defer y.host.Halt(name)
			y.logged(t, name, c.says)
			if c.then != "" {
				y.logged(t, name, c.then)
			} else {
				y.logged(t, name, "(2 times)") // it goes on trying
			}
			if _, err := y.api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("joined all the same: %v", err)
			}
		})
	}
}

// TestMachinesOutliveTheirControlPlane kills the control plane under a machine, and then restarts the machine itself.
func TestMachinesOutliveTheirControlPlane(t *testing.T) {
	cfg := plane.Config{Dir: t.TempDir(), ExtraSANs: []string{serverName}}
	p, err := plane.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Stop() }()
	y := beside(t, p, time.Hour)
	y.letIn(t, rightToken)
	m := y.machine("stays", map[string]string{"KUBELET_FLAGS": "--cloud-provider=external --register-with-taints=test/only=stays:NoSchedule"})
	y.host.Boot(m)
	before := y.node(t, "stays", "ready and initialized", usable)
	y.create(t, podFor("stays", "first", "100m"))
	first := y.pod(t, "first", "running", podReady)

	address := p.Address()
	p.Kill()
	<-p.Done()
	if p, err = plane.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if p.Address() != address {
		t.Fatalf("the control plane moved from %s to %s: someone took its port", address, p.Address())
	}
	y.create(t, podFor("stays", "second", "100m"))
	y.pod(t, "second", "running", podReady)

	y.host.Halt("stays")
	y.host.Boot(m)
	y.logged(t, "stays", "taken over")
	y.create(t, podFor("stays", "third", "100m"))
	y.pod(t, "third", "running", podReady)
	if again := y.pod(t, "first", "running", podReady); again.UID != first.UID || again.Status.PodIP != first.Status.PodIP {
		t.Errorf("the first pod was replaced: %s at %s, was %s at %s", again.UID, again.Status.PodIP, first.UID, first.Status.PodIP)
	}
	if after := y.node(t, "stays", "ready", ready); after.UID != before.UID {
		t.Error("the node was replaced")
	}
}

// testMany fills four machines from one deployment; its deletion empties them.
func (y *yard) testMany(t *testing.T) {
	const machines, replicas = 4, 100
	for i := range machines {
		name := fmt.Sprintf("many-%d", i)
		m := y.machine(name, map[string]string{"KUBELET_FLAGS": "--cloud-provider=external --max-pods=250 --register-with-taints=test/only=many:NoSchedule",
			"KUBELET_NODE_LABELS": "kubernetes.azure.com/cluster=c,test/machine=many"})
		m.CPUs, m.MemoryMiB = 16, 65536
		y.host.Boot(m)
		defer y.host.Halt(name)
	}
	n := int32(replicas)
	labels := map[string]string{"app": "many"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: appsv1.DeploymentSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podFor("many", "", "500m").Spec}}}
	if _, err := y.api.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, "all replicas ready", func(ctx context.Context) bool {
		d, err := y.api.AppsV1().Deployments("default").Get(ctx, "many", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas
	})
	t.Logf("%d machines booted and %d pods ready after %v", machines, replicas, time.Since(began))
	ips := map[string]bool{}
	list, err := y.api.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=many"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		ips[p.Status.PodIP] = true
	}
	if len(ips) != replicas {
		t.Errorf("%d pods have %d addresses", replicas, len(ips))
	}
	if err := y.api.AppsV1().Deployments("default").Delete(t.Context(), "many", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all pods gone", func(ctx context.Context) bool {
		l, err := y.api.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=many"})
		return err == nil && len(l.Items) == 0
	})
}

// planeCA is the CA of some other cluster.
func planeCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "kubernetes"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
