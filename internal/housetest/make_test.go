package housetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// A first build takes minutes, and says how far it is; where nothing is left to compile, nothing is said of it.
func TestALongBuildSaysHowFarItIs(t *testing.T) {
	const packages = 250
	for compiles, want := range map[int]string{
		packages: "  100 of at most 250 packages are compiled\n" +
			"  200 of at most 250 packages are compiled\n",
		0: "",
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\n" +
			"n=" + strconv.Itoa(compiles) + "\n" +
			"[ \"$1\" = list ] && n=" + strconv.Itoa(packages) + "\n" +
			"i=0; while [ $i -lt $n ]; do echo some/package/$i; i=$((i + 1)); done\n"
		err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "make", "-C", filepath.Join("..", ".."), "compile",
			"BIN="+filepath.Join(dir, "bin"))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		text := string(out)
		told := strings.Contains(text, "packages are compiled")
		if err != nil || !strings.Contains(text, want) || told != (want != "") ||
			!strings.Contains(text, "several minutes") {
			t.Errorf("%d packages to compile: %v, want %q in\n%s", compiles, err, want, text)
		}
	}
}
