package place_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same worlds in every run, so that what is green stays green until somebody changes it. To look at others:
// go test ./internal/place -rapid.seed=N -rapid.checks=1000
func TestMain(m *testing.M) {
	flag.Parse()
	drawn := false
	flag.Visit(func(f *flag.Flag) { drawn = drawn || f.Name == "rapid.seed" })
	if f := flag.Lookup("rapid.seed"); f != nil && !drawn {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
