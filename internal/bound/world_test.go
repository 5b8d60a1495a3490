package bound_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/bound"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

func parse(t interface{ Fatal(...any) }, text string) model.World {
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// draw makes a world with pods and offerings that differ in what may go where.
func draw(t *rapid.T, types, groups, copies int) string {
	var b strings.Builder
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	for i := range n("types", 1, types) {
		fmt.Fprintf(&b, "type T%d cpu=%d memory=%dGi zones=%s price=0.%02d spot=0.0%d%s\n", i, n("cpu", 1, 16), n("memory", 1, 32), pick("zones", "1", "2", "1,2"),
			n("price", 10, 99), n("spot", 1, 9), pick("extra", "", " sold-out=1/on-demand", " label.karpenter.azure.com/sku-family=D", " either.kubernetes.azure.com/mode=user,system", " example.com/gpu=2"))
	}
	for i := range n("pools", 1, 2) {
		fmt.Fprintf(&b, "pool p%d weight=%d%s\n", i, n("weight", 0, 1), pick("pool", "", "", " limit.cpu=9", " taint=gpu:NoSchedule", " req=team:In:a,b", " label.team=a", " req=topology.kubernetes.io/zone:In:1",
			" req=karpenter.sh/capacity-type:In:on-demand", " not-ready"))
	}
	for i := range n("daemons", 0, 2) {
		fmt.Fprintf(&b, "daemon d%d cpu=%dm memory=100Mi%s\n", i, n("daemon", 1, 900), pick("daemon-extra", " tolerate=*", "", " select.team=a", " select.karpenter.azure.com/sku-family=D", " example.com/gpu=1"))
	}
	for i := range n("groups", 1, groups) {
		fmt.Fprintf(&b, "pod w%d x%d cpu=%dm memory=%dMi%s\n", i, n("copies", 1, copies), n("pod-cpu", 1, 60)*100, n("pod-memory", 1, 160)*100,
			pick("pod-extra", "", "", " select.team=a", " select.team=b", " tolerate=*", " select.topology.kubernetes.io/zone=2", " affinity=karpenter.azure.com/sku-family:DoesNotExist",
				" select.kubernetes.azure.com/mode=user", " example.com/gpu=1", " label.app=a apart=host:app=a", " label.app=a apart=host:app=a", " spread=zone:1:app=a label.app=a",
				" volume=z:disk:topology.kubernetes.io/zone:In:1|topology.kubernetes.io/zone:In:2", " affinity=topology.kubernetes.io/zone:In:1 affinity=karpenter.sh/capacity-type:In:spot"))
	}
	return b.String()
}

// certified returns the bound for the pods that a plan places on purchases.
func certified(t interface{ Fatalf(string, ...any) }, w model.World, p place.Plan) bound.Certificate {
	bought := map[model.PodKey]bool{}
	for _, b := range p.NewClaims {
		for _, k := range b.Pods {
			bought[k] = true
		}
	}
	problem := bound.FromWorld(w, slices.DeleteFunc(slices.Clone(w.Pods), func(x model.Pod) bool { return !bought[x.Key()] }))
	c := bound.Best(problem, bound.Thorough)
	if v, err := bound.Check(c, problem); err != nil || v != c.Value {
		t.Fatalf("the certificate says %s, the check %s, %v", c, v, err)
	}
	if problem.Unplaceable > 0 {
		t.Fatalf("%d pods were bought for, and cannot be placed", problem.Unplaceable)
	}
	return c
}

func TestNoPlanCostsLessThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t, 6, 6, 30)
		w := parse(t, text)
		p := place.Decide(place.Input{World: w})
		if c := certified(t, w, p); c.Value > p.Price {
			t.Fatalf("%s, the plan costs %s\nworld:\n%s\nplan:\n%s", c, p.Price, text, p)
		}
	})
}

func TestTheCheapestPlanOfAllCostsNoLessThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t, 2, 3, 1)
		w := parse(t, text)
		p := audit.Exhaust(w, w.Pods)
		if c := certified(t, w, p); c.Value > p.Price {
			t.Fatalf("%s, the plan costs %s\nworld:\n%s\nplan:\n%s", c, p.Price, text, p)
		}
	})
}

func TestPodsThatRefuseTheirKindNeedAMachineEach(t *testing.T) {
	w := parse(t, "type T cpu=64 memory=256Gi price=1.00\ntype S cpu=2 memory=8Gi price=0.10\npool p\npod a x5 cpu=100m memory=100Mi\npod b cpu=100m memory=100Mi")
	for i := range w.Pods {
		if p := &w.Pods[i]; strings.HasPrefix(p.Name, "a") {
			p.Labels = map[string]string{"app": "a"}
			p.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{"default"},
				Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"a"}}}}}}
		}
	}
	if c := bound.Best(bound.FromWorld(w, w.Pods), bound.Thorough); c.Value < 499_990 || c.Value > 500_000 {
		t.Error(c)
	}
}

func TestPodsThatFitNowhereAreCounted(t *testing.T) {
	w := parse(t, "type S cpu=2 memory=8Gi price=0.10\npool p\npod big x3 cpu=4\npod small cpu=1\npod picky cpu=1 select.disk=ssd")
	p := bound.FromWorld(w, w.Pods)
	if c := bound.Best(p, bound.Thorough); p.Unplaceable != 4 || c.Value < 99_990 {
		t.Errorf("%d pods fit nowhere, %s", p.Unplaceable, c)
	}
}
