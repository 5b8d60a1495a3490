package audit

import (
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

// A machine outside zones says "0" of itself and nothing to the disk driver. Read in any order of the map, that is one zone.
func TestAMachineOutsideZonesIsInOneZone(t *testing.T) {
	for range 100 {
		if got := plain(map[string]string{model.LabelZone: "0", diskZone: ""})[model.LabelZone]; got != "0" {
			t.Fatalf("the zone is %q", got)
		}
	}
	for zone, want := range map[string]string{"": "0", "westus3-1": "westus3-1"} {
		if got := plain(map[string]string{diskZone: zone})[model.LabelZone]; got != want {
			t.Errorf("with disks in %q the zone is %q, want %q", zone, got, want)
		}
	}
}
