package workload

import (
	"fmt"

	"github.com/karpenter-aks/karpenter/model"
)

// OddShapes are pods of which hardly two have the same size.
func OddShapes(n int, seed uint64) []model.Pod {
	out := Shapes(n, seed)
	for i := range out {
		out[i].Requests.CPU += int64(i % 997)
		out[i].Requests.Memory += int64(i%1009) << 20
	}
	return out
}

// ManyTerms are pods of as many sizes, each with so many OR-ed terms of node affinity: one of three zones, and not a type that there is none of.
func ManyTerms(n, terms int, seed uint64) []model.Pod {
	out := OddShapes(n, seed)
	for i := range out {
		for k := range terms {
			out[i].Affinity = append(out[i].Affinity, model.Term{
				{Key: model.LabelZone, Op: model.In, Values: []string{fmt.Sprintf("zone-%d", 1+k%3)}},
				{Key: model.LabelInstanceType, Op: model.NotIn, Values: []string{fmt.Sprintf("none-%d", k)}},
			})
		}
	}
	return out
}

// HostPairs are pods of which every other one must be on the machine of the one before it.
func HostPairs(n int, seed uint64) []model.Pod {
	out := Shapes(n, seed)
	for i := range out {
		app := fmt.Sprintf("pair-%d", i/2)
		out[i].Labels = map[string]string{"app": app, "role": fmt.Sprint(i % 2)}
		if i%2 == 1 {
			out[i].PodAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{out[i].Namespace}, Selector: &model.Selector{
				Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{app}}, {Key: "role", Op: model.In, Values: []string{"0"}}}}}}
		}
	}
	return out
}
