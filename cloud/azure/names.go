package azure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Tags on everything we buy. The first three are those of existing installations; the two claim tags are ours and
// let List find a machine that was bought without a pool, and tell two claims of the same name apart.
const (
	TagPool     = "karpenter.sh_nodepool"
	TagCluster  = "karpenter.azure.com_cluster"
	TagBilling  = "compute.aks.billing"
	TagClaim    = "karpenter.azure.com_nodeclaim"
	TagClaimUID = "karpenter.azure.com_nodeclaim-uid"
	// tagMachine marks machines that AKS' own machine API made; they are not ours.
	tagMachine = "karpenter.azure.com_aksmachine_nodeclaim"
)

const (
	namePrefix = "aks-"
	// maxName is the longest host name that can be a node's name and label.
	maxName = 63
	// Azure's own limits for tags.
	maxTags, maxTagKey, maxTagValue = 50, 512, 256
	badInTags                       = `<>%&\?/`
	ownTags                         = 5 // of maxTags, what we set ourselves
)

// machineName is the name of the machine, its interface, its disk and its node.
func machineName(claim string) (string, error) {
	name := namePrefix + claim
	if claim == "" || len(name) > maxName {
		return "", cloud.Errorf(cloud.Invalid, "claim %q: the machine's name would be %d characters long, 5 to %d are possible", claim, len(name), maxName)
	}
	return name, nil
}

// reserved are the tags that say whose a machine is. Nobody else may set them: ours win, and those that are not for machines like ours are
// left out, in whatever case they are written, because Azure compares the names of tags without regard to case ("Use tags to organize your
// Azure resources").
func reserved(key string) bool {
	_, ok := canonical(key)
	return ok
}

// canonical returns our own spelling of a reserved key.
func canonical(key string) (string, bool) {
	for _, k := range []string{TagPool, TagCluster, TagBilling, TagClaim, TagClaimUID, tagMachine} {
		if strings.EqualFold(k, key) {
			return k, true
		}
	}
	return key, false
}

// tagKey is a key as Azure takes it: it refuses the slash that labels have.
func tagKey(key string) string { return strings.ReplaceAll(key, "/", "_") }

// people merges tags that people gave; later sources win, whatever the case, and keep their spelling. Of keys of one source that become the
// same, the last by name wins: a_b over a/b.
func people(sources ...map[string]string) map[string]string {
	out, spelled := map[string]string{}, map[string]string{}
	for _, tags := range sources {
		for _, from := range slices.Sorted(maps.Keys(tags)) {
			k := tagKey(from)
			if reserved(k) {
				continue
			}
			delete(out, spelled[strings.ToLower(k)])
			spelled[strings.ToLower(k)] = k
			out[k] = tags[from]
		}
	}
	return out
}

// tagsFor are the tags of an order; later sources win: the installation's, the class', ours.
func tagsFor(o cloud.Order, cfg Config) (map[string]string, error) {
	out := people(cfg.AdditionalTags, o.Class.Azure.Tags)
	maps.Copy(out, map[string]string{TagCluster: cfg.ClusterName, TagBilling: "linux", TagClaim: o.Claim, TagClaimUID: o.ClaimUID})
	if o.Pool != "" {
		out[TagPool] = o.Pool
	}
	if bad := badTags(out, maxTags); len(bad) > 0 {
		return nil, cloud.Errorf(cloud.Invalid, "%s", strings.Join(bad, "; "))
	}
	return out, nil
}

// badTags says what Azure would not take, in the order of the keys.
func badTags(tags map[string]string, most int) []string {
	var out []string
	if len(tags) > most {
		out = append(out, fmt.Sprintf("%d tags, Azure takes %d", len(tags), most))
	}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case k == "" || utf8.RuneCountInString(k) > maxTagKey || utf8.RuneCountInString(tags[k]) > maxTagValue:
			out = append(out, fmt.Sprintf("tag %.40q: keys have 1 to %d characters, values up to %d", k, maxTagKey, maxTagValue))
		case strings.ContainsAny(k, badInTags) || strings.ContainsFunc(k, unicode.IsControl):
			out = append(out, fmt.Sprintf("tag %.40q: keys have none of %s and no control characters", k, badInTags))
		}
	}
	return out
}

// pointers turns tags into the form that the SDK wants.
func pointers(tags map[string]string) map[string]*string {
	out := make(map[string]*string, len(tags))
	for k, v := range tags {
		out[k] = &v
	}
	return out
}

// values undoes pointers. Reserved keys get our own spelling, should somebody have written them anew in another.
func values(tags map[string]*string) map[string]string {
	out := make(map[string]string, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		own, _ := canonical(k)
		out[own] = str(tags[k])
	}
	return out
}

// ours reports whether a resource with these tags was bought by this installation. Machines of an older installation
// carry a pool and no claim; another cluster's carry its name.
func ours(tags map[string]string, clusterName string) bool {
	if c, ok := tags[TagCluster]; ok && c != clusterName {
		return false
	}
	if _, other := tags[tagMachine]; other {
		return false
	}
	return tags[TagPool] != "" || tags[TagClaim] != ""
}

// claimOf is the claim for which a resource of that name was bought: its tag, or else the name itself, which existing
// installations derive in the same way.
func claimOf(name string, tags map[string]string) string {
	if c := tags[TagClaim]; c != "" {
		return c
	}
	return strings.TrimPrefix(name, namePrefix)
}

// providerID is the machine's id as its node reports it.
func providerID(cfg Config, name string) string {
	return fmt.Sprintf("azure:///subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/%s",
		cfg.SubscriptionID, strings.ToLower(cfg.NodeResourceGroup), name)
}

// nameOf undoes providerID; it fails with cloud.Invalid for ids of other groups, subscriptions or clouds.
func nameOf(cfg Config, id string) (string, error) {
	head := providerID(cfg, "")
	if len(id) <= len(head) || !strings.EqualFold(id[:len(head)], head) || strings.Contains(id[len(head):], "/") {
		return "", cloud.Errorf(cloud.Invalid, "provider id %q is not of a virtual machine in resource group %s of our subscription", id, cfg.NodeResourceGroup)
	}
	return id[len(head):], nil
}

// subnetID is an ARM id of a subnet, taken apart.
type subnetID struct{ Subscription, ResourceGroup, Vnet, Name string }

// vnetID names the subnet's network, in lower case for comparison.
func (s subnetID) vnetID() string {
	return strings.ToLower(s.Subscription + "/" + s.ResourceGroup + "/" + s.Vnet)
}

// parseSubnetID reads /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/….
func parseSubnetID(id string) (subnetID, bool) {
	p := strings.Split(id, "/")
	if len(p) != 11 || p[0] != "" {
		return subnetID{}, false
	}
	for i, want := range map[int]string{1: "subscriptions", 3: "resourceGroups", 5: "providers", 6: "Microsoft.Network", 7: "virtualNetworks", 9: "subnets"} {
		if !strings.EqualFold(p[i], want) {
			return subnetID{}, false
		}
	}
	s := subnetID{p[2], p[4], p[8], p[10]}
	return s, s.Subscription != "" && s.ResourceGroup != "" && s.Vnet != "" && s.Name != ""
}

func subnetOf(class *model.AzureClass, cfg Config) string {
	if class.VnetSubnetID != "" {
		return class.VnetSubnetID
	}
	return cfg.SubnetID
}

// managedVnet reports whether AKS made the cluster's network itself: it lies in the node resource group under AKS'
// own naming. In a network that a person brought, interfaces carry the cluster's security group.
func managedVnet(cfg Config) bool {
	s, ok := parseSubnetID(cfg.SubnetID)
	return ok && strings.EqualFold(s.ResourceGroup, cfg.NodeResourceGroup) &&
		regexp.MustCompile(`(?i)^aks-vnet-\d{8}$`).MatchString(s.Vnet)
}
