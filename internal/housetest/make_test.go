package housetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A build that fails for want of room or memory says so in a sentence, and still fails. The compiler is a
// stand-in: nothing is built.
func TestABuildThatFailsSaysWhatToDo(t *testing.T) {
	for said, want := range map[string]string{
		"write /tmp/x: no space left on device": "The disk is full",
		"compile: signal: killed":               "There was no memory left",
		"x.go:1:1: expected 'package'":          "",
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\nif [ \"$1\" = list ]; then echo some/package; exit 0; fi\n" +
			"echo \"" + said + "\" >&2\nexit 1\n"
		err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"compile", "build"} {
			cmd := exec.CommandContext(t.Context(), "make", "-C", filepath.Join("..", ".."), target,
				"BIN="+filepath.Join(dir, "bin"), "VERSION=test")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			text := string(out)
			told := strings.Contains(text, "The disk is full") ||
				strings.Contains(text, "no memory left")
			if err == nil || !strings.Contains(text, said) || !strings.Contains(text, want) ||
				told != (want != "") {
				t.Errorf("make %s, where the compiler says %q: %v, want %q in\n%s", target, said,
					err, want, text)
			}
		}
	}
}
