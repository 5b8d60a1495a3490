package main

import (
	"bytes"
	"os"
	"testing"
)

// The table is what the SDK of go.mod says: who changes the one must write the other anew.
func TestTheTableIsFresh(t *testing.T) {
	want, err := table()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("schema.txt (%d bytes) is not what the SDK says (%d bytes): run go generate ./lab/arm", len(have), len(want))
	}
}
