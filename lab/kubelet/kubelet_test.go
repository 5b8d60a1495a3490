package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/provision"
	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
)

// TestFlags reads kubelet command lines: what the kubelet acts on, or everything it would not start with.
func TestFlags(t *testing.T) {
	datadriven.Walk(t, "testdata/flags", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			minor := 37
			d.MaybeScanArgs(t, "minor", &minor)
			f, errs := parseFlags(strings.Fields(d.Input), minor)
			s, more := f.settings()
			var out strings.Builder
			for _, err := range append(errs, more...) {
				fmt.Fprintln(&out, err)
			}
			if out.Len() > 0 {
				return out.String()
			}
			fmt.Fprintf(&out, "pods %d external %v register %v labels [%s]\n", s.maxPods, s.external, s.register, labelLine(s.labels))
			for _, taint := range s.taints {
				fmt.Fprintln(&out, "taint", taint.ToString())
			}
			return out.String()
		})
	})
}

// TestAllocatable computes capacity and allocatable of machines.
func TestAllocatable(t *testing.T) {
	datadriven.Walk(t, "testdata/allocatable", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var m lab.Machine
			var disk int
			var memory int
			d.ScanArgs(t, "cpus", &m.CPUs)
			d.ScanArgs(t, "mib", &memory)
			d.ScanArgs(t, "disk", &disk)
			d.MaybeScanArgs(t, "gpus", &m.GPUs)
			m.MemoryMiB, m.OSDiskGB = int64(memory), int32(disk)
			f, errs := parseFlags(strings.Fields(d.Input), 37)
			s, more := f.settings()
			if errs = append(errs, more...); len(errs) > 0 {
				t.Fatal(errs)
			}
			have := capacity(m, s.maxPods)
			return "capacity    " + amounts(have) + "\nallocatable " + amounts(s.allocatable(have)) + "\n"
		})
	})
}

func amounts(l corev1.ResourceList) string {
	var out []string
	for _, name := range sortedKeys(l) {
		q := l[name]
		out = append(out, string(name)+"="+q.String())
	}
	return strings.Join(out, " ")
}

// authority is a self-signed CA certificate in PEM.
func authority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// script is custom data in which everything is right.
func script(ca []byte) []byte { return provisiontest.Script(provisiontest.Upstream(ca)) }

// cluster is a network in which only the cluster's API server is.
type cluster struct{}

func (cluster) Lookup(context.Context, string) error        { return nil }
func (cluster) Greet(context.Context, string, []byte) error { return nil }
func (cluster) Dial(context.Context, string) error          { return nil }

// TestKubeletStarts reads what provisioning leaves for the kubelet: with what upstream's provider sends it starts.
func TestKubeletStarts(t *testing.T) {
	m := lab.Machine{Name: "n", CPUs: 2, MemoryMiB: 8192, OSDiskGB: 128, Arch: "amd64", Size: "Standard_D2s_v5", Address: "10.224.0.9"}
	b, errs := readKubelet(provision.Run(t.Context(), script(authority(t)), m, cluster{}), m)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if b.server != provisiontest.Host || b.port != "443" || b.token != provisiontest.Token || b.version != "v"+provisiontest.Version || b.maxPods != 250 || !b.external ||
		b.labels["karpenter.sh/nodepool"] != "general" || len(b.taints) != 1 || len(b.ca) == 0 {
		t.Errorf("read %+v", b)
	}
	if strings.Contains(b.describe(), "0123456789abcdef") {
		t.Error("the boot log line shows the secret of the token")
	}
}

// TestKubeletDoesNotStart changes one thing of what upstream's provider sends. Provisioning ends with exit code 0, and the
// kubelet exits for ever.
func TestKubeletDoesNotStart(t *testing.T) {
	m := lab.Machine{Name: "n", CPUs: 2, MemoryMiB: 8192, OSDiskGB: 128, Arch: "amd64", Size: "Standard_D2s_v5", Address: "10.224.0.9"}
	plus := func(flag string) map[string]string {
		return map[string]string{"KUBELET_FLAGS": strings.Join(append(provisiontest.Flags(), flag), " ")}
	}
	old := func(version, flag string) map[string]string {
		env := plus(flag)
		env["KUBERNETES_VERSION"] = version
		return env
	}
	sysctl := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		change map[string]string
		says   string // "" when it starts
	}{
		{map[string]string{"TLS_BOOTSTRAP_TOKEN": ""}, "there is no client certificate"},
		{map[string]string{"TLS_BOOTSTRAP_TOKEN": "a\" b: ["}, "not readable as a kubeconfig"},
		{map[string]string{"KUBELET_NODE_LABELS": "node-role.kubernetes.io/agent="}, "unknown 'kubernetes.io' or 'k8s.io' labels: node-role.kubernetes.io/agent"},
		{map[string]string{"KUBELET_NODE_LABELS": "a=/subscriptions/x"}, "label"},
		{map[string]string{"KUBELET_NODE_LABELS": "a"}, ""},
		{map[string]string{"KUBELET_FLAGS": ""}, ""},
		{plus("--nonsense=1"), "unknown flag: --nonsense"},
		{plus("nonsense"), "unknown command"},
		{plus("--max-pods"), `invalid argument "--node-ip=10.224.0.9" for --max-pods`},
		{plus("--max_pods 30"), ""},
		{plus("--max-pods=4294967296"), "out of range"},
		{plus("--register-with-taints=a=b"), "invalid taint"},
		{plus("--cpu-cfs-quota-period=50ms"), "CustomCPUCFSQuotaPeriod"},
		{plus("--cpu-cfs-quota-period=50ms --feature-gates=CustomCPUCFSQuotaPeriod=true"), ""},
		{plus("--cpu-cfs-quota-period=100ms"), ""},
		{plus("--image-gc-low-threshold=85"), "less than"},
		{plus("--kube-reserved=cpu=3"), "the machine has 2"},
		{plus("--client-ca-file=/x"), "no such file"},
		{plus("--bootstrap-kubeconfig=/x"), "there is neither"},
		{plus("--kubeconfig="), "joins nobody"},
		{plus("--allowed-unsafe-sysctls=kernel.panic"), "no setting that a pod"},
		{plus("--allowed-unsafe-sysctls=kernel.shm*,net.core.somaxconn"), ""},
		{plus("--tls-cipher-suites=X"), "not supported"},
		{plus("--image-credential-provider-bin-dir=/x"), "no acr-credential-provider"},
		{plus("--version"), "print"},
		{plus("--pod-infra-container-image=x"), "unknown flag: --pod-infra-container-image"},
		{old("1.34.9", "--pod-infra-container-image=x"), ""},
		{old("1.34.9", "--cloud-config=/etc/kubernetes/azure.json"), "unknown flag: --cloud-config"},
		{map[string]string{"KUBELET_CONFIG_FILE_ENABLED": "true"}, "kubeletconfig.json: no such file, or an empty one"},
		{map[string]string{"SYSCTL_CONTENT": sysctl("vm.overcommit_memory=0\n")}, "vm.overcommit_memory is 0 and must be 1"},
		{map[string]string{"SHOULD_CONFIG_SWAP_FILE": "true", "SWAP_FILE_SIZE_MB": "1000"}, "has swap"},
		{map[string]string{"KUBELET_FLAGS": "--max-pods=30 --image-credential-provider-bin-dir=/var/lib/kubelet/credential-provider"}, "go together"},
		{map[string]string{"KUBELET_NODE_LABELS": "a=b\nKUBELET_TLS_BOOTSTRAP_FLAGS=--kubeconfig=/x"}, "there is neither"},
	} {
		env := provisiontest.Upstream(authority(t))
		maps.Copy(env, c.change)
		out := provision.Run(t.Context(), provisiontest.Script(env), m, cluster{})
		if out.ExitCode != 0 || out.Kubelet == nil {
			t.Errorf("%q: exit code %d: %s%s", c.change, out.ExitCode, out.Failed, out.NoKubelet)
		}
		errs := Start(out, m)
		said := fmt.Sprint(errs)
		if (c.says == "") != (len(errs) == 0) || !strings.Contains(said, c.says) {
			t.Errorf("%q: %s, want %q", c.change, said, c.says)
		}
		if strings.Contains(said, "0123456789abcdef") {
			t.Errorf("%q: shows the secret of the token: %s", c.change, said)
		}
	}
}

func TestManifestsAreDaemonSetsEveryNodeTakes(t *testing.T) {
	var names []string
	for _, doc := range strings.Split(string(Manifests()), "\n---\n") {
		var ds appsv1.DaemonSet
		if err := yaml.UnmarshalStrict([]byte(doc), &ds); err != nil {
			t.Fatal(err)
		}
		names = append(names, ds.Name)
		spec := ds.Spec.Template.Spec
		if ds.Kind != "DaemonSet" || ds.Namespace != "kube-system" || spec.PriorityClassName != "system-node-critical" {
			t.Errorf("%s: kind %s, namespace %s, priority %s", ds.Name, ds.Kind, ds.Namespace, spec.PriorityClassName)
		}
		if !tolerated(&corev1.Pod{Spec: spec}, corev1.Taint{Key: "any", Effect: corev1.TaintEffectNoExecute}) {
			t.Errorf("%s does not tolerate every taint", ds.Name)
		}
		pod := &corev1.Pod{Spec: spec}
		if cpu := podRequests(pod)[corev1.ResourceCPU]; cpu.IsZero() {
			t.Errorf("%s requests no cpu", ds.Name)
		}
	}
	if diff := cmp.Diff([]string{"cilium", "azure-cns", "kube-proxy"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestAdmit(t *testing.T) {
	h, err := New(Config{Admin: nowhere()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := &machine{Machine: lab.Machine{Name: "n", CPUs: 2, MemoryMiB: 8192, OSDiskGB: 30}, host: h, pods: map[podID]*podRun{}}
	m.alloc = capacity(m.Machine, 3)
	m.node.object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}, {Key: "y", Effect: corev1.TaintEffectNoSchedule}}}}
	pod := func(cpu string, change func(*corev1.Pod)) *podRun {
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: quantities("cpu", cpu)}}},
		}}
		if change != nil {
			change(p)
		}
		return &podRun{pod: p, requests: podRequests(p)}
	}
	m.pods["1"] = pod("1500m", nil)
	m.pods["1"].step = running
	m.pods["2"] = pod("1", nil)
	m.pods["2"].step = ended
	for _, c := range []struct {
		p      *podRun
		reason string
	}{
		{pod("500m", nil), ""},
		{pod("501m", nil), "OutOfcpu"},
		{pod("0", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = quantities("memory", "8Gi") }), "OutOfmemory"},
		{pod("0", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = quantities("ephemeral-storage", "30Gi") }), "OutOfephemeral-storage"},
		{pod("0", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "c"} }), "NodeAffinity"},
		{pod("0", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), ""},
		{pod("0", func(p *corev1.Pod) { p.Spec.Tolerations = nil }), "TaintToleration"},
	} {
		if got := m.admit(c.p); got.reason != c.reason {
			t.Errorf("%v: got %+v, want %q", c.p.requests, got, c.reason)
		}
	}
	m.pods["3"], m.pods["4"] = pod("0", nil), pod("0", nil)
	if got := m.admit(pod("0", nil)); got.reason != "OutOfpods" {
		t.Errorf("a fourth pod where three may run: %+v", got)
	}
}

func TestBootLogIsBounded(t *testing.T) {
	h, err := New(Config{Admin: nowhere()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.mu.Lock()
	log := h.newLog("m")
	h.mu.Unlock()
	for i := range 3 * logLines {
		log.say("line %d", i/2)
	}
	lines := h.BootLog("M")
	if len(lines) != logLines || !strings.HasSuffix(lines[logLines-1], "line 299 (2 times)") {
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
}

func TestPodAddressesAreUniqueUntilFreed(t *testing.T) {
	r := &podRange{slot: 257}
	seen := map[string]bool{}
	for range 253 {
		ip := r.next()
		if seen[ip] || !strings.HasPrefix(ip, "10.245.1.") {
			t.Fatalf("%s again, or outside the range", ip)
		}
		seen[ip] = true
	}
	r.free("10.245.1.77")
	if ip := r.next(); ip != "10.245.1.77" {
		t.Errorf("the one address that is free is .77, got %s", ip)
	}
}

func TestPodsStop(t *testing.T) {
	h, err := New(Config{Admin: nowhere(), PodStop: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := &machine{host: h, pods: map[podID]*podRun{}}
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		annotation string
		grace      int64
		want       time.Duration
	}{{"", 30, 2 * time.Second}, {"", 1, time.Second}, {"10s", 30, 10 * time.Second}, {"1m", 30, 30 * time.Second}, {"soon", 30, 2 * time.Second}, {"0s", 30, 0}} {
		p := &podRun{step: running, started: now, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{StopAfterAnnotation: c.annotation}, DeletionGracePeriodSeconds: &c.grace}}}
		m.leave(p, now)
		if got := p.due.Sub(now); got != c.want || p.step != leaving {
			t.Errorf("%q with grace %ds: %v in step %d", c.annotation, c.grace, got, p.step)
		}
		m.leave(p, now.Add(time.Second)) // told again, nothing changed: it does not start over
		if got := p.due.Sub(now); got != c.want {
			t.Errorf("%q: told twice: %v", c.annotation, got)
		}
	}
}

// The node controller may think that a node is not ready yet, and say so of the pods that run there.
func TestReadinessThatAnotherWroteOverIsSaidAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	status := func(phase corev1.PodPhase, ready corev1.ConditionStatus) corev1.PodStatus {
		return corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
	}
	for _, x := range []struct {
		name       string
		said, news corev1.PodStatus
		again      bool
	}{
		{"another's word", status(corev1.PodRunning, "True"), status(corev1.PodRunning, "False"), true},
		{"our own word", status(corev1.PodRunning, "True"), status(corev1.PodRunning, "True"), false},
		{"news from before it ran", status(corev1.PodRunning, "True"), status(corev1.PodPending, "False"), false},
		{"it is not ready", status(corev1.PodRunning, "False"), status(corev1.PodRunning, "False"), false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		p := &podRun{step: running, started: now, pod: pod, last: x.said}
		m := &machine{pods: map[podID]*podRun{"u": p}}
		m.takePod(podNews{pod: &corev1.Pod{ObjectMeta: pod.ObjectMeta, Status: x.news}}, now)
		if p.gates != x.again || p.due.Equal(now) != x.again {
			t.Errorf("%s: said again: %v, due %v", x.name, p.gates, p.due)
		}
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h, err := New(Config{Admin: nowhere(), Resolve: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	ca := authority(t)
	for i := range 5 {
		h.Boot(lab.Machine{Name: fmt.Sprintf("Tries-%d", i), CustomData: script(ca)})
		h.Boot(lab.Machine{Name: fmt.Sprintf("fails-%d", i)})
	}
	h.Halt("tries-0")
	h.Boot(lab.Machine{Name: "tries-0", CustomData: script(ca)})
	h.Halt("fails-0")
	h.Halt("unheard-of")
	h.Warn("fails-1", "Preempt", time.Unix(0, 0))
	if got := len(h.On()); got != 9 {
		t.Errorf("%d machines are on: %v", got, h.On())
	}
	h.Close()
	h.Boot(lab.Machine{Name: "late"})
	if log := h.BootLog("late"); log != nil {
		t.Errorf("a closed host boots machines: %v", log)
	}
}

// nowhere is an API server that does not answer.
func nowhere() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} }

func quantities(name corev1.ResourceName, v string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(v)}
}

// TestResize gives a running pod more while there is room, says so when there is none, and forgets what is no longer asked for.
func TestResize(t *testing.T) {
	h, err := New(Config{Admin: nowhere()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := &machine{Machine: lab.Machine{Name: "n", CPUs: 2, MemoryMiB: 8192, OSDiskGB: 30}, host: h, pods: map[podID]*podRun{}}
	m.alloc = capacity(m.Machine, 3)
	pod := func(cpu string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
			Resources: corev1.ResourceRequirements{Requests: quantities("cpu", cpu)}}}}}
	}
	now := time.Unix(1000, 0)
	p := &podRun{pod: pod("1"), requests: podRequests(pod("1")), has: containers(pod("1")), step: running, started: now}
	m.pods["1"] = p
	for _, x := range []struct {
		asks, has string
		pending   bool
	}{{"1500m", "1500m", false}, {"3", "1500m", true}, {"3", "1500m", true}, {"1500m", "1500m", false}, {"500m", "500m", false}} {
		p.gates = false
		before := p.pod.Spec.Containers[0].Resources.Requests.Cpu().String()
		m.takePod(podNews{pod: pod(x.asks)}, now)
		if p.gates == (before == x.asks) {
			t.Errorf("asked for %s after %s, the status is written: %v", x.asks, before, p.gates)
		}
		s := m.runningStatus(p, now)
		if got := s.ContainerStatuses[0].AllocatedResources.Cpu().String(); got != x.has {
			t.Errorf("asked for %s, has %s, want %s", x.asks, got, x.has)
		}
		if got := slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending }); got != x.pending {
			t.Errorf("asked for %s, pending: %v", x.asks, got)
		}
	}
}
