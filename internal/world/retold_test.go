package world

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// What was worked out from nodes and claims is kept when a claim says nothing new but when pods came or left, and only then; finding claims says the new time.
func TestWhatIsKnownOfClaimsOutlivesPodEvents(t *testing.T) {
	w := New()
	at := time.Unix(1_000_000, 0).UTC()
	claim := model.Claim{Name: "c", UID: "c", NodeName: "n", ProviderID: "id", LastPodEvent: at}
	put(w, claim, model.Claim{Name: "d", UID: "d"}, model.Node{Name: "n", ProviderID: "id"})
	made := 0
	asked := func() int {
		w.Snapshot().Index.Memo("question", func() any { made++; return made })
		return made
	}
	asked()
	claim.LastPodEvent = at.Add(time.Minute)
	put(w, claim)
	if got := asked(); got != 1 {
		t.Errorf("worked out %d times although only a pod event was told", got)
	}
	p := w.Snapshot()
	if c := p.Index.ClaimOf(&p.Nodes[0]); c == nil || !c.LastPodEvent.Equal(claim.LastPodEvent) || !p.Claims[0].LastPodEvent.Equal(claim.LastPodEvent) {
		t.Errorf("the claim says %+v", c)
	}
	claim.LastPodEvent, claim.Annotations = at.Add(time.Hour), map[string]string{"a": "b"}
	put(w, claim)
	if got := asked(); got != 2 {
		t.Errorf("worked out %d times although the claim changed", got)
	}
	put(w, model.Claim{Name: "e", UID: "e"})
	if got := asked(); got != 3 {
		t.Errorf("worked out %d times although a claim came", got)
	}
	claim.LastPodEvent = at
	put(w, claim)
	w.AssumeClaim(model.Claim{Name: "f", UID: "f"})
	if got := asked(); got != 4 {
		t.Errorf("worked out %d times although a claim is assumed", got)
	}
}
