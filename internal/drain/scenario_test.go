package drain_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/model"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// TestScenarios asks Next about the views in testdata: "next now=<since the node's deletion>" and lines
//
//	node bare | claim none | claim grace=1h | claim end=10m | instance gone
//	pod default/a grace=30 daemon critical mirror terminal ready deleting=20s tolerates protected=true started=-5m
//	pdb default/b allowed=0 pods=default/a,default/c      volume v pods=default/a
//
// What they leave out is the ordinary: a prepared node, a claim without grace period, pods with 30 s of grace.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "next" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var now string
			d.ScanArgs(t, "now", &now)
			return show(drain.Next(view(t, now, d.Input)))
		})
	})
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return start.Add(d)
}

func prepared() model.Node {
	return model.Node{Name: "n1", DeletedAt: start, Taints: []model.Taint{drain.Taint()},
		Labels: map[string]string{model.LabelExcludeLB: "karpenter"}}
}

func view(t *testing.T, now, input string) drain.View {
	t.Helper()
	v := drain.View{Now: at(t, now), Node: prepared(), Claim: &model.Claim{Name: "c", DeletedAt: start}}
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		switch words[0] + " " + strings.SplitN(words[1], "=", 2)[0] {
		case "node bare":
			v.Node.Taints, v.Node.Labels = nil, nil
		case "claim none":
			v.Claim = nil
		case "instance gone":
			v.InstanceGone = true
		case "claim grace":
			d := at(t, strings.TrimPrefix(words[1], "grace=")).Sub(start)
			v.Claim.TerminationGracePeriod = &d
		case "claim end":
			end := at(t, strings.TrimPrefix(words[1], "end=")).Format(time.RFC3339)
			v.Claim.Annotations = map[string]string{model.AnnotationTerminationTime: end}
		default:
			object(t, &v, words)
		}
	}
	return v
}

func object(t *testing.T, v *drain.View, words []string) {
	t.Helper()
	ns, name, _ := strings.Cut(words[1], "/")
	attrs := map[string]string{}
	for _, w := range words[2:] {
		k, val, _ := strings.Cut(w, "=")
		attrs[k] = val
	}
	var pods []model.PodKey
	for k := range strings.SplitSeq(attrs["pods"], ",") {
		if n, p, ok := strings.Cut(k, "/"); ok {
			pods = append(pods, model.PodKey{Namespace: n, Name: p})
		}
	}
	switch words[0] {
	case "pod":
		v.Pods = append(v.Pods, pod(t, ns, name, attrs))
	case "pdb":
		n, err := strconv.Atoi(attrs["allowed"])
		if err != nil {
			t.Fatal(err)
		}
		v.PDBs = append(v.PDBs, model.PDB{Namespace: ns, Name: name, Allowed: int32(n), Pods: pods})
	case "volume":
		v.Attachments = append(v.Attachments, model.Attachment{Name: words[1], Node: "n1", Pods: pods})
	default:
		t.Fatalf("unknown line %q", words)
	}
}

func pod(t *testing.T, ns, name string, attrs map[string]string) model.Pod {
	t.Helper()
	p := model.Pod{Namespace: ns, Name: name, UID: "uid-" + name, Node: "n1", GraceSeconds: 30, Started: start}
	for k, val := range attrs {
		switch k {
		case "grace":
			n, err := strconv.ParseInt(val, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			p.GraceSeconds = n
		case "daemon":
			p.DaemonSet = true
		case "critical":
			p.Critical = true
		case "mirror":
			p.Mirror = true
		case "terminal":
			p.Terminal = true
		case "ready":
			p.PodReady = true
		case "deleting":
			p.DeletedAt = at(t, val)
		case "tolerates":
			p.Tolerations = []model.Toleration{{Op: "Exists"}}
		case "protected":
			p.DoNotDisrupt = val
		case "started":
			p.Started = at(t, val)
		default:
			t.Fatalf("pod word %q", k)
		}
	}
	return p
}

func show(s drain.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "why=%s", s.Why)
	for _, f := range []struct {
		name string
		set  bool
	}{{"prepare", s.Prepare}, {"drained", s.Drained}, {"detached", s.Detached}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	if s.After != 0 {
		fmt.Fprintf(&b, " after=%s", s.After)
	}
	b.WriteString("\n")
	for _, r := range s.Remove {
		verb := "evict"
		if r.Force {
			verb = fmt.Sprintf("delete within %ds", *r.GraceSeconds)
		}
		fmt.Fprintf(&b, "  %s %s (%s)\n", verb, r.Pod, r.Why)
	}
	for _, w := range s.Waiting {
		fmt.Fprintf(&b, "  wait for %s (%s) %s\n", w.Pod, w.Why, w.Detail)
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// TestADrainEndsOrNamesWhatHoldsIt drains random nodes with an executor that obeys the budgets; it must end, and with a
// bounded grace whatever protects the pods. Groups must leave in order until the grace is nearly over.
func TestADrainEndsOrNamesWhatHoldsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drain.View{Now: start, Node: prepared(), Claim: &model.Claim{DeletedAt: start}}
		bounded := rapid.Bool().Draw(t, "bounded")
		if bounded {
			d := time.Duration(rapid.IntRange(0, 600).Draw(t, "grace")) * time.Second
			v.Claim.TerminationGracePeriod = &d
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
			p := model.Pod{Namespace: "d", Name: fmt.Sprint(i), GraceSeconds: int64(rapid.IntRange(0, 90).Draw(t, "s")), Started: start,
				DaemonSet: rapid.Bool().Draw(t, "daemon"), Critical: rapid.Bool().Draw(t, "critical"), PodReady: true}
			p.DoNotDisrupt = rapid.SampledFrom([]string{"", "", "", "true", "2m", "nonsense"}).Draw(t, "protected")
			v.Pods = append(v.Pods, p)
			v.PDBs = append(v.PDBs, model.PDB{Namespace: "d", Name: "b" + p.Name, Allowed: int32(rapid.IntRange(0, 1).Draw(t, "allowed")),
				Pods: []model.PodKey{p.Key()}})
		}
		const rounds = 2000
		for range rounds {
			s := drain.Next(v)
			if s.Drained && s.Detached {
				return
			}
			if len(s.Remove) == 0 && s.After == 0 {
				held := len(s.Waiting) > 0
				for _, w := range s.Waiting {
					held = held && (w.Why == model.WhyDoNotDisrupt || w.Why == model.WhyPDB || w.Why == model.WhyEarlierGroup)
				}
				if bounded || !held {
					t.Fatalf("stuck at %s: %+v", v.Now.Sub(start), s)
				}
				return
			}
			obey(t, &v, s)
		}
		t.Fatalf("no end: %+v", drain.Next(v))
	})
}

// obey removes what the step names, as an API server and a kubelet would, and lets the least time pass.
func obey(t *rapid.T, v *drain.View, s drain.Step) {
	lowest := 4
	for _, p := range v.Pods {
		lowest = min(lowest, rank(p))
	}
	for _, r := range s.Remove {
		for i := range v.Pods {
			if p := &v.Pods[i]; p.Key() == r.Pod {
				if !r.Force && rank(*p) != lowest {
					t.Fatalf("%s is evicted before its turn", p.Key())
				}
				p.DeletedAt = v.Now.Add(time.Duration(p.GraceSeconds) * time.Second)
				if r.GraceSeconds != nil {
					p.DeletedAt = v.Now.Add(time.Duration(*r.GraceSeconds) * time.Second)
				}
			}
		}
	}
	v.Now = v.Now.Add(time.Second)
	var left []model.Pod
	for _, p := range v.Pods {
		if !p.Deleting() || p.DeletedAt.After(v.Now) {
			left = append(left, p)
		}
	}
	v.Pods = left
}

func rank(p model.Pod) int {
	n := 0
	if p.DaemonSet {
		n++
	}
	if p.Critical {
		n += 2
	}
	return n
}
