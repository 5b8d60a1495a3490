package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Reasons of conditions, as users know them.
const (
	reasonImagesNotFound  = "ImagesNotFound"
	reasonSIGForFIPS      = "SIGRequiredForFIPS"
	reasonSubnetNotFound  = "SubnetNotFound"
	reasonSubnetInvalid   = "SubnetIDInvalid"
	reasonSubnetUnknown   = "SubnetUnknownError"
	reasonVersionMissing  = "KubernetesVersionUnknown"
	reasonFieldsIgnored   = "SomeFieldsIgnored"
	reasonTagsInvalid     = "TagsInvalid"
	reasonFieldsInvalid   = "SomeFieldsInvalid"
	reasonLocalDNSIgnored = "NotActedOn"
	maxImageVersions      = 5000 // of one definition; galleries hold a few hundred
	maxImageCaches        = 64
)

// imageKey names one answer about images: they differ by operating system and security, not by class.
type imageKey struct {
	os, version string
	trusted     bool
}

// Inspect implements cloud.Fleet. It asks for image versions (remembered for three days) and for the class' subnet.
// A class that cannot work gets conditions that say so; an error means that Azure could not be asked.
func (f *Fleet) Inspect(ctx context.Context, class model.Class, version string) (cloud.Report, error) {
	if class.Azure == nil {
		return cloud.Report{}, cloud.Errorf(cloud.Invalid, "%s is not a class of Azure machines", class.Ref)
	}
	version = strings.TrimPrefix(version, "v")
	r := cloud.Report{KubernetesVersion: version}
	images, ready, err := f.inspectImages(ctx, class.Azure, version)
	if err != nil {
		return cloud.Report{}, err
	}
	r.Images = images
	subnet, err := f.inspectSubnet(ctx, class.Azure)
	if err != nil {
		return cloud.Report{}, err
	}
	r.Conditions = []model.Condition{ready, versionCondition(version), subnet, validation(class.Azure, f.cfg), localDNS(class.Azure)}
	for i := range r.Conditions {
		r.Conditions[i].ObservedGeneration = class.Generation
	}
	slices.SortFunc(r.Conditions, func(a, b model.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return r, nil
}

func isTrue(typ string) model.Condition {
	return model.Condition{Type: typ, Status: model.True, Reason: typ}
}

func isFalse(typ, reason, format string, args ...any) model.Condition {
	return model.Condition{Type: typ, Status: model.False, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func versionCondition(version string) model.Condition {
	if version == "" {
		return isFalse(model.KubernetesVersionReady, reasonVersionMissing, "the API server's version is not known yet")
	}
	return isTrue(model.KubernetesVersionReady)
}

// validation says what is wrong with the class: no machine can be made of such a class, nor of one whose tags no machine
// can carry. Fields that are set and not acted on do not make it unusable: the condition stays True, and the reason and
// the message tell.
func validation(class *model.AzureClass, cfg Config) model.Condition {
	if bad := problemsOf(class); len(bad) > 0 {
		return isFalse(model.ValidationSucceeded, reasonFieldsInvalid, "%s", strings.Join(bad, "; "))
	}
	if bad := badTags(people(cfg.AdditionalTags, class.Tags), maxTags-ownTags); len(bad) > 0 {
		return isFalse(model.ValidationSucceeded, reasonTagsInvalid, "spec.tags (with those of --additional-tags): %s", strings.Join(bad, "; "))
	}
	c := isTrue(model.ValidationSucceeded)
	var words []string
	if len(class.Ignored) > 0 {
		words = append(words, "these fields are set but this controller does not act on them: "+strings.Join(class.Ignored, ", "))
	}
	if ours := reservedIn(class.Tags); len(ours) > 0 {
		words = append(words, "these tags are the controller's own, the class' values for them are ignored: "+strings.Join(ours, ", "))
	}
	if len(words) > 0 {
		c.Reason, c.Message = reasonFieldsIgnored, strings.Join(words, "; ")
	}
	return c
}

func reservedIn(tags map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if reserved(tagKey(k)) {
			out = append(out, k)
		}
	}
	return out
}

func localDNS(class *model.AzureClass) model.Condition {
	c := isTrue(model.LocalDNSReady)
	if localDNSOn(class) {
		c.Reason, c.Message = reasonLocalDNSIgnored, "machines are chosen for local DNS, but it is not set up on them; they are labelled "+labelLocalDNS+"=disabled"
	}
	return c
}

// inspectImages finds the newest version of each image definition of the class, in order of preference.
func (f *Fleet) inspectImages(ctx context.Context, class *model.AzureClass, version string) ([]model.Image, model.Condition, error) {
	if fips(class) {
		return nil, isFalse(model.ImagesReady, reasonSIGForFIPS, "FIPS images are published in the shared image gallery only, which this controller does not use"), nil
	}
	key := imageKey{os: resolveFamily(class, class.FIPSMode, version), version: version, trusted: trustedLaunch(class)}
	definitions := definitionsOf(class, key.os)
	f.mu.Lock()
	k := f.images[key]
	if k == nil {
		if len(f.images) >= maxImageCaches {
			clear(f.images)
		}
		k = newKnown[[]model.Image](imagesFor)
		f.images[key] = k
	}
	f.mu.Unlock()
	images, err := k.get(ctx, f.cfg.Now, func(ctx context.Context) ([]model.Image, error) { return f.askImages(ctx, definitions) })
	if e := (*cloud.Error)(nil); errors.As(err, &e) && e.Code == cloud.NotFound {
		return nil, isFalse(model.ImagesReady, reasonImagesNotFound, "no image of family %s (%s) for Kubernetes %s: %v", imageFamily(class), key.os, version, e.Err), nil
	}
	if err != nil {
		return nil, model.Condition{}, fmt.Errorf("find images: %w", err)
	}
	return slices.Clone(images), isTrue(model.ImagesReady), nil
}

// askImages leaves out definitions that do not exist; NotFound means that none does.
func (f *Fleet) askImages(ctx context.Context, definitions []definition) ([]model.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	var out []model.Image
	for _, d := range definitions {
		var versions []*armcompute.CommunityGalleryImageVersion
		for pager := f.api.gallery.NewListPager(f.cfg.Location, d.gallery, d.name, nil); pager.More(); {
			page, err := pager.NextPage(ctx)
			if is404(err) {
				break
			}
			if err != nil {
				return nil, inWords(err, tried{})
			}
			if versions = append(versions, page.Value...); len(versions) > maxImageVersions {
				break
			}
		}
		if v, ok := newest(versions, f.cfg.Now()); ok {
			out = append(out, model.Image{ID: imageID(d, v), Requirements: d.requirements()})
		}
	}
	if len(out) == 0 {
		return nil, cloud.Errorf(cloud.NotFound, "the community galleries have none of its %d definitions", len(definitions))
	}
	return out, nil
}

// newest is the version that was published last; of two published together the one with the greater name. Versions
// past their end of life or withheld by the publisher are left out unless there is no other.
func newest(versions []*armcompute.CommunityGalleryImageVersion, now time.Time) (string, bool) {
	type candidate struct {
		name   string
		at     time.Time
		usable bool
	}
	var best candidate
	for _, v := range versions {
		if v == nil || str(v.Name) == "" {
			continue
		}
		c := candidate{name: *v.Name, usable: true}
		if p := v.Properties; p != nil {
			if p.PublishedDate != nil {
				c.at = *p.PublishedDate
			}
			c.usable = (p.ExcludeFromLatest == nil || !*p.ExcludeFromLatest) && (p.EndOfLifeDate == nil || p.EndOfLifeDate.After(now))
		}
		better := cmp.Or(compareBool(c.usable, best.usable), c.at.Compare(best.at), cmp.Compare(c.name, best.name)) > 0
		if best.name == "" || better {
			best = c
		}
	}
	return best.name, best.name != ""
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// inspectSubnet checks that machines of the class can be put into its subnet: it must lie in the cluster's own network,
// and a network that AKS manages takes no subnets but AKS' own.
func (f *Fleet) inspectSubnet(ctx context.Context, class *model.AzureClass) (model.Condition, error) {
	const typ = model.SubnetsReady
	id := subnetOf(class, f.cfg)
	want, ok := parseSubnetID(id)
	own, _ := parseSubnetID(f.cfg.SubnetID)
	switch {
	case !ok || !takesSubnet(want):
		return isFalse(typ, reasonSubnetInvalid, "vnetSubnetID %q is not the id of a subnet", id), nil
	case isOverlay(f.cfg.Network) && !labelValue.takes(want.Name):
		// Machines of an overlay network carry it as a label, and a kubelet exits at a label that is not valid.
		return isFalse(typ, reasonSubnetInvalid, "subnet %q cannot be used with an overlay network: its name %s", want.Name, labelValue.say), nil
	case want.vnetID() != own.vnetID():
		return isFalse(typ, reasonSubnetInvalid, "subnet %s is not in the cluster's virtual network %s of resource group %s", id, own.Vnet, own.ResourceGroup), nil
	case managedVnet(f.cfg) && !strings.EqualFold(want.Name, own.Name):
		return isFalse(typ, reasonSubnetInvalid, "virtual network %s is managed by AKS: a subnet of one's own cannot be used in it", own.Vnet), nil
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := f.api.subnets.Get(ctx, want.ResourceGroup, want.Vnet, want.Name, nil)
	switch err := inWords(err, tried{}); {
	case err == nil:
		return isTrue(typ), nil
	case cloud.CodeOf(err) == cloud.NotFound:
		return isFalse(typ, reasonSubnetNotFound, "subnet %s does not exist", id), nil
	case cloud.CodeOf(err) == cloud.Denied:
		return isFalse(typ, reasonSubnetUnknown, "subnet %s cannot be read: %v", id, err), nil
	default:
		return model.Condition{}, fmt.Errorf("get subnet %s: %w", id, err)
	}
}
