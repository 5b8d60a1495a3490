package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"karpenter": main, pluginFile: main, completionFile: main})
}

// TestScripts runs whole command lines: each file's name is the claim that it makes. UPDATE_SCRIPTS=1 writes what comes out
// into the files; read the difference before you accept it.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples/migrate")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			return nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
