package apikube

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// gathered gathers what a reader tells.
type gathered struct{ objects []model.Object }

func (g *gathered) Begin()               {}
func (g *gathered) Synced()              {}
func (g *gathered) Apply(c model.Change) { g.objects = append(g.objects, c.Object) }

func TestReaderDecodesAsFollowDoes(t *testing.T) {
	var sink gathered
	r, err := NewReader(&sink)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web"},"spec":{"nodeName":"n1"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`,
		`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"general"}}`,
		`{"apiVersion":"karpenter.azure.com/v1beta1","kind":"AKSNodeClass","metadata":{"name":"new"}}`,
		`{"apiVersion":"karpenter.azure.com/v1alpha2","kind":"AKSNodeClass","metadata":{"name":"old"}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":"shop","name":"web"}}`,
	} {
		if got, err := r.Read([]byte(text)); err != nil || len(got.Unknown)+len(got.Faults) > 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var got []string
	for _, o := range sink.objects {
		got = append(got, o.ObjectKey())
	}
	want := "shop/web n1 general karpenter.azure.com/AKSNodeClass/new karpenter.azure.com/AKSNodeClass/old shop/web"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("told %s, want %s", s, want)
	}
	if p, ok := sink.objects[0].(model.Pod); !ok || p.Node != "n1" || p.Requests.Pods != 1 {
		t.Errorf("the pod was told as %+v", sink.objects[0])
	}
}

func TestReaderTellsOfDecodedObjects(t *testing.T) {
	var sink gathered
	r, err := NewReader(&sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Tell(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{NodeName: "n1"}}); err != nil {
		t.Error(err)
	}
	if err := r.Tell(&corev1.Service{}); !errors.Is(err, ErrKind) {
		t.Errorf("a service: %v", err)
	}
	if p, ok := sink.objects[0].(model.Pod); !ok || p.Node != "n1" || p.Requests.Pods != 1 || len(sink.objects) != 1 {
		t.Errorf("told %+v", sink.objects)
	}
}

func TestReaderSaysWhatItCannotRead(t *testing.T) {
	var sink gathered
	r, err := NewReader(&sink)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, unknown, err string }{
		{`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`, "", ErrKind.Error()},
		{`{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool"}`, "", "karpenter.sh/v1beta1 is not served any more: want karpenter.sh/v1 (karpenter convert rewrites it)"},
		{`{"kind":"Pod"}`, "", "no apiVersion or no kind"},
		{`[]`, "", "apiVersion and kind"},
		{`{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":7}}`, "", "cannot unmarshal number"},
		{`{"apiVersion":"v1","kind":"Pod","spec":{"node":"n1"}}`, `unknown field "spec.node"`, ""},
	} {
		report, err := r.Check([]byte(c.text))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.text, err, c.err)
		}
		if got := strings.Join(report.Unknown, " "); got != c.unknown {
			t.Errorf("%s: unknown %q, want %q", c.text, got, c.unknown)
		}
		if errors.Is(err, ErrKind) != (c.err == ErrKind.Error()) {
			t.Errorf("%s: %v is ErrKind: %v", c.text, err, errors.Is(err, ErrKind))
		}
	}
	if len(sink.objects) > 0 {
		t.Errorf("checking told %v", sink.objects)
	}
}
