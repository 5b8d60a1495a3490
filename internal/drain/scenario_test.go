package drain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/scenario"
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
	scenario.Run(t, "testdata", scenario.Commands{"next": func(q *scenario.Question) string { v := view(q); return show(v, drain.Next(v)) }})
}

func at(q *scenario.Question, s string) time.Time { return start.Add(q.Duration(s)) }

func prepared() model.Node {
	return model.Node{Name: "n1", DeletedAt: start, Taints: []model.Taint{drain.Taint()},
		Labels: map[string]string{model.LabelExcludeLB: "karpenter"}}
}

func view(q *scenario.Question) drain.View {
	v := drain.View{Now: at(q, q.Arg("now")), Node: prepared(), Claim: &model.Claim{Name: "c", DeletedAt: start}}
	for _, l := range q.Lines() {
		value := l.Words[0].Value
		switch l.Noun + " " + l.Words[0].Key {
		case "node bare":
			v.Node.Taints, v.Node.Labels = nil, nil
		case "claim none":
			v.Claim = nil
		case "instance gone":
			v.InstanceGone = true
		case "claim grace":
			d := q.Duration(value)
			v.Claim.TerminationGracePeriod = &d
		case "claim end":
			v.Claim.Annotations = map[string]string{model.AnnotationTerminationTime: at(q, value).Format(time.RFC3339)}
		default:
			object(q, &v, l)
		}
	}
	return v
}

func object(q *scenario.Question, v *drain.View, l scenario.Line) {
	k := l.Key()
	switch l.Noun {
	case "pod":
		v.Pods = append(v.Pods, pod(q, l))
	case "pdb":
		v.PDBs = append(v.PDBs, model.PDB{Namespace: k.Namespace, Name: k.Name, Allowed: int32(q.Int(l.Get("allowed", ""))), Pods: l.Pods("pods")})
	case "volume":
		v.Attachments = append(v.Attachments, model.Attachment{Name: l.Name, Node: "n1", Pods: l.Pods("pods")})
	default:
		q.Fatalf("unknown noun %q", l.Noun)
	}
}

func pod(q *scenario.Question, l scenario.Line) model.Pod {
	k := l.Key()
	p := model.Pod{Namespace: k.Namespace, Name: k.Name, UID: "uid-" + k.Name, Node: "n1", GraceSeconds: 30, Started: start}
	for _, w := range l.More() {
		switch w.Key {
		case "grace":
			p.GraceSeconds = q.Int(w.Value)
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
			p.DeletedAt = at(q, w.Value)
		case "tolerates":
			p.Tolerations = []model.Toleration{{Op: "Exists"}}
		case "protected":
			p.DoNotDisrupt = w.Value
		case "started":
			p.Started = at(q, w.Value)
		default:
			q.Fatalf("pod word %q", w.Key)
		}
	}
	return p
}

func show(v drain.View, s drain.Step) string {
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
	if len(s.Volumes) > 0 {
		fmt.Fprintf(&b, " volumes=%s", strings.Join(s.Volumes, ","))
	}
	for _, c := range drain.Conditions(v, s) {
		if c.Type == model.VolumesDetached && c.Status != model.True {
			fmt.Fprintf(&b, " detached=%s/%s", c.Status, c.Reason)
		}
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
