package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/top"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// How the view ends says what is to end.
func TestLeavingTheViewIsNotLeavingTheLab(t *testing.T) {
	dir := t.TempDir()
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	gone := make(chan struct{})
	for i, c := range []struct {
		script string
		over   bool
		err    string
	}{{"exit 0", false, ""}, {"exit 130", true, ""}, {"exit 3", false, "exit status 3"}} {
		program := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		v := &view{program, nothing, nothing, assemble.State{Dir: dir}}
		over, err := v.show(t.Context(), gone)
		if over != c.over || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: over is %v, %v", c.script, over, err)
		}
	}
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	v := &view{long, nothing, nothing, assemble.State{Dir: dir}}
	told, tell := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, tell)
	if over, err := v.show(told, gone); !over || err != nil {
		t.Errorf("told to end: over is %v, %v", over, err)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(gone) })
	if over, err := v.show(t.Context(), gone); !over || err != nil {
		t.Errorf("the lab is gone: over is %v, %v", over, err)
	}
}

func TestNoViewWithoutATerminal(t *testing.T) {
	if v := newView("karpenter", os.Stdin, &bytes.Buffer{}, assemble.State{}); v != nil {
		t.Error("a view is shown to a program")
	}
}

// The keys are those that top takes, each with a command of this program, and the welcome names some of them.
func TestKeysOfTheView(t *testing.T) {
	text, err := viewKeys(assemble.State{Dir: "/there", Kubeconfig: "/there/kubeconfig"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Welcome  string
		Commands []struct {
			Key, Name, Help string
			Run             []string
		}
	}
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	dir := "/there"
	for i, c := range got.Commands {
		r := []rune(c.Key)
		if len(r) != 1 || !top.Free(r[0]) || seen[c.Key] {
			t.Errorf("key %q is not free, or is there twice", c.Key)
		}
		seen[c.Key] = true
		cmd, rest, err := command().Find(c.Run[1:])
		if err != nil || len(rest) != 0 && rest[0] != "--dir" || cmd.Name() != deeds()[i].verb {
			t.Errorf("key %q runs %q, which is %v %v, %v", c.Key, c.Run, cmd.Name(), rest, err)
		}
		if c.Run[2] != dir {
			t.Errorf("key %q is about another lab: %q", c.Key, c.Run)
		}
	}
	if len(got.Commands) != len(deeds()) || !strings.Contains(got.Welcome, "Press +") || !strings.Contains(got.Welcome, "/there/kubeconfig") {
		t.Errorf("%d keys, and this welcome:\n%s", len(got.Commands), got.Welcome)
	}
}

func TestWordsWaitWhileTheViewIsShown(t *testing.T) {
	var out bytes.Buffer
	v := &voice{to: &out}
	v.quiet()
	for i := range 2 * mostHeld {
		v.say("line %d", i)
	}
	if out.Len() > 0 {
		t.Errorf("over the screen was written %q", out.String())
	}
	v.speak()
	v.say("after")
	if n := strings.Count(out.String(), "\n"); n != mostHeld+1 || !strings.Contains(out.String(), fmt.Sprint("line ", 2*mostHeld-1)) {
		t.Errorf("%d lines are said afterwards, the last of them not\n%s", n, out.String())
	}
}
