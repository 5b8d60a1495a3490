package main

import (
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

func TestResourcesShowWhatMachinesCost(t *testing.T) {
	var out strings.Builder
	err := resourceTable(&out, []arm.Resource{
		{Type: "Microsoft.Compute/virtualMachines", Name: "a", State: "Succeeded", Size: "Standard_D2s_v5", Zone: "1", Priority: "Regular", Power: "running", PricePerHour: 0.096},
		{Type: "Microsoft.Compute/virtualMachines", Name: "b", State: "Succeeded", Size: "Standard_D2s_v5", Zone: "2", Priority: "Spot", Power: "running", PricePerHour: 0.0125},
		{Type: "Microsoft.Compute/virtualMachines", Name: "c", State: "Succeeded", Size: "Standard_D2s_v5", Zone: "2", Priority: "Spot", Power: "deallocated"},
		{Type: "Microsoft.Compute/disks", Name: "pvc-1", State: "Succeeded", Size: "Premium_LRS 4Gi", Zone: "1", Owner: "/x/a"},
		{Type: "Microsoft.Storage/storageAccounts/fileServices/shares", Name: "pvc-2", State: "Succeeded", Size: "Standard_LRS 5Gi"},
	})
	want := `KIND   NAME   STATE      SIZE              ZONE  PRIORITY  POWER        MACHINE  USD/H
VM     a      Succeeded  Standard_D2s_v5   1     Regular   running      -        0.0960
VM     b      Succeeded  Standard_D2s_v5   2     Spot      running      -        0.0125
VM     c      Succeeded  Standard_D2s_v5   2     Spot      deallocated  -        -
disk   pvc-1  Succeeded  Premium_LRS 4Gi   1     -         -            a        -
share  pvc-2  Succeeded  Standard_LRS 5Gi  -     -         -            -        -

2 machines, USD 0.1085 per hour; disks and network are not priced.
`
	if got := out.String(); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
