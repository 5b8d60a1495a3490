package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strconv"
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
)

// TestShell reads scripts: what the entry point finds in its environment, or why the script is refused.
func TestShell(t *testing.T) {
	datadriven.Walk(t, "testdata/shell", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			env, err := environment([]byte(d.Input + "\n"))
			if err != nil {
				return "refused: " + err.Error()
			}
			var out []string
			for _, k := range sortedKeys(env) {
				out = append(out, k+"="+strconv.Quote(env[k]))
			}
			return strings.Join(append(out, ""), "\n")
		})
	})
}

// TestFlags reads kubelet command lines: what the kubelet acts on, or everything it would not start with.
func TestFlags(t *testing.T) {
	datadriven.Walk(t, "testdata/flags", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			minor := 37
			d.MaybeScanArgs(t, "minor", &minor)
			f, errs := parseFlags(d.Input, minor)
			s, more := f.settings()
			var out strings.Builder
			for _, err := range append(errs, more...) {
				fmt.Fprintln(&out, err)
			}
			if out.Len() > 0 {
				return out.String()
			}
			fmt.Fprintf(&out, "pods %d external %v register %v labels [%s]\n", s.maxPods, s.external, s.register, labelLine(s.extraLabels))
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
			f, errs := parseFlags(d.Input, 37)
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

// script is custom data in which everything is right, with some variables changed; a value of "-" leaves one out.
func script(ca []byte, change map[string]string) []byte {
	env := map[string]string{
		"API_SERVER_NAME": "x-dns-abc.hcp.westus3.azmk8s.io", "KUBE_CA_CRT": base64.StdEncoding.EncodeToString(ca),
		"TLS_BOOTSTRAP_TOKEN": "abcdef.0123456789abcdef", "KUBERNETES_VERSION": "1.37.1", "NETWORK_PLUGIN": "none",
		"KUBELET_NODE_LABELS": "a=b,kubernetes.azure.com/mode=user", "KUBELET_FLAGS": "--max-pods=30 --cloud-provider=external --node-labels=c=d",
	}
	for k, v := range change {
		env[k] = v
	}
	out := "#!/bin/bash\nset -e\n"
	for _, k := range sortedKeys(env) {
		if env[k] != "-" {
			out += fmt.Sprintf("export %s=%q\n", k, env[k])
		}
	}
	return []byte(out + "/usr/bin/nohup /bin/bash -c \"/bin/bash /opt/azure/containers/provision_start.sh\" >>/var/log/x.log 2>&1\n")
}

func TestCustomDataThatIsRight(t *testing.T) {
	ca := authority(t)
	b, errs := readCustomData(script(ca, nil))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := map[string]string{"a": "b", "c": "d", "kubernetes.azure.com/mode": "user"}
	if diff := cmp.Diff(want, b.labels); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	if b.server != "x-dns-abc.hcp.westus3.azmk8s.io" || b.token != "abcdef.0123456789abcdef" || b.version != "v1.37.1" || b.maxPods != 30 || !b.external {
		t.Errorf("read %+v", b)
	}
	if strings.Contains(b.describe(), "0123456789abcdef") {
		t.Error("the boot log line shows the secret of the token")
	}
}

func TestCustomDataThatIsWrong(t *testing.T) {
	ca := authority(t)
	for _, c := range []struct{ name, value, says string }{
		{"API_SERVER_NAME", "https://x.io", "no host name"},
		{"API_SERVER_NAME", "x.io:443", "no host name"},
		{"API_SERVER_NAME", "-", "API_SERVER_NAME is not set"},
		{"KUBE_CA_CRT", "-----BEGIN", "not base64"},
		{"KUBE_CA_CRT", "aGVsbG8=", "no certificate"},
		{"TLS_BOOTSTRAP_TOKEN", "abcdef0123456789abcdef", "not of the form"},
		{"TLS_BOOTSTRAP_TOKEN", "-", "TLS_BOOTSTRAP_TOKEN is not set"},
		{"KUBERNETES_VERSION", "v1.37.1", "no version"},
		{"NETWORK_PLUGIN", "calico", "is none of"},
		{"KUBELET_NODE_LABELS", "node-role.kubernetes.io/agent=", "unknown 'kubernetes.io' or 'k8s.io' labels: node-role.kubernetes.io/agent"},
		{"KUBELET_NODE_LABELS", "a", "not key=value"},
		{"KUBELET_FLAGS", "--max-pods=30 --nonsense=1", "unknown flag: --nonsense"},
		{"KUBELET_FLAGS", "-", "KUBELET_FLAGS is not set"},
	} {
		_, errs := readCustomData(script(ca, map[string]string{c.name: c.value}))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.says) {
			t.Errorf("%s=%q: got %v, want one error with %q", c.name, c.value, errs, c.says)
		}
	}
	_, errs := readCustomData(script(ca, map[string]string{"KUBELET_FLAGS": "-", "KUBE_CA_CRT": "-", "NETWORK_PLUGIN": "x"}))
	if len(errs) != 3 {
		t.Errorf("three mistakes are said as %v", errs)
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
		h.Boot(lab.Machine{Name: fmt.Sprintf("Tries-%d", i), CustomData: script(ca, nil)})
		h.Boot(lab.Machine{Name: fmt.Sprintf("fails-%d", i)})
	}
	h.Halt("tries-0")
	h.Boot(lab.Machine{Name: "tries-0", CustomData: script(ca, nil)})
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
