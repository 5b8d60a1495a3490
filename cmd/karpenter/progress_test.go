package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyLongWorkIsTold: within two seconds nothing is said; then what is done at that moment, and each step that follows.
func TestOnlyLongWorkIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		p := progressTo(&said, patience)
		p.say("reading")
		time.Sleep(time.Second)
		p.say("planning for %d pods", 3)
		time.Sleep(2 * time.Second)
		p.say("comparing")
		p.end()
		if want := "karpenter: planning for 3 pods ...\nkarpenter: comparing ...\n"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		said.Reset()
		p = progressTo(&said, patience)
		p.say("reading")
		p.end()
		time.Sleep(time.Minute)
		if said.Len() > 0 {
			t.Errorf("said %q about what was quick", said.String())
		}
	})
}
