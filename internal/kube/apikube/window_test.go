package apikube

import (
	"strings"
	"testing"
)

func TestWindowsThatCannotBeReadSayWhy(t *testing.T) {
	for _, c := range []struct{ opens, closes, want string }{
		{"2026-07-04T02:00:00Z", "2026-07-04T06:00:00+02:00", ""},
		{"", "2026-07-04T06:00:00Z", ""},
		{"soon", "later", `aksManagedNodeOSUpgradeSchedule-start is "soon"`},
		{"soon", "later", `aksManagedNodeOSUpgradeSchedule-end is "later"`},
		{"2026-07-04T06:00:00Z", "2026-07-04T02:00:00Z", "it ends at 2026-07-04T02:00:00Z and begins at 2026-07-04T06:00:00Z"},
		{strings.Repeat("x", 1000), "2026-07-04T02:00:00Z", `"` + strings.Repeat("x", 40) + `",`},
	} {
		_, err := windowOf(map[string]string{windowOpens: c.opens, windowCloses: c.closes})
		if said := ""; err != nil {
			said = err.Error()
			if c.want == "" || !strings.Contains(said, c.want) {
				t.Errorf("%q to %q: %s, want %q", c.opens, c.closes, said, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%q to %q is a window, want %q", c.opens, c.closes, c.want)
		}
	}
}
