package azure

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
)

func TestWhatAnInterfaceNeedsNext(t *testing.T) {
	card := func(state string, change func(*armnetwork.Interface)) *armnetwork.Interface {
		n := &armnetwork.Interface{Tags: map[string]*string{TagPool: to.Ptr("p"), TagCluster: to.Ptr("c")},
			Properties: &armnetwork.InterfacePropertiesFormat{ProvisioningState: to.Ptr(armnetwork.ProvisioningState(state))}}
		if change != nil {
			change(n)
		}
		return n
	}
	held := func(n *armnetwork.Interface) {
		n.Properties.VirtualMachine = &armnetwork.SubResource{ID: to.Ptr("/vm")}
	}
	bare := func(n *armnetwork.Interface) { n.Properties = nil }
	alien := func(n *armnetwork.Interface) { n.Tags[TagCluster] = to.Ptr("another") }
	for _, c := range []struct {
		name          string
		is            *armnetwork.Interface
		before, after cardStep // before and after we asked for it
	}{
		{"none", nil, cardMake, cardMake},
		{"left by an earlier try", card("Succeeded", nil), cardMake, cardReady},
		{"on its way in", card("Updating", nil), cardMake, cardWait},
		{"of a state that nobody knows", card("Dreaming", nil), cardMake, cardWait},
		{"that tells no state", card("", bare), cardMake, cardWait},
		{"on its way out", card("Deleting", nil), cardWait, cardWait},
		{"failed", card("Failed", nil), cardMake, cardMake},
		{"held by the machine", card("Succeeded", held), cardReady, cardReady},
		{"held, being changed", card("Updating", held), cardReady, cardReady},
		{"of another cluster", card("Succeeded", alien), cardAlien, cardAlien},
		{"without tags", card("Succeeded", func(n *armnetwork.Interface) { n.Tags = nil }), cardAlien, cardAlien},
	} {
		if b, a := nextOfCard(c.is, "c", false), nextOfCard(c.is, "c", true); b != c.before || a != c.after {
			t.Errorf("%s: %d before and %d after we asked, want %d and %d", c.name, b, a, c.before, c.after)
		}
	}
}
