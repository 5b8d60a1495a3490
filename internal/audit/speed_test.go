package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// BenchmarkCheck judges a plan of 10,000 pods in 100 deployments on 1,000 machines with 60 options each: 40 % spread over zones, 20 % over hosts,
// 10 % that refuse their own kind, 5 % that look for theirs. Limit: well below a second.
func BenchmarkCheck(b *testing.B) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "type D%02d cpu=16 memory=64Gi zones=1,2,3 price=0.%02d\n", i, i+20)
	}
	text.WriteString("pool general\n")
	t := &testing.T{}
	s := newStage(t, text.String())
	machines := make([][]model.Pod, 1000)
	for d := range 100 {
		name := fmt.Sprint("app", d)
		shape := func(p *model.Pod) {
			switch {
			case d < 40:
				p.Spread = []model.Spread{spread(model.LabelZone, 1, app(name))}
			case d < 60:
				p.Spread = []model.Spread{spread(model.LabelHostname, 1, app(name))}
			case d < 70:
				p.PodAntiAffinity = []model.PodTerm{near(model.LabelHostname, name)}
			case d < 75:
				p.PodAffinity = []model.PodTerm{near(model.LabelZone, name)}
			}
		}
		for i := range 100 {
			p := model.Pod{Namespace: "default", Name: fmt.Sprint(name, "-", i), Labels: map[string]string{"app": name}, Unschedulable: true,
				Requests: model.Resources{CPU: 100, Pods: 1}}
			shape(&p)
			s.w.Pods = append(s.w.Pods, p)
			at := (d*10 + i*7) % 1000
			if d >= 70 && d < 75 {
				at = at / 3 * 3 % 999
			}
			machines[at] = append(machines[at], p)
		}
	}
	for m, pods := range machines {
		if len(pods) == 0 {
			continue
		}
		s.buy(fmt.Sprint(m%3+1), pods...)
		buy := &s.p.NewClaims[len(s.p.NewClaims)-1]
		buy.Options, buy.Requirements[0].Values = nil, nil
		for i := range 60 {
			typ := fmt.Sprintf("D%02d", i)
			k := model.OfferingKey{Type: typ, Zone: fmt.Sprint(m%3 + 1), CapacityType: model.OnDemand}
			buy.Options = append(buy.Options, place.Option{Key: k, Price: model.Price(200_000 + 10_000*i)})
			buy.Requirements[0].Values = append(buy.Requirements[0].Values, typ)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if f := Check(s.w, s.p); len(f) > 0 {
			b.Fatal(f)
		}
	}
}
