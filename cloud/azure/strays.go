package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/karpenter-aks/karpenter/cloud"
)

// StrayKind says what a stray is.
type StrayKind string

// The kinds of strays.
const (
	StrayNIC  StrayKind = "network interface"
	StrayDisk StrayKind = "disk"
)

// Stray is a network interface or a disk that was bought with a machine and outlived it. Machines bought by this
// controller take both with them; an older installation, which made interfaces first, may have left some.
type Stray struct {
	Kind  StrayKind
	Name  string
	Claim string // for which it was bought, as far as tags and name tell
}

const maxGraphPages = 50 // of up to a thousand resources

// Strays lists interfaces and disks with our tags that no machine holds, sorted by kind and name. The list comes from
// Resource Graph, which lags behind by seconds to minutes: something new may be missing, something gone may still
// be listed. DeleteStray looks again before it acts.
func (f *Fleet) Strays(ctx context.Context) ([]Stray, error) {
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
	var out []Stray
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
	slices.SortFunc(out, func(a, b Stray) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(out), nil
}

// readStrays picks strays out of rows. It judges each row itself and does not lean on the query.
func (f *Fleet) readStrays(data any) []Stray {
	rows, _ := data.([]any)
	var out []Stray
	for _, r := range rows {
		row, _ := r.(map[string]any)
		text := func(key string) string { s, _ := row[key].(string); return s }
		tags := map[string]string{}
		list, _ := row["tags"].(map[string]any)
		for k, v := range list {
			tags[k], _ = v.(string)
		}
		properties, _ := row["properties"].(map[string]any)
		if text("managedBy") != "" || properties["virtualMachine"] != nil || !ours(tags, f.cfg.ClusterName) {
			continue
		}
		s := Stray{Name: text("name"), Claim: claimOf(text("name"), tags)}
		switch strings.ToLower(text("type")) {
		case "microsoft.network/networkinterfaces":
			s.Kind = StrayNIC
		case "microsoft.compute/disks":
			s.Kind = StrayDisk
		default:
			continue
		}
		if strings.HasPrefix(s.Name, namePrefix) {
			out = append(out, s)
		}
	}
	return out
}

// DeleteStray asks for a stray to go; nil means asked. NotFound means that it is gone, Invalid that a machine holds
// it or that it was not bought by us.
func (f *Fleet) DeleteStray(ctx context.Context, s Stray) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	held, mine, err := f.inspectStray(ctx, s.Kind, s.Name)
	if err != nil {
		return fmt.Errorf("delete stray %s %s: %w", s.Kind, s.Name, inWords(err, tried{}))
	}
	if held || !mine {
		return cloud.Errorf(cloud.Invalid, "delete stray %s %s: a machine holds it, or we did not buy it", s.Kind, s.Name)
	}
	if err := f.deleteStray(ctx, s.Kind, s.Name); err != nil {
		return fmt.Errorf("delete stray %s %s: %w", s.Kind, s.Name, inWords(err, tried{}))
	}
	return nil
}

// inspectStray reads an interface or a disk: does a machine hold it, and did we buy it? An OS disk carries no tags of
// ours when an older installation made it; then our naming and an empty holder must do.
func (f *Fleet) inspectStray(ctx context.Context, kind StrayKind, name string) (held, mine bool, err error) {
	if kind == StrayDisk {
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

func (f *Fleet) deleteStray(ctx context.Context, kind StrayKind, name string) error {
	var err error
	switch kind {
	case StrayDisk:
		_, err = f.api.disks.BeginDelete(ctx, f.cfg.NodeResourceGroup, name, nil)
	case StrayNIC:
		_, err = f.api.nics.BeginDelete(ctx, f.cfg.NodeResourceGroup, name, nil)
	default:
		err = errors.New("unknown kind of stray")
	}
	return err
}

// kql escapes a text for single quotes in a Resource Graph query.
func kql(s string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) }

// StrayAfter is how far apart a sweeper must see the same stray twice before it deletes it. What is seen once may
// belong to a machine that is just being made: Resource Graph lags behind and does not tell ages.
const StrayAfter = 5 * time.Minute
