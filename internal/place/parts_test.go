package place

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestHalves says who stays together: pods that are alike, and pods that have to share a machine.
func TestHalves(t *testing.T) {
	w, err := worldtext.Parse(`type D2 cpu=2 memory=8Gi zones=1 price=0.10
pool a
pod one x3 cpu=1 label.app=one apart=host:app=one
pod two cpu=1 label.app=two near=host:app=four
pod three x2 cpu=2 label.app=three
pod four cpu=1 label.app=four
`)
	if err != nil {
		t.Fatal(err)
	}
	halves := func(pods []model.Pod) (out []string) {
		for _, list := range Halves(w, pods) {
			text := ""
			for _, p := range list {
				text += p.Labels["app"] + " "
			}
			out = append(out, text)
		}
		return out
	}
	pods := Waiting(w)
	slices.SortStableFunc(pods, func(a, b model.Pod) int {
		order := []string{"one", "two", "three", "four"}
		return slices.Index(order, a.Labels["app"]) - slices.Index(order, b.Labels["app"])
	})
	for _, c := range []struct {
		pods []model.Pod
		want string
	}{
		{pods, `["one one one " "two three three four "]`},
		{pods[3:], `["two four " "three three "]`},
		{[]model.Pod{pods[3], pods[6]}, `["two four "]`},
		{pods[:3], `["one one one "]`},
	} {
		if got := fmt.Sprintf("%q", halves(c.pods)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

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
