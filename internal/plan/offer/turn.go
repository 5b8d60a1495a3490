package offer

import (
	"hash/fnv"
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/offerings"
	"github.com/karpenter-aks/karpenter/model"
)

// Turned puts options that cost the same, of the same type, in an order of zones that differs from claim to claim, so that machines which may be anywhere are not
// all in the first zone: a zone may fail, and what room is left on them is of use to pods that must be in one zone. What the plan chose for the claim
// (AnnotationFirst) comes first.
func Turned(options []answer.Option, claim model.Claim) []answer.Option {
	h := fnv.New32a()
	h.Write([]byte(claim.Name))
	out := slices.Clone(options)
	for from := 0; from < len(out); {
		to := from + 1
		for to < len(out) && alike(out[from], out[to]) {
			to++
		}
		by := int(h.Sum32() % uint32(to-from))
		for i := range to - from {
			out[from+i] = options[from+(i+by)%(to-from)]
		}
		from = to
	}
	return firstOf(out, claim)
}

// alike reports whether two options differ in their zone only; outside zones is not a zone.
func alike(a, b answer.Option) bool {
	return a.Price == b.Price && a.Key.Type == b.Key.Type &&
		a.Key.CapacityType == b.Key.CapacityType &&
		(a.Key.Zone == offerings.Regional) == (b.Key.Zone == offerings.Regional)
}
