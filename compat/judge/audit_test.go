package judge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// wild draws a small world and a plan that nobody thought about: it is sound now and then.
func wild(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var b strings.Builder
	fmt.Fprintf(&b, "type T0 cpu=4 memory=8Gi zones=1,2,3 price=0.10%s\ntype T1 cpu=2 memory=4Gi zones=1,2 price=0.20 label.rack=r%s\n", pick("", " attach.disk=1"), pick("", " attach.disk=2"))
	fmt.Fprintf(&b, "pool p%s\n", pick("", "", " taint=gpu:NoSchedule", " label.team=a"))
	for i := range r.IntN(3) {
		fmt.Fprintf(&b, "node n%d pool=p zone=%d cpu=2 memory=4Gi initialized%s%s\n", i, 1+r.IntN(3), pick("", "", " taint=x:NoSchedule", " label.rack=q"), pick("", " attach.disk=1"))
		for j := range r.IntN(3) {
			fmt.Fprintf(&b, "pod run%d%d node=n%d cpu=100m%s%s%s\n", i, j, i, pick("", " label.app=a", " label.app=a", " label.app=b"),
				pick("", "", "", " apart=zone:app=a", " apart=host:app=b", " apart=host:app=a", " port=80@10.0.0.1", " volume=w:disk", " volume=v:disk"), pick("", "", "", " terminating"))
		}
	}
	for i := range 2 + r.IntN(5) {
		fmt.Fprintf(&b, "pod w%d cpu=%d00m", i, 1+r.IntN(15))
		b.WriteString(pick("", " label.app=a", " label.app=a", " label.app=b") + pick("", "", "", " tolerate=*", " select.team=a", " select.topology.kubernetes.io/zone=1", " affinity=rack:Exists") +
			pick("", "", " spread=zone:1:app=a", " spread=zone:1:app=a:honor-taints", " spread=zone:1:app=b:any-affinity", " spread=host:1:app=a", " spread=zone:2:app=a:min=3", " spread=zone:1:app=a spread=rack:1:app=a", " spread=zone:1:app=a spread=host:2:app=b") +
			pick("", "", "", " near=zone:app=a", " near=host:app=b", " near=zone:app=a near=rack:app=a", " apart=host:app=a", " apart=zone:app=b", " apart=host:app=a apart=host:app=a") +
			pick("", "", "", " port=80", " port=80@10.0.0.1", " port=80@::", " volume=v:disk", " volume=u:disk:topology.kubernetes.io/zone:In:1|topology.kubernetes.io/zone:In:2") + "\n")
	}
	return b.String()
}

// anyhow places each pod on a node, on a machine of its own, or with another pod.
func anyhow(r *rand.Rand, w model.World) place.Plan {
	var p place.Plan
	for _, x := range w.Pods {
		switch n := r.IntN(6); {
		case x.Node != "":
		case n == 0 && len(w.Nodes) > 0:
			p.Existing = append(p.Existing, place.Nomination{Pod: x.Key(), Node: w.Nodes[r.IntN(len(w.Nodes))].Name})
		case n <= 2 && len(p.NewClaims) > 0:
			at := &p.NewClaims[r.IntN(len(p.NewClaims))]
			at.Pods = append(at.Pods, x.Key())
		case n < 5:
			types := w.Catalogs[w.Pools[0].Class].Types
			t := types[r.IntN(len(types))]
			o := t.Offerings[r.IntN(len(t.Offerings))]
			list := []model.Offering{o}
			if r.IntN(3) == 0 {
				list = t.Offerings
			}
			b := place.NewClaim{Pool: "p", Class: w.Pools[0].Class, Requests: t.Allocatable, Pods: []model.PodKey{x.Key()}}
			zones := model.Requirement{Key: model.LabelZone, Op: model.In}
			for _, o := range list {
				b.Options = append(b.Options, place.Option{Key: o.Key(), Price: o.Price})
				zones.Values = append(zones.Values, o.Zone)
			}
			b.Requirements = []model.Requirement{{Key: model.LabelInstanceType, Op: model.In, Values: []string{t.Name}}, zones,
				{Key: model.LabelCapacityType, Op: model.In, Values: []string{o.CapacityType}}}
			p.NewClaims = append(p.NewClaims, b)
			p.Price += o.Price
		default:
			p.Unscheduled = append(p.Unscheduled, place.Unscheduled{Pod: x.Key(), Why: model.WhyResources})
		}
	}
	return p
}

// outcomes lists the ways in which the options of a plan's purchases may turn out, up to a number.
func outcomes(p place.Plan, most int) []Choose {
	total := 1
	for _, b := range p.NewClaims {
		total = min(most, total*len(b.Options))
	}
	var out []Choose
	for k := range total {
		out = append(out, func(i, n int) int {
			rest := k
			for _, b := range p.NewClaims[:min(i, len(p.NewClaims))] {
				rest /= len(b.Options)
			}
			return rest % n
		})
	}
	return out
}

// refused asks kube-scheduler about every outcome of a plan.
func refused(t *testing.T, w model.World, p place.Plan) string {
	for _, choose := range outcomes(p, 27) {
		q, err := Plan(w, p, choose)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Rejected) > 0 {
			return a.Text()
		}
	}
	return ""
}

// TestTheAuditAgreesWithKubeScheduler puts pods anywhere, and asks both judges. What kube-scheduler refuses the audit must find,
// except that it waits for pods that end; what the audit finds kube-scheduler must refuse.
func TestTheAuditAgreesWithKubeScheduler(t *testing.T) {
	const worlds = 250
	sound := 0
	for i := range worlds {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		text := wild(r)
		w, err := worldtext.Parse(text)
		if err != nil {
			t.Fatal(err, text)
		}
		p := anyhow(r, w)
		found := audit.Check(w, p)
		why := refused(t, w, p)
		if len(found) == 0 && why != "" {
			w.Pods = slices.DeleteFunc(w.Pods, model.Pod.Deleting)
			why = refused(t, w, p)
		}
		switch {
		case len(found) == 0 && why != "":
			t.Errorf("the audit missed that %s\nworld %d:\n%s\nplan:\n%s", why, i, text, p)
		case len(found) > 0 && why == "":
			t.Errorf("only the audit finds %v\nworld %d:\n%s\nplan:\n%s", found, i, text, p)
		case len(found) == 0:
			sound++
		}
	}
	t.Logf("%d of %d plans are sound", sound, worlds)
	if sound < worlds/20 {
		t.Errorf("only %d of %d plans are sound: the test shows little", sound, worlds)
	}
}
