package ready

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Images are those that the class's status should list, of those that the cloud has found to be the newest. A class whose images are pinned, or
// are to stay for another reason, keeps
// the version of each image that it lists already, and with that its nodes do not drift; images that it does not list yet it takes as they
// are. When the cluster's Kubernetes version moves on, so do pinned images: each is built for some versions of the kubelet. A value of the annotation
// that nobody knows pins, as whoever wrote it wanted something to stay.
func Images(c model.Class, found []model.Image, kubernetesVersion string, stay bool) []model.Image {
	pin := strings.ToLower(strings.TrimSpace(c.Annotations[model.AnnotationPinImages]))
	if !stay && (pin == "" || pin == "false") || kubernetesVersion != c.KubernetesVersion {
		return found
	}
	out := slices.Clone(found)
	for i, f := range out {
		at := slices.IndexFunc(c.Images, func(have model.Image) bool { return strings.EqualFold(imageBase(have.ID), imageBase(f.ID)) })
		if at >= 0 {
			out[i] = c.Images[at]
		}
	}
	return out
}

// Window says whether node images are to stay for now, by the window that AKS announces, and why; "" when nothing keeps them. One that cannot be
// read, which unreadable says, keeps them: somebody wanted them to move at some time, not at any.
func Window(w model.MaintenanceWindow, unreadable string, now time.Time) (stay bool, why string) {
	switch {
	case unreadable != "":
		return true, "node images stay as they are: " + unreadable
	case w == model.MaintenanceWindow{}:
	case now.Before(w.Opens):
		return true, "node images stay as they are until the maintenance window opens at " + w.Opens.Format(time.RFC3339)
	case !now.Before(w.Closes):
		return true, fmt.Sprintf("node images stay as they are: the maintenance window closed at %s, and no other is announced", w.Closes.Format(time.RFC3339))
	}
	return false, ""
}

// imageBase is the id without its version: /CommunityGalleries/G/images/D of /CommunityGalleries/G/images/D/versions/V.
func imageBase(id string) string {
	at := strings.LastIndex(strings.ToLower(id), "/versions/")
	if at < 0 {
		return id
	}
	return id[:at]
}
