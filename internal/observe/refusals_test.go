package observe

import (
	"errors"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/model"
)

// Users' alerts ask for Azure's codes, not for ours.
func TestRefusedMachinesAreCountedByTheCloudsOwnCode(t *testing.T) {
	r, _, reg := recorder(t)
	said := &cloud.Error{Code: cloud.NoCapacity, Reason: "SkuNotAvailable"}
	mute := &cloud.Error{Code: cloud.Unknown, Err: errors.New("no answer")}
	c := model.Claim{Name: "c", Pool: "p"}
	r.Launched(c, model.Instance{}, []market.Attempt{{Err: said}, {Err: mute}, {}}, nil)
	for _, s := range []lifecycle.Step{
		{Why: model.WhyNoCapacity, Refusal: "AllocationFailed", Message: "none left: in zone 1"},
		{Why: model.WhyInstanceFailed, Refusal: "UnknownError"},
		{Why: model.WhyNoCapacity, Message: "nothing was accepted"},
	} {
		r.ClaimDeleted(c, s)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "karpenter_instance_vm_create_failure_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			got[label(m, "phase")+" "+label(m, "error_code")] += m.GetCounter().GetValue()
		}
	}
	for _, want := range []string{"sync SkuNotAvailable", "sync UnknownError",
		"async AllocationFailed", "async UnknownError"} {
		if got[want] != 1 || len(got) != 4 {
			t.Errorf("%s: %v of %v", want, got[want], got)
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
