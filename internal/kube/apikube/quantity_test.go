package apikube

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/model"
)

// A claim's spec is immutable, so that a client that reads it and writes it back must send the very same text.
func TestAClaimsAmountsSurviveATypedClient(t *testing.T) {
	const seed = 7
	rnd := rand.New(rand.NewPCG(seed, seed))
	amounts := []int64{1, 999, 1000, 1023, 1024, 1025, 100_000_000, 1 << 30, 1<<30 + 1, 3_000_000_000, 97_656_250 << 10, most}
	for range 500 {
		amounts = append(amounts, 1+rnd.Int64N(1<<uint(1+rnd.IntN(50))))
	}
	for _, v := range amounts {
		c := encodeClaim(model.Claim{Name: "c", Requests: model.Resources{CPU: v, Memory: v, Ephemeral: v, Pods: v, Extended: map[string]int64{"x/y": v}}})
		first, err := json.Marshal(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		var back karpv1.NodeClaimSpec
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		for name, q := range back.Resources.Requests { // as a client does that computes with what it read
			q.Add(resource.Quantity{})
			back.Resources.Requests[name] = q
		}
		second, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) || !equality.Semantic.DeepEqual(c.Spec.Resources, back.Resources) {
			t.Fatalf("seed %d: %d was written as\n%s\nand comes back as\n%s", seed, v, first, second)
		}
	}
}
