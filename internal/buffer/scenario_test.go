package buffer_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/buffer"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios resolves the buffers of the worlds in testdata, which are lines
//
//	template KIND NAME replicas=N cpu=N memory=N [generation=N]
//	buffer NAME [template=NAME] [deployment=NAME] [scalable=GROUP/KIND/NAME] [replicas=N] [percentage=N] [limit.R=N] [strategy=S]
//
// and prints what each one's status would show with room for "nodes" pods on nodes and "way" on machines on their way.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata", scenario.Commands{"resolve": func(q *scenario.Question) string {
		buffers, templates := read(q)
		room := buffer.Room{Nodes: q.IntArg("nodes"), OnTheWay: q.IntArg("way")}
		var b strings.Builder
		for _, x := range buffers {
			s := buffer.Resolve(x, templates)
			if !s.Ours {
				fmt.Fprintf(&b, "%s: not ours\n", x.Name)
				continue
			}
			st := buffer.Describe(x, s, room)
			fmt.Fprintf(&b, "%s: %d pods, template %q of generation %d\n", x.Name, st.Replicas, st.Template, st.TemplateGeneration)
			for _, c := range st.Conditions {
				fmt.Fprintf(&b, "  %s=%s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
			}
		}
		return b.String()
	}})
}

func read(q *scenario.Question) ([]model.Buffer, []model.Template) {
	var buffers []model.Buffer
	var templates []model.Template
	for _, l := range q.Lines() {
		switch l.Noun {
		case "template":
			templates = append(templates, readTemplate(q, l))
		case "buffer":
			buffers = append(buffers, readBuffer(q, l))
		default:
			q.Fatalf("unknown noun %q", l.Noun)
		}
	}
	slices.SortFunc(templates, buffer.Order)
	return buffers, templates
}

func readTemplate(q *scenario.Question, l scenario.Line) model.Template {
	x := model.Template{Kind: l.Name, Namespace: "default", Name: l.Words[1].Key, Generation: 1, Pod: model.Pod{Requests: model.Resources{Pods: 1}}}
	for _, w := range l.Words[2:] {
		switch n := q.Int(w.Value); w.Key {
		case "replicas":
			x.Replicas = int32(n)
		case "generation":
			x.Generation = n
		default:
			x.Pod.Requests = x.Pod.Requests.With(w.Key, n)
		}
	}
	return x
}

func readBuffer(q *scenario.Question, l scenario.Line) model.Buffer {
	b := model.Buffer{Namespace: "default", Name: l.Name, UID: "uid-" + l.Name, Generation: 1}
	for _, w := range l.More() {
		switch v := w.Value; w.Key {
		case "template":
			b.Template = v
		case "deployment":
			b.Scalable = &model.ScalableRef{Kind: model.KindDeployment, Name: v}
		case "scalable":
			p := strings.Split(v, "/")
			b.Scalable = &model.ScalableRef{Group: p[0], Kind: p[1], Name: p[2]}
		case "strategy":
			b.Strategy = v
		case "replicas":
			n := int32(q.Int(v))
			b.Replicas = &n
		case "percentage":
			n := int32(q.Int(v))
			b.Percentage = &n
		default:
			name, ok := strings.CutPrefix(w.Key, "limit.")
			if !ok {
				q.Fatalf("unknown field %q", w.Key)
			}
			if b.Limits == nil {
				b.Limits = map[string]int64{}
			}
			b.Limits[name] = q.Int(v)
		}
	}
	return b
}

// A pod of a buffer is the shape's in everything that says where it may run, and nobody in everything else.
func TestAVirtualPodIsAShapeWithoutALife(t *testing.T) {
	shape := model.Pod{Namespace: "default", Name: "web", UID: "x", Labels: map[string]string{"app": "web"}, Node: "n1", Gated: true,
		Critical: true, Priority: 7, DeletionCost: 3, DoNotDisrupt: "true", Requests: model.Resources{CPU: 500, Pods: 1},
		NodeSelector: map[string]string{"a": "b"}, Tolerations: []model.Toleration{{Op: "Exists"}}, VolumeClaims: []string{"v"},
		Volumes: []model.Volume{{ID: "v"}}, Spread: []model.Spread{{Key: model.LabelZone, MaxSkew: 1}},
		Needs: []model.Why{model.WhyVolumes, model.WhyResourceClaims}}
	two := int32(2)
	b := model.Buffer{Namespace: "default", Name: "a-b", UID: "u", Template: "web", Replicas: &two}
	pods := buffer.Pods([]model.Buffer{b}, []model.Template{{Kind: model.KindPodTemplate, Namespace: "default", Name: "web", Pod: shape}})
	if len(pods) != 2 {
		t.Fatalf("%d pods, want 2", len(pods))
	}
	want := model.Pod{Namespace: "default", Name: "buffer:a-b-1", UID: "u-1", Labels: shape.Labels, Unschedulable: true, Virtual: true,
		Priority: math.MinInt32, Requests: shape.Requests, NodeSelector: shape.NodeSelector, Tolerations: shape.Tolerations,
		Spread: shape.Spread, Needs: []model.Why{model.WhyResourceClaims}}
	if !reflect.DeepEqual(pods[1], want) {
		t.Errorf("got\n%+v\nwant\n%+v", pods[1], want)
	}
	if !pods[0].Provisionable() {
		t.Errorf("nothing is bought for %+v", pods[0])
	}
	if of, ok := buffer.Of(pods[1].Key()); !ok || of != b.Key() {
		t.Errorf("pod %s is of buffer %s (%t), want %s", pods[1].Key(), of, ok, b.Key())
	}
	if of, ok := buffer.Of(model.PodKey{Namespace: "default", Name: "web-1"}); ok {
		t.Errorf("a real pod is of buffer %s", of)
	}
	if len(shape.Needs) != 2 {
		t.Errorf("the shape was changed: %v", shape.Needs)
	}
}

// However many pods a buffer stands for, they stay within its limits, and one more would not, unless nobody asked for it.
func TestCountsStayWithinLimits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		each := rapid.Int64Range(1, 50).Draw(r, "cpu")
		b := model.Buffer{Namespace: "d", Name: "b", Scalable: &model.ScalableRef{Kind: model.KindDeployment, Name: "w"}}
		tm := model.Template{Kind: model.KindDeployment, Namespace: "d", Name: "w", Replicas: rapid.Int32Range(0, 300).Draw(r, "scale"),
			Pod: model.Pod{Requests: model.Resources{CPU: each, Pods: 1}}}
		asked, some := int64(0), false
		if rapid.Bool().Draw(r, "has replicas") {
			n := rapid.Int32Range(0, 200).Draw(r, "replicas")
			b.Replicas, asked, some = &n, int64(n), true
		}
		if rapid.Bool().Draw(r, "has percentage") {
			n := rapid.Int32Range(0, 200).Draw(r, "percentage")
			b.Percentage, some = &n, true
			if n > 0 {
				asked = max(asked, 1, int64(math.Ceil(float64(n)*float64(tm.Replicas)/100)))
			}
		}
		limit := rapid.Int64Range(-1, 4000).Draw(r, "limit")
		b.Limits = map[string]int64{model.ResourceCPU: limit}
		n := int64(buffer.Resolve(b, []model.Template{tm}).Count)
		if n*each > max(0, limit) {
			t.Fatalf("%d pods of %d exceed %d", n, each, limit)
		}
		if some && n > asked || (n < asked || !some) && (n+1)*each <= limit {
			t.Fatalf("%d pods of %d, asked for %d (%t), limit %d", n, each, asked, some, limit)
		}
	})
}
