package model

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatIsOnHoldIsReadWordByWord(t *testing.T) {
	for _, c := range []struct {
		pause, mode string
		all         Pause
		want        string
		unreadable  int
	}{
		{"", "", Pause{}, "", 0},
		{"drift", "", Pause{}, "drift", 0},
		{" Drift , provisioning,", "", Pause{}, "provisioning drift", 0},
		{"all", "", Pause{}, "provisioning disruption drift", 0},
		{"driff", "", Pause{}, "disruption", 1},
		{"provisioning,driff,x", "", Pause{}, "provisioning disruption", 2},
		{"", "observe", Pause{}, "observe", 0},
		{"", "act", Pause{}, "", 0},
		{"", "watch", Pause{}, "observe", 1},
		{"drift", "", Pause{Provisioning: true, Observe: true}, "provisioning drift observe", 0},
		{"", "act", Pause{Disruption: true}, "disruption", 0},
	} {
		w := World{Paused: c.all}
		got := w.PauseOf(&Pool{Annotations: map[string]string{AnnotationPause: c.pause, AnnotationDisruptionMode: c.mode}})
		words := got.Words()
		if got.Observe {
			words = append(words, "observe")
		}
		if text := strings.Join(words, " "); text != c.want || len(got.Unreadable) != c.unreadable || got.Anything() != (c.want != "") {
			t.Errorf("%q %q: %q and %d words that cannot be read, want %q and %d", c.pause, c.mode, text, len(got.Unreadable), c.want, c.unreadable)
		}
		if !slices.IsSorted(got.Unreadable) {
			t.Errorf("%q: not sorted: %v", c.pause, got.Unreadable)
		}
	}
}
