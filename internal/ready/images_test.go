package ready_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

func TestPinnedImagesStayUntilKubernetesMovesOn(t *testing.T) {
	const base = "/CommunityGalleries/g/images/"
	listed := []string{base + "2404gen2/versions/1", base + "2404/versions/1"}
	found := []string{base + "2404GEN2/versions/2", base + "2404/versions/2", base + "2404arm/versions/2"}
	pinned := []string{listed[0], listed[1], found[2]}
	for _, c := range []struct {
		pin, version string
		listed, want []string
	}{
		{"", "1.37.1", listed, found},
		{"false", "1.37.1", listed, found},
		{"true", "1.37.1", listed, pinned},
		{"yes please", "1.37.1", listed, pinned},
		{"true", "1.38.0", listed, found},
		{"true", "1.37.1", nil, found},
	} {
		class := model.Class{KubernetesVersion: "1.37.1", Images: images(c.listed), Annotations: map[string]string{model.AnnotationPinImages: c.pin}}
		got := ready.Images(class, images(found), c.version)
		if !slices.EqualFunc(got, c.want, func(i model.Image, id string) bool { return i.ID == id }) {
			t.Errorf("pinned %q, Kubernetes %s: %v, want %v", c.pin, c.version, got, c.want)
		}
	}
}

func images(ids []string) (out []model.Image) {
	for _, id := range ids {
		out = append(out, model.Image{ID: id})
	}
	return out
}
