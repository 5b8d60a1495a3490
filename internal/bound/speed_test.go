package bound

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

// BenchmarkTiers measures every tier on machines of three families; gap is how far below the highest tier it stays.
func BenchmarkTiers(b *testing.B) {
	for _, size := range []struct{ shapes, pods int }{{30, 1000}, {100, 10_000}, {900, 10_000}} {
		p := families(rand.New(rand.NewSource(1)), size.shapes, size.pods)
		top := Best(p, Thorough).Value.Float()
		for tier := L0; tier <= L2; tier++ {
			b.Run(fmt.Sprintf("%s/%d-pods-%d-shapes", tier, size.pods, size.shapes), func(b *testing.B) {
				var c Certificate
				for b.Loop() {
					c = upTo(p, tier, Thorough)
				}
				b.ReportMetric(c.Value.Float(), "$/h")
				b.ReportMetric(100*(top-c.Value.Float())/top, "%below")
			})
		}
		b.Run(fmt.Sprintf("check/%d-pods-%d-shapes", size.pods, size.shapes), func(b *testing.B) {
			c := Best(p, Thorough)
			for b.Loop() {
				if _, err := Check(c, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// families draws machines of three families in unequal price steps, and pods of the given number of shapes.
func families(r *rand.Rand, shapes, pods int) Problem {
	p := Problem{Resources: []string{"cpu", "memory", "pods"}}
	var on []int32
	for size := int64(2); size <= 96; size *= 2 {
		for f, perCore := range []int64{2, 4, 8} {
			base := []float64{42_500, 48_000, 63_000}[f] * float64(size)
			on = append(on, int32(len(p.Machines)))
			p.Machines = append(p.Machines, Machine{Room: []int64{size*1000 - 150, size*perCore*16384*9/10 + size, 110}, Price: model.Price(base * (0.95 + r.Float64()/10))})
		}
	}
	for range shapes {
		cpu := int64(50 * (1 + r.Intn(80)))
		p.Groups = append(p.Groups, Group{Need: []int64{cpu, cpu * int64(1+r.Intn(8)) * 16, 1}, Count: int64(pods / shapes), On: on})
	}
	return p
}

func TestTheSameProblemGivesTheSameProof(t *testing.T) {
	p := families(rand.New(rand.NewSource(1)), 12, 1000)
	if a, b := Best(p, 20*Quick), Best(p, 20*Quick); !reflect.DeepEqual(a, b) {
		t.Errorf("%s, then %s, or other proofs", a, b)
	}
}
