package provision

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/lab/provision/provisiontest"
)

// FuzzScript feeds scripts to the shell: it ends, and what it accepts it accepts again, exported as it was read.
func FuzzScript(f *testing.F) {
	mutated.Add(f, 1000, "export A=1\n", "set -a; A=\"x $A\" B='y'\nwhile false; do :; done\n", "for i in $(seq 1 3); do if x; then y; fi; done > /dev/null && z\n", "A=`x` B=$'y' C=${D:-z} cat <<EOF\nEOF\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := environment([]byte("#!/bin/bash\n" + text + "\n" + entryPoint + "\n"))
		if err != nil {
			return
		}
		delete(c.env, "") // no script can set it
		again, err := environment(provisiontest.Script(c.env))
		if err != nil || !maps.Equal(again.env, c.env) {
			t.Errorf("read %q, and its own quotation as %q: %v", c.env, again.env, err)
		}
	})
}

// FuzzEnvironmentFile writes a value into a file as the scripts do, without quotes: systemd reads exactly it when it has
// none of the characters that mean something there, and never sees two values for one name.
func FuzzEnvironmentFile(f *testing.F) {
	mutated.Add(f, 1000, "--max-pods=30 --eviction-hard=memory.available<750Mi", "a\nB=c\\", `"a"b 'c`, " #; \t\r\n=")
	f.Fuzz(func(t *testing.T, value string) {
		env, err := environmentFile("VALUE=" + value + "\nNEXT=1\n")
		if err != nil {
			return
		}
		plain := !strings.ContainsAny(value, "\\\n\r\"'\x00")
		if plain && (env["VALUE"] != strings.Trim(value, blanks) || env["NEXT"] != "1" || len(env) != 2) {
			t.Errorf("%q is read as %q", value, env)
		}
		for name := range env {
			if !isName(name) {
				t.Errorf("%q: a variable %q", value, name)
			}
		}
	})
}

// FuzzSplit splits flags: without quotes and backslashes it is a split at blanks, and no word is lost or made.
func FuzzSplit(f *testing.F) {
	mutated.Add(f, 1000, "--a=1 --b=2", `--a="x y" --b=\"`)
	f.Fuzz(func(t *testing.T, value string) {
		words := splitUnquoted(value)
		if !strings.ContainsAny(value, `\"'`) {
			want := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(blanks, r) })
			if !slices.Equal(words, want) {
				t.Errorf("%q is split into %q", value, words)
			}
		}
		if len(words) > len(value) || len(strings.Join(words, "")) > len(value) {
			t.Errorf("%q grew into %q", value, words)
		}
	})
}
