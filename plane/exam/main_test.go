// Package exam answers: does the lab work against a real control plane?
//
// Here the parts that share no code meet: simulated machines and clouds on one side, the real API server, scheduler and
// controller manager on the other. It holds tests only.
package exam

import (
	"testing"

	"github.com/karpenter-aks/karpenter/plane/planetest"
)

func TestMain(m *testing.M) { planetest.Main(m) }
