// Package story answers: does the README tell the truth?
//
// Its tests run the programs as a person would, the controller out of its image: `karpenter-lab up` without a terminal, then kubectl, then what the
// lab says. They look at the cluster and at what the simulated Azure holds, never at logs.
package story

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/plane/leash"
)

// bin is where TestMain puts the two binaries.
var bin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "story")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{
		"karpenter":     "github.com/karpenter-aks/karpenter/cmd/karpenter",
		"karpenter-lab": "github.com/karpenter-aks/karpenter/plane/cmd/karpenter-lab",
		"release":       "github.com/karpenter-aks/karpenter/release/cmd/karpenter-release",
	} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	// What is tested is what is shipped: the controller of every lab comes out of the image's layer.
	image := exec.Command(filepath.Join(dir, "release"), "image", "--root", "../..", "--platforms", "host", "--out", filepath.Join(dir, "image"))
	if out, err := image.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "release image: %v\n%s", err, out)
		return 1
	}
	bin = dir
	return m.Run()
}

// A lab is a running `karpenter-lab up`.
type lab struct {
	t          *testing.T
	dir        string
	kubeconfig string
	client.Client
	cmd  *exec.Cmd
	proc *leash.Child
}

// up starts a lab and waits for the line that says it is ready. The lab ends with the test, and must exit 0.
func up(t *testing.T, args ...string) *lab {
	t.Helper()
	return upWith(t, nil, args...)
}

func upWith(t *testing.T, env []string, args ...string) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	l.cmd = exec.Command(filepath.Join(bin, "karpenter-lab"), append([]string{"up", "--dir", l.dir, "--image", filepath.Join(bin, "image")}, args...)...)
	l.cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	l.cmd.Stderr = &said
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if l.proc, err = leash.Start(l.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.down(&said) })
	ready := make(chan string, 1)
	go func() {
		defer close(ready)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			if path, ok := strings.CutPrefix(s.Text(), "KUBECONFIG="); ok {
				ready <- path
			}
		}
	}()
	select {
	case path, ok := <-ready:
		if !ok {
			t.Fatalf("the lab ended before it was ready:\n%s", said.String())
		}
		l.kubeconfig = path
	case <-time.After(2 * time.Minute):
		t.Fatalf("the lab is not ready after two minutes:\n%s", said.String())
	}
	l.connect()
	return l
}

func (l *lab) connect() {
	l.t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			l.t.Fatal(err)
		}
	}
	scheme.AddKnownTypes(karpGroup, &karpv1.NodePool{}, &karpv1.NodePoolList{}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	addMeta(scheme)
	log.SetLogger(logr.Discard())
	if l.Client, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		l.t.Fatal(err)
	}
}

// down ends the lab as Ctrl-C would and checks that it left no process behind.
func (l *lab) down(said *bytes.Buffer) {
	if l.t.Failed() {
		l.report(said)
	}
	children := descendants(l.proc.PID())
	l.proc.Signal(syscall.SIGTERM)
	select {
	case <-l.proc.Done():
		if err := l.proc.Err(); err != nil {
			l.t.Errorf("the lab did not exit 0: %v\n%s", err, said.String())
		}
	case <-time.After(time.Minute):
		l.proc.Signal(syscall.SIGKILL)
		<-l.proc.Done()
		l.t.Errorf("the lab did not end within a minute of SIGTERM")
	}
	for _, pid := range children {
		if syscall.Kill(pid, 0) == nil {
			l.t.Errorf("process %d outlived the lab", pid)
		}
	}
}

// report prints what a person would look at after a failure.
func (l *lab) report(said *bytes.Buffer) {
	for _, args := range [][]string{{"kubectl", "get", "nodepools,aksnodeclasses,nodeclaims,nodes,pods", "-A", "-o", "wide"},
		{"kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"}, {"kubectl", "get", "nodeclaims", "-o", "yaml"}, {"resources"}} {
		out, _ := l.try(args...)
		l.t.Logf("%s\n%s", strings.Join(args, " "), tail(out, 8000))
	}
	lines, _ := os.ReadFile(filepath.Join(l.dir, "controller.log"))
	l.t.Logf("controller log\n%s\nlab\n%s", tail(string(lines), 8000), said.String())
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// do runs `karpenter-lab args…` against this lab and returns what it printed; it must succeed.
func (l *lab) do(args ...string) string {
	l.t.Helper()
	out, err := l.try(args...)
	if err != nil {
		l.t.Fatalf("karpenter-lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (l *lab) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "karpenter-lab"), args...)
	// kubectl takes every argument after it, so the directory goes by environment.
	cmd.Env = append(os.Environ(), "KARPENTER_LAB_DIR="+l.dir)
	cmd.Dir = ".."
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// apply applies a file of the examples, unchanged.
func (l *lab) apply(file string) {
	l.t.Helper()
	l.do("kubectl", "apply", "-f", filepath.Join("..", "examples", file))
}

func (l *lab) scale(name string, n int) {
	l.t.Helper()
	l.do("kubectl", "scale", "deployment", name, "--replicas", fmt.Sprint(n))
}

// until waits until the condition holds, and fails the test when it does not within d, however slow the machine: d is
// generous, the figures that users see are printed, not asserted.
func (l *lab) until(what string, d time.Duration, holds func() bool) time.Duration {
	l.t.Helper()
	began := time.Now()
	for ; ; time.Sleep(50 * time.Millisecond) {
		if holds() {
			took := time.Since(began)
			l.t.Logf("%s: %.1f s", what, took.Seconds())
			return took
		}
		if time.Since(began) > d {
			l.t.Fatalf("after %v still not: %s", d, what)
		}
	}
}

func list[L client.ObjectList](l *lab, into L, opts ...client.ListOption) L {
	l.t.Helper()
	if err := l.List(l.t.Context(), into, opts...); err != nil {
		l.t.Fatal(err)
	}
	return into
}

func (l *lab) pods(app string) []corev1.Pod { return l.podsOf(workload{name: app}) }

func (l *lab) podsOf(w workload) []corev1.Pod {
	return list(l, &corev1.PodList{}, client.InNamespace(w.namespace()), client.MatchingLabels{"app": w.name}).Items
}

func (l *lab) nodes() []corev1.Node       { return list(l, &corev1.NodeList{}).Items }
func (l *lab) claims() []karpv1.NodeClaim { return list(l, &karpv1.NodeClaimList{}).Items }

func (l *lab) running(app string, n int) bool { return runningOf(l.pods(app), n) }

func runningOf(pods []corev1.Pod, n int) bool {
	count := 0
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && podReady(p) {
			count++
		}
	}
	return count == n && len(pods) == n
}

func podReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// held is one line of `karpenter-lab resources -o json`.
type held struct {
	ID, Type, Name, State, Size, Zone, Priority, Owner string
	Tags                                               map[string]string
}

func (l *lab) resources() []held {
	l.t.Helper()
	var out []held
	if err := json.Unmarshal([]byte(l.do("resources", "-o", "json")), &out); err != nil {
		l.t.Fatal(err)
	}
	return out
}

func (l *lab) nothingLeft() bool {
	return len(l.nodes()) == 0 && len(l.claims()) == 0 && len(l.resources()) == 0
}
