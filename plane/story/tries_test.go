package story

import (
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
}
