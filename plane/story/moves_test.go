package story

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/model"
)

// TestNodesMoveAlthoughTheControllerDies changes the template of a pool, kills the controller with SIGKILL at every marked point of the moves
// that follow, and looks for nodes of the new template. Then it takes most of the pods away, and looks for smaller machines.
func TestNodesMoveAlthoughTheControllerDies(t *testing.T) {
	armed := t.TempDir()
	for _, point := range control.MovePoints() {
		if err := os.WriteFile(filepath.Join(armed, string(point)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := upWith(t, []string{"KARPENTER_LAB_DIE_DIR=" + armed}, "--boot-time", "0s")
	l.apply("general-purpose.yaml")
	l.apply("inflate.yaml")
	l.scale("inflate", 12)
	l.until("all pods run", 6*time.Minute, func() bool { return l.running("inflate", 12) })
	l.do("kubectl", "patch", "nodepool", "general-purpose", "--type", "merge", "-p",
		`{"spec":{"template":{"metadata":{"labels":{"example.com/generation":"2"}}}}}`)
	l.until("all pods run on nodes of the new template", 10*time.Minute, func() bool {
		for _, n := range l.nodes() {
			if n.Labels["example.com/generation"] != "2" {
				return false
			}
		}
		return l.running("inflate", 12) && l.atRest()
	})
	l.resourcesBelongToNodes()
	left, err := os.ReadDir(armed)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("the controller never died at %q", f.Name())
	}
	before := l.allCores()
	l.scale("inflate", 2)
	l.until("two pods are on machines for two", 10*time.Minute, func() bool {
		return l.running("inflate", 2) && l.atRest() && l.allCores() <= 4
	})
	if after := l.allCores(); after >= before {
		t.Errorf("%d cores for two pods, %d for twelve", after, before)
	}
	l.resourcesBelongToNodes()
	l.explained()
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("nothing is left", 6*time.Minute, l.nothingLeft)
}

// explained asks of every kind of object why it is as it is: the answer about the living cluster is that about its dump, and that which
// kubectl gives through its plugin, and names a reason.
func (l *lab) explained() {
	l.t.Helper()
	l.do("kubectl", "run", "huge", "--image="+pause, `--overrides={"spec":{"containers":[{"name":"huge","image":"`+pause+`","resources":{"requests":{"cpu":"200"}}}]}}`)
	l.do("kubectl", "wait", "--for=condition=PodScheduled=false", "pod/huge", "--timeout", "1m")
	dump := filepath.Join(l.t.TempDir(), "dump.yaml")
	text := l.do("kubectl", "get", "nodes,pods,namespaces,daemonsets,nodepools,nodeclaims,aksnodeclasses,pdb,pv,pvc,storageclasses,csinodes,volumeattachments", "-A", "-o", "yaml")
	if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	claim, plugins := l.claims()[0], l.plugins()
	at := time.Now().UTC().Format(time.RFC3339)
	for _, q := range [][]string{{"node", claim.Status.NodeName, "  stays "}, {"nodeclaim", claim.Name, "  stays "}, {"nodepool", "general-purpose", "  stay "},
		{"aksnodeclass", claim.Spec.NodeClassRef.Name, " is ready"}, {"pod", "default/huge", "  it is left over"}, {"pod", "default/" + l.pods("inflate")[0].Name, "  it runs on node "}} {
		if names := strings.Fields(l.karpenter("__complete", "explain", q[0], "")); !slices.Contains(names, q[1]) {
			l.t.Errorf("a shell is offered %v, and not %s %s", names, q[0], q[1])
		}
		if names := strings.Fields(l.prints("karpenter-lab", plugins, "kubectl", "__complete", "karpenter", "explain", q[0], "")); !slices.Contains(names, q[1]) {
			l.t.Errorf("kubectl offers %v, and not %s %s", names, q[0], q[1])
		}
		ask := []string{"explain", q[0], q[1], "--at", at}
		live, _, _ := strings.Cut(l.karpenter(ask...), "as of ")
		dumped, _, _ := strings.Cut(l.karpenter(append(ask, "-f", dump)...), "as of ")
		if live != dumped || !strings.Contains(live, q[2]) {
			l.t.Errorf("%s %s: the cluster says:\n%s\nits dump says:\n%s\nwant%s", q[0], q[1], live, dumped, q[2])
		}
		said := l.prints("karpenter-lab", plugins, append([]string{"kubectl", "karpenter"}, ask...)...)
		if plugged, _, _ := strings.Cut(said, "as of "); plugged != live {
			l.t.Errorf("kubectl karpenter %s:\n%s\nkarpenter itself:\n%s", strings.Join(ask, " "), plugged, live)
		}
	}
	l.do("kubectl", "delete", "pod", "huge")
}

// plugins links the program as kubectl looks for plugins, as the manual says, and returns what kubectl has to be told in its environment.
func (l *lab) plugins() []string {
	l.t.Helper()
	dir := l.t.TempDir()
	for _, name := range []string{"kubectl-karpenter", "kubectl_complete-karpenter"} {
		if err := os.Symlink(filepath.Join(bin, "karpenter"), filepath.Join(dir, name)); err != nil {
			l.t.Fatal(err)
		}
	}
	return []string{"KARPENTER_LAB_DIR=" + l.dir, "PATH=" + dir + ":" + os.Getenv("PATH")}
}

// karpenter runs `karpenter args…` against this lab and returns what it printed; it must succeed.
func (l *lab) karpenter(args ...string) string {
	l.t.Helper()
	return l.prints("karpenter", []string{"KUBECONFIG=" + l.kubeconfig}, args...)
}

// prints runs one of our programs with more in its environment, and returns what it printed; it must succeed.
func (l *lab) prints(program string, env []string, args ...string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), filepath.Join(bin, program), args...)
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// atRest holds when nothing leaves, and no claim says that it is about to.
func (l *lab) atRest() bool {
	for _, n := range l.nodes() {
		for _, x := range n.Spec.Taints {
			if x.Key == model.TaintDisrupted {
				return false
			}
		}
	}
	for _, c := range l.claims() {
		if c.DeletionTimestamp != nil || c.Annotations[model.AnnotationMove] != "" {
			return false
		}
	}
	return true
}

// allCores is how many cores all nodes have.
func (l *lab) allCores() (n int64) {
	for _, x := range l.nodes() {
		n += x.Status.Capacity.Cpu().Value()
	}
	return n
}
