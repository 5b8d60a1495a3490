package apikube

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/model"
)

// volumes joins attachments, which name a volume, with volumes, which name the claim that pods mount. Either may be told
// first; an attachment is told again when its volume's claim becomes known.
type volumes struct {
	claims      map[string]cache.ObjectName            // by volume
	attachments map[string]map[string]model.Attachment // by volume, then by name
	of          map[string]string                      // volume by attachment
}

func newVolumes() volumes {
	return volumes{claims: map[string]cache.ObjectName{}, attachments: map[string]map[string]model.Attachment{}, of: map[string]string{}}
}

func compareNames(a, b cache.ObjectName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// joined returns the attachment with its volume's claim.
func (v volumes) joined(a model.Attachment) model.Attachment {
	claim := v.claims[a.Volume]
	a.ClaimNamespace, a.ClaimName = claim.Namespace, claim.Name
	return a
}

func tellAttachment(f *following, o client.Object, gone bool) {
	name := o.GetName()
	if volume, ok := f.volumes.of[name]; ok { // recreated under the same name it may be another volume's
		delete(f.volumes.of, name)
		delete(f.volumes.attachments[volume], name)
		if len(f.volumes.attachments[volume]) == 0 {
			delete(f.volumes.attachments, volume)
		}
	}
	if gone {
		f.sink.Apply(model.Change{Object: model.Attachment{Name: name}, Gone: true})
		return
	}
	typed, ok := o.(*storagev1.VolumeAttachment)
	if !ok {
		return
	}
	a := decodeAttachment(typed)
	if f.volumes.attachments[a.Volume] == nil {
		f.volumes.attachments[a.Volume] = map[string]model.Attachment{}
	}
	f.volumes.attachments[a.Volume][name] = a
	f.volumes.of[name] = a.Volume
	f.sink.Apply(model.Change{Object: f.volumes.joined(a)})
}

func tellVolume(f *following, o client.Object, gone bool) {
	name := o.GetName()
	var claim cache.ObjectName
	if typed, ok := o.(*corev1.PersistentVolume); ok && !gone && typed.Spec.ClaimRef != nil {
		claim = cache.NewObjectName(typed.Spec.ClaimRef.Namespace, typed.Spec.ClaimRef.Name)
	}
	if f.volumes.claims[name] == claim {
		return
	}
	if claim.Name == "" {
		delete(f.volumes.claims, name)
	} else {
		f.volumes.claims[name] = claim
	}
	for _, key := range slices.Sorted(maps.Keys(f.volumes.attachments[name])) {
		f.sink.Apply(model.Change{Object: f.volumes.joined(f.volumes.attachments[name][key])})
	}
}
