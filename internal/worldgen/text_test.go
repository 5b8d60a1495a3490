package worldgen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestEveryWorldCanBeWrittenDown prints random worlds and reads them back: a scenario of a plan that went wrong must ask what was
// asked. Only what no decider of places looks at may be lost.
func TestEveryWorldCanBeWrittenDown(t *testing.T) {
	for seed := range uint64(400) {
		w := Small(seed)
		if seed%4 == 0 {
			w = Beyond(seed)
		}
		text := worldtext.Print(w)
		again, err := worldtext.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text)
		}
		if d := cmp.Diff(w, again, lost()...); d != "" {
			t.Fatalf("seed %d: read back from\n%s\ndiffers: %s", seed, text, d)
		}
	}
}

// lost is what the notation does not say.
func lost() []cmp.Option {
	return []cmp.Option{
		cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(model.Pod{}, "UID", "Started", "VolumeClaims"),
		cmpopts.IgnoreFields(model.Pool{}, "UID", "Created"),
		cmpopts.IgnoreFields(model.Claim{}, "UID", "PoolUID"),
		cmpopts.IgnoreFields(model.Node{}, "UID", "ReadySince"),
		cmpopts.IgnoreFields(model.Condition{}, "Since"),
		cmpopts.IgnoreFields(model.Offering{}, "Unavailable"), // why it is not on sale, for people
	}
}
