package place

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
)

// TestPartsShareNoPool says which pods are planned apart: pools that some pod may choose between belong together, and ties and taints are looked at.
func TestPartsShareNoPool(t *testing.T) {
	w, err := worldtext.Parse(`type D2 cpu=2 memory=8Gi zones=1 price=0.10
pool a
pool b
pool shut taint=k=v:NoSchedule
pod only-a x3 cpu=1 select.karpenter.sh/nodepool=a label.app=a
pod tied-a x4 cpu=1 select.karpenter.sh/nodepool=a label.app=t apart=host:app=t
pod only-shut cpu=1 select.karpenter.sh/nodepool=shut tolerate=k=v:NoSchedule label.app=s
pod nowhere x2 cpu=1 select.karpenter.sh/nodepool=none label.app=n
pod any x2 cpu=1 label.app=any
pod only-b x3 cpu=1 select.karpenter.sh/nodepool=b label.app=b
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range Parts(w, Waiting(w)) {
		count := map[string]int{}
		for _, p := range part {
			count[p.Labels["app"]]++
		}
		got = append(got, fmt.Sprint(count))
	}
	const want = "map[s:1]; map[n:2]; map[t:4]; map[a:3 any:2 b:3]"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("parts %s, want %s", text, want)
	}
}
