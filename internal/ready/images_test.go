package ready_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		got := ready.Images(class, images(found), c.version, false)
		if !slices.EqualFunc(got, c.want, func(i model.Image, id string) bool { return i.ID == id }) {
			t.Errorf("pinned %q, Kubernetes %s: %v, want %v", c.pin, c.version, got, c.want)
		}
	}
}

func TestImagesStayOutsideTheWindow(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2026, 7, 4, h, 0, 0, 0, time.UTC) }
	w := model.MaintenanceWindow{Opens: at(2), Closes: at(6)}
	for _, c := range []struct {
		name string
		w    model.MaintenanceWindow
		bad  string
		now  time.Time
		stay bool
		why  string
	}{
		{"none is announced", model.MaintenanceWindow{}, "", at(1), false, ""},
		{"before", w, "", at(1), true, "opens at 2026-07-04T02:00:00Z"},
		{"the first moment", w, "", at(2), false, ""},
		{"the last moment", w, "", at(6).Add(-time.Nanosecond), false, ""},
		{"after", w, "", at(6), true, "closed at 2026-07-04T06:00:00Z"},
		{"unreadable", model.MaintenanceWindow{}, `start is "soon"`, at(3), true, `stay as they are: start is "soon"`},
	} {
		stay, why := ready.Window(c.w, c.bad, c.now)
		if stay != c.stay || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: stay %v, %q", c.name, stay, why)
		}
	}
	class := model.Class{KubernetesVersion: "1.37.1", Images: images([]string{"/images/D/versions/1"})}
	if got := ready.Images(class, images([]string{"/images/D/versions/2"}), "1.37.1", true); got[0].ID != "/images/D/versions/1" {
		t.Errorf("images that are to stay became %v", got)
	}
}

func images(ids []string) (out []model.Image) {
	for _, id := range ids {
		out = append(out, model.Image{ID: id})
	}
	return out
}
