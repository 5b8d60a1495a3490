package apikube

import (
	"math/big"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/model"
)

// FuzzQuantities reads what Kubernetes takes for an amount, and compares with fractions of whole numbers of any size.
func FuzzQuantities(f *testing.F) {
	seeds := []string{"1", "100u", "1n", "-1", "1.0001", "1500m", "0.5Gi", "8Ei", "1e3", "1E", "1e-9", "1e999999999", "-1e40", "0e99"}
	mutated.Add(f, 1000, seeds...)
	f.Fuzz(func(t *testing.T, text string) {
		if boundedQuantity(text) != nil {
			return // parsing alone would take minutes: no API server ends it either
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return
		}
		for name, unit := range map[string]int64{model.ResourceCPU: 1000, model.ResourceMemory: 1, "example.com/x": 1} {
			list := corev1.ResourceList{corev1.ResourceName(name): q}
			low, high := between(q, unit)
			if got := asked(list).Get(name); got != high {
				t.Errorf("%s %q asked: %d, want %d", name, text, got, high)
			}
			if got := given(list).Get(name); got != low {
				t.Errorf("%s %q given: %d, want %d", name, text, got, low)
			}
		}
	})
}

// between are the whole numbers of units on both sides of an amount, within what a column holds.
func between(q resource.Quantity, unit int64) (low, high int64) {
	if q.Sign() <= 0 {
		return 0, 0
	}
	d := q.AsDec()
	if scale := int(d.Scale()); scale < -60 {
		return most, most
	} else if scale > 60 {
		return 0, 1 // Kubernetes keeps nothing below a billionth
	}
	exact, ok := new(big.Rat).SetString(d.String())
	if !ok {
		return -1, -1
	}
	exact.Mul(exact, big.NewRat(unit, 1))
	floor := new(big.Int).Quo(exact.Num(), exact.Denom())
	ceil := new(big.Int).Set(floor)
	if !exact.IsInt() {
		ceil.Add(ceil, big.NewInt(1))
	}
	return within(floor), within(ceil)
}

func within(n *big.Int) int64 {
	if n.Cmp(big.NewInt(most)) > 0 {
		return most
	}
	return n.Int64()
}
