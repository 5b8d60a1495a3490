package upstream

import (
	"fmt"
	"testing"

	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
)

// Whatever a pool says about a label of its own: our node carries it when upstream's does, with a value that the pool allows. Upstream's is random.
func TestLabelsOfPoolsAreSetWhereUpstreamSetsThem(t *testing.T) {
	set, bare := 0, 0
	for _, said := range []string{"In:a", "In:a,b", "NotIn:a", "NotIn:0,1,2", "Exists:", "DoesNotExist:", "Gt:5", "Lt:5", "Gte:5", "Lte:5"} {
		for _, replicas := range []string{"", " replicas=1"} {
			w, err := worldtext.Parse(fmt.Sprintf("type D2 cpu=2 memory=8Gi zones=1 price=0.1\npool general%s req=example.com/tier:%s\npod web cpu=1\n", replicas, said))
			if err != nil {
				t.Fatal(err)
			}
			var buy []place.NewClaim
			if replicas == "" {
				buy = place.Decide(place.Input{World: w}).NewClaims
			} else {
				for _, c := range static.Decide(w, w.Pools[0]).Create {
					buy = append(buy, c.Purchase)
				}
			}
			if len(buy) != 1 {
				t.Fatalf("%s%s: bought %v", said, replicas, buy)
			}
			ours, have := offer.Claim(buy[0], w.Pools[0], w.Classes[0], "a").Labels["example.com/tier"]
			template := scheduling.NewNodeClaimTemplate(nodePool(w.Pools[0]))
			template.IsStaticNodeClaim = true // the sizes to choose from are not asked about
			theirs, want := template.ToNodeClaim().Labels["example.com/tier"]
			if have != want {
				t.Errorf("%s%s: our node has %q (%v), upstream's %q (%v)", said, replicas, ours, have, theirs, want)
			}
			if v, _ := require.New(w.Pools[0].Requirements).Get("example.com/tier"); have && !v.Has(ours) {
				t.Errorf("%s%s: our node has %q, which the pool does not allow", said, replicas, ours)
			}
			if have {
				set++
			} else {
				bare++
			}
		}
	}
	if set < 10 || bare == 0 {
		t.Errorf("%d nodes have the label, %d have not", set, bare)
	}
}
