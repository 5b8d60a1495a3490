package program

import (
	"runtime/debug"
	"testing"
)

func TestAProgramThatIsNotWhatWasAskedForIsRefused(t *testing.T) {
	says := func(fips string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"},
			{Key: "GOFIPS140", Value: fips}, {Key: "DefaultGODEBUG", Value: "a=1,fips140=on"},
		}}
	}
	r := Recipe{Package: "./p", OS: "linux", Arch: "arm64", FIPS: true}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		ok   bool
	}{
		{"the module that was asked for", says(FIPS), true},
		{"with its checksum, as go writes it", says(FIPS + "-c2097c7c"), true},
		{"another version of the module", says("v0.9.0"), false},
		{"no module", &debug.BuildInfo{}, false},
	} {
		if err := r.check(c.info); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	r.Arch = "amd64"
	if err := r.check(says(FIPS)); err == nil {
		t.Error("a program for another machine is taken")
	}
}
