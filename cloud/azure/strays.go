package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/karpenter-aks/karpenter/cloud"
)

// Kinds of strays.
const (
	strayNIC  = "nic"
	strayDisk = "disk"
)

var _ cloud.Sweeper = (*Fleet)(nil)

const maxGraphPages = 50 // of up to a thousand resources

// Strays implements cloud.Sweeper: interfaces and disks with our tags that no machine holds. Machines take both with them; an
// interface that was made on its own is left when its machine was never asked for. The list
// comes from Resource Graph, which lags behind by seconds to minutes: something new may be missing or look free,
// something gone may still be listed. RemoveStray looks again before it acts.
func (f *Fleet) Strays(ctx context.Context) ([]cloud.Stray, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	query := fmt.Sprintf(`Resources
| where type in~ ('microsoft.network/networkinterfaces', 'microsoft.compute/disks')
| where resourceGroup =~ '%s'
| where isnotnull(tags['%s']) or isnotnull(tags['%s'])
| where isnull(properties.virtualMachine.id) and isempty(managedBy)
| order by name asc`, kql(f.cfg.NodeResourceGroup), TagPool, TagClaim)
	req := armresourcegraph.QueryRequest{
		Query: to.Ptr(query), Subscriptions: []*string{to.Ptr(f.cfg.SubscriptionID)},
		Options: &armresourcegraph.QueryRequestOptions{ResultFormat: to.Ptr(armresourcegraph.ResultFormatObjectArray)},
	}
	var out []cloud.Stray
	for range maxGraphPages {
		resp, err := f.api.graph.Resources(ctx, req, nil)
		if err != nil {
			return nil, fmt.Errorf("query resource graph: %w", inWords(err, tried{}))
		}
		out = append(out, f.readStrays(resp.Data)...)
		if str(resp.SkipToken) == "" {
			break
		}
		req.Options.SkipToken = resp.SkipToken
	}
	slices.SortFunc(out, func(a, b cloud.Stray) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b cloud.Stray) bool { return a.ID == b.ID }), nil
}

// readStrays picks strays out of rows. It judges each row itself and does not lean on the query.
func (f *Fleet) readStrays(data any) []cloud.Stray {
	rows, _ := data.([]any)
	var out []cloud.Stray
	for _, r := range rows {
		row, _ := r.(map[string]any)
		text := func(key string) string { s, _ := row[key].(string); return s }
		tags := map[string]string{}
		list, _ := row["tags"].(map[string]any)
		for k, v := range list {
			own, _ := canonical(k)
			tags[own], _ = v.(string)
		}
		properties, _ := row["properties"].(map[string]any)
		if text("managedBy") != "" || properties["virtualMachine"] != nil || !ours(tags, f.cfg.ClusterName) {
			continue
		}
		if !strings.HasPrefix(text("name"), namePrefix) {
			continue
		}
		switch strings.ToLower(text("type")) {
		case "microsoft.network/networkinterfaces":
			out = append(out, cloud.Stray{ID: f.strayID(strayNIC, text("name")), Kind: strayNIC})
		case "microsoft.compute/disks":
			created, _ := time.Parse(time.RFC3339, fmt.Sprint(properties["timeCreated"]))
			out = append(out, cloud.Stray{ID: f.strayID(strayDisk, text("name")), Kind: strayDisk, Created: created.UTC()})
		}
	}
	return out
}

// strayID is the ARM id of an interface or a disk in the node resource group.
func (f *Fleet) strayID(kind, name string) string {
	if kind == strayNIC {
		return interfaceID(f.cfg, name)
	}
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/disks/%s", f.cfg.SubscriptionID, f.cfg.NodeResourceGroup, name)
}

// RemoveStray implements cloud.Sweeper; nil means asked. Invalid means that a machine holds it, that it was not bought
// by us, or that the id is not one of Strays'.
func (f *Fleet) RemoveStray(ctx context.Context, s cloud.Stray) error {
	name := s.ID[strings.LastIndexByte(s.ID, '/')+1:]
	if s.Kind != strayNIC && s.Kind != strayDisk || name == "" || !strings.EqualFold(s.ID, f.strayID(s.Kind, name)) {
		return cloud.Errorf(cloud.Invalid, "remove stray %s %q: not an interface or a disk of resource group %s", s.Kind, s.ID, f.cfg.NodeResourceGroup)
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	held, mine, err := f.inspectStray(ctx, s.Kind, name)
	if err != nil {
		return fmt.Errorf("remove stray %s %s: %w", s.Kind, name, inWords(err, tried{}))
	}
	if held || !mine {
		return cloud.Errorf(cloud.Invalid, "remove stray %s %s: a machine holds it, or we did not buy it", s.Kind, name)
	}
	if err := f.deleteStray(ctx, s.Kind, name); err != nil {
		return fmt.Errorf("remove stray %s %s: %w", s.Kind, name, inWords(err, tried{}))
	}
	return nil
}

// inspectStray reads an interface or a disk: does a machine hold it, and did we buy it? An OS disk carries no tags of
// ours when an older installation made it; then our naming and an empty holder must do.
func (f *Fleet) inspectStray(ctx context.Context, kind string, name string) (held, mine bool, err error) {
	if kind == strayDisk {
		d, err := f.api.disks.Get(ctx, f.cfg.NodeResourceGroup, name, nil)
		if err != nil {
			return false, false, err
		}
		tags := values(d.Tags)
		mine := ours(tags, f.cfg.ClusterName) || len(tags) == 0
		return str(d.ManagedBy) != "" || len(d.ManagedByExtended) > 0, mine && strings.HasPrefix(name, namePrefix), nil
	}
	n, err := f.api.nics.Get(ctx, f.cfg.NodeResourceGroup, name, nil)
	if err != nil {
		return false, false, err
	}
	held = n.Properties != nil && n.Properties.VirtualMachine != nil && str(n.Properties.VirtualMachine.ID) != ""
	return held, ours(values(n.Tags), f.cfg.ClusterName) && strings.HasPrefix(name, namePrefix), nil
}

func (f *Fleet) deleteStray(ctx context.Context, kind string, name string) error {
	var err error
	if kind == strayDisk {
		_, err = f.api.disks.BeginDelete(ctx, f.cfg.NodeResourceGroup, name, nil)
	} else {
		_, err = f.api.nics.BeginDelete(ctx, f.cfg.NodeResourceGroup, name, nil)
	}
	return err
}

// kql escapes a text for single quotes in a Resource Graph query.
func kql(s string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) }
