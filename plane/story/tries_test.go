package story

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// whatPeopleTry does, with a deployment inflate of two pods that run, what needs containers or metrics in other clusters.
func (l *lab) whatPeopleTry() {
	l.t.Helper()
	l.do("kubectl", "create", "cronjob", "tick", "--image=example.com/app", "--schedule", "* * * * *", "--", "sleep", "1")
	l.do("kubectl", "create", "job", "hello", "--image=example.com/app", "--", "sleep", "2")
	l.do("kubectl", "wait", "--for=condition=complete", "job/hello", "--timeout", "50s")
	l.do("kubectl", "delete", "job", "hello")

	const words = "the lab runs no containers"
	if out := l.do("kubectl", "logs", "deployment/inflate"); !strings.Contains(strings.ToLower(out), words) {
		l.t.Errorf("logs say %q", out)
	}
	for _, args := range [][]string{{"kubectl", "exec", "deployment/inflate", "--", "date"}, {"kubectl", "port-forward", "deployment/inflate", ":80"}} {
		if out, err := l.try(args...); err == nil || !strings.Contains(out+err.Error(), words) {
			l.t.Errorf("%s says %q, %v", args[1], out, err)
		}
	}

	l.do("kubectl", "annotate", "pods", "-l", "app=inflate", "lab.karpenter.sh/cpu-usage=2")
	if out := l.do("kubectl", "top", "pods", "-l", "app=inflate"); !strings.Contains(out, "2000m") {
		l.t.Errorf("top says %s", out)
	}
	l.do("kubectl", "autoscale", "deployment", "inflate", "--cpu=50%", "--min", "2", "--max", "4")
	l.until("busy pods are joined by others", 2*time.Minute, func() bool { return l.running("inflate", 4) })
	l.do("kubectl", "delete", "hpa", "inflate")
	l.until("a Job of the CronJob has ended well", 3*time.Minute, func() bool {
		return l.do("kubectl", "get", "cronjob", "tick", "-o", "jsonpath={.status.lastSuccessfulTime}") != ""
	})
	l.do("kubectl", "delete", "cronjob", "tick")
	l.differs()
	l.drains()
}

// differs asks kubectl what a file would change: nothing when it was applied, for the controller changes no field that people wrote.
func (l *lab) differs() {
	l.t.Helper()
	const applied = "../examples/general-purpose.yaml"
	l.do("kubectl", "diff", "-f", applied)
	text, err := os.ReadFile(filepath.Join("..", applied))
	if err != nil {
		l.t.Fatal(err)
	}
	changed := filepath.Join(l.t.TempDir(), "changed.yaml")
	other := strings.Replace(string(text), "kind: NodePool\nmetadata:\n", "kind: NodePool\nmetadata:\n  labels: {team: other}\n", 1)
	if err := os.WriteFile(changed, []byte(other), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if out, err := l.try("kubectl", "diff", "-f", changed); err == nil || !strings.Contains(out, "team: other") {
		l.t.Errorf("kubectl diff of another label says %q, %v", out, err)
	}
}

// drains empties a node as people do before they work on it. Its pods run elsewhere.
func (l *lab) drains() {
	l.t.Helper()
	pods := l.pods("inflate")
	node := pods[0].Spec.NodeName
	l.do("kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=50s")
	l.until("the pods of a drained node run elsewhere", 2*time.Minute, func() bool {
		for _, p := range l.pods("inflate") {
			if p.DeletionTimestamp == nil && p.Spec.NodeName == node {
				return false
			}
		}
		return l.running("inflate", len(pods))
	})
}
