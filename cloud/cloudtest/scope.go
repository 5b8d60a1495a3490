package cloudtest

import (
	"errors"
	"testing"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// asError returns the cloud's error in err; an empty one when there is none.
func asError(err error) *cloud.Error {
	var e *cloud.Error
	if errors.As(err, &e) {
		return e
	}
	return &cloud.Error{}
}

// checkScope fails the test unless the error's scope blocks the offering that was refused, read by the letter of
// cloud.Scope and without the market's own arithmetic. Zonal and Regional cannot be judged here: which zones are real
// is the driver's knowledge.
func checkScope(t *testing.T, err error, typ model.InstanceType, o model.Offering) {
	t.Helper()
	s := asError(err).More.Scope
	s.For = 0
	if s == (cloud.Scope{}) {
		t.Error("the error blocks nothing: its scope is empty")
	}
	for _, f := range []struct{ what, want, got string }{
		{"type", s.Type, typ.Name}, {"family", s.Family, typ.Family},
		{"zone", s.Zone, o.Zone}, {"capacity type", s.CapacityType, o.CapacityType},
	} {
		if f.want != "" && f.want != f.got {
			t.Errorf("the scope blocks %s %q, but %q was refused", f.what, f.want, f.got)
		}
	}
	if s.MinCPU > typ.Capacity.CPU {
		t.Errorf("the scope blocks sizes from %dm on, but one of %dm was refused", s.MinCPU, typ.Capacity.CPU)
	}
}
