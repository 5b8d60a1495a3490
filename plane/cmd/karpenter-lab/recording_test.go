package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/karpenter-aks/karpenter/internal/cast"
	"github.com/karpenter-aks/karpenter/internal/top"
)

// The manual shows a recording of the lab's view; make docs-record makes it anew.
func TestTheRecordingIsOfTodaysKeys(t *testing.T) {
	const at = "../../../docs/drawings/lab"
	text, err := os.ReadFile(at + ".cast")
	if err != nil {
		t.Fatal(err)
	}
	r, err := cast.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(at + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn, r.SVG()) {
		t.Error("the drawing is not that of the recording: make docs-record")
	}
	var foot []string
	keys := map[string]bool{}
	for _, d := range deeds() {
		keys[string(d.key)] = true
		foot = append(foot, string(d.key)+" "+d.name)
	}
	pressed := 0
	for _, p := range r.Presses {
		k, n := utf8.DecodeRuneInString(p.Key)
		switch {
		case keys[p.Key]:
			pressed++
		case n != len(p.Key) || top.Free(k):
			t.Errorf("the recording presses %q, which does nothing", p.Key)
		}
	}
	if pressed < 3 || len(r.Frames) < 10 {
		t.Errorf("the recording has %d of the lab's keys and %d frames: it shows too little", pressed, len(r.Frames))
	}
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	want := strings.Join(foot, "  ")
	for i, f := range r.Frames {
		if shown := colours.ReplaceAllString(strings.Join(f.Lines, "\n"), ""); !strings.Contains(shown, want) {
			t.Fatalf("frame %d of the recording does not name the keys as they are called today, %q: make docs-record\n%s", i, want, shown)
		}
	}
}
