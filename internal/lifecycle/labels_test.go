package lifecycle_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// A label that the buyer may choose is the last of its type's values that the claim allows; an offering's own word ends
// the choice.
func TestNodesCarryWhatWasChosen(t *testing.T) {
	typ := model.InstanceType{Name: "D2", Either: map[string][]string{"ultra": {"true", "false"}, "mode": {"system", "user"}}}
	asks := func(op model.Operator, v string) model.Claim {
		return model.Claim{Requirements: []model.Requirement{{Key: "ultra", Op: op, Values: []string{v}}}}
	}
	for _, c := range []struct {
		claim model.Claim
		own   map[string]string
		want  string
	}{
		{model.Claim{}, nil, "false"},
		{asks(model.In, "true"), nil, "true"},
		{asks(model.NotIn, "false"), nil, "true"},
		{asks(model.NotIn, "true"), nil, "false"},
		{model.Claim{}, map[string]string{"ultra": "false"}, "false"},
		{asks(model.In, "true"), map[string]string{"ultra": "false"}, "false"},
	} {
		got := lifecycle.NodeLabels(c.claim, typ, model.Offering{Type: "D2", Labels: c.own})
		if got["ultra"] != c.want || got["mode"] != "user" {
			t.Errorf("%+v with %v: ultra=%s mode=%s, want %s and user", c.claim.Requirements, c.own, got["ultra"], got["mode"], c.want)
		}
	}
}
