package main

import "testing"

func TestVersionsAreSemantic(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1",
		"v1.2.3-4-g0abc123": "1.2.3-4-g0abc123", "0123456": "0.0.0-g0123456",
		"0abc123-dirty": "0.0.0-g0abc123-dirty",
	} {
		if got := semantic(described); got != want {
			t.Errorf("%s becomes %s, want %s", described, got, want)
		}
	}
}
