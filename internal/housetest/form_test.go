package housetest

import (
	"bytes"
	"go/format"
	"testing"
)

// Files that are there count, tracked or not: what is not formatted is seen before it is committed.
func TestFilesAreFormatted(t *testing.T) {
	for _, s := range tree(t) {
		want, err := format.Source(s.raw)
		if err != nil {
			t.Errorf("%s: %v", s.path, err)
			continue
		}
		if !bytes.Equal(s.raw, want) {
			t.Errorf("%s is not formatted: run make fmt, so that no difference is about white space", s.path)
		}
	}
}
