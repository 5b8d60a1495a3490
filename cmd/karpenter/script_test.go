package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"karpenter": main})
}

// TestScripts runs whole command lines: each file's name is the claim that it makes. UPDATE_SCRIPTS=1 writes what comes out
// into the files; read the difference before you accept it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
