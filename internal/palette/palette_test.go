package palette_test

import (
	"regexp"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/palette"
)

// TestTonesAreToldApart paints with every tone: no two look alike, each is taken back, and of colours only blue and orange are used.
func TestTonesAreToldApart(t *testing.T) {
	painted := regexp.MustCompile("^\x1b\\[[0-9;]+mx\x1b\\[0m$")
	hue := regexp.MustCompile(`38;5;(\d+)`)
	seen := map[string]palette.Tone{}
	for tone := palette.Faint; tone <= palette.Chosen; tone++ {
		text := tone.Paint("x")
		if was, there := seen[text]; there || !painted.MatchString(text) {
			t.Errorf("tone %d writes %q; so does %d", tone, text, was)
		}
		seen[text] = tone
		if m := hue.FindStringSubmatch(text); m != nil && m[1] != "75" && m[1] != "214" {
			t.Errorf("tone %d is neither blue nor orange: %q", tone, text)
		}
		if got := tone.Paint(""); got != "" {
			t.Errorf("tone %d makes %q of nothing", tone, got)
		}
	}
	for _, tone := range []palette.Tone{palette.Plain, palette.Chosen + 1} {
		if got := tone.Paint("x"); got != "x" {
			t.Errorf("tone %d writes %q, not what it was given", tone, got)
		}
	}
}
