package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScenarios runs the shared scenarios through the command, as a reader would, and compares with the answer that each
// holds below its line.
func TestScenarios(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "scenarios"))
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			asked := 0
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if asked++; asked > 1 || d.Cmd != "simulate" {
					d.Fatalf(t, "a scenario has one command, simulate")
				}
				var stdout, stderr bytes.Buffer
				code := run([]string{"simulate", file}, &stdout, &stderr)
				if (code == 0) == (stderr.Len() > 0) {
					t.Errorf("exit code %d with %d bytes of errors", code, stderr.Len())
				}
				return stdout.String() + stderr.String()
			})
		})
	}
}
