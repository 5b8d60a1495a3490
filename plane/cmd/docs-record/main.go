// Command docs-record answers: what does somebody see who starts the lab and presses its keys?
//
// It starts `karpenter-lab up` in a terminal of tmux, presses keys as a newcomer would, and writes what the screen shows as an
// asciicast and as a picture that moves. Nothing in them is written by hand: make docs-record makes them anew.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/cast"
)

const (
	width, height = 112, 24
	// look is the pause between two looks at the screen.
	look = 250 * time.Millisecond
	// patience bounds the wait for what a step wants to see.
	patience = 2 * time.Minute
	// longest is how long nothing may happen in the recording: who watches does not wait for a busy machine.
	longest = 1500 * time.Millisecond
	// read is how long a person looks at what came before the next key.
	read = 1500 * time.Millisecond
)

// step is a key, and what the screen shows before it is pressed; without a key it is only waited for.
type step struct {
	want string // a regular expression
	key  string
}

// steps are a newcomer's first minute.
func steps() []step {
	// Nothing comes, leaves or waits.
	const calm = `(?m)^[1-9]\d* nodes   \d+ pods on nodes   \$[0-9.]+/h, \$\d+ a month$`
	return []step{
		{`Press \+ +and five pods`, "+"},
		{calm, "x"},
		{`is dead; it starts again`, "e"},
		{`\d leaving`, ""},
		{calm, "o"},
		{`is sold out everywhere`, "+"},
		{`\d waiting`, ""},
		{calm, "m"},
		{`Azure is whole again`, "-"},
		{`5 pods of the demo are asked for: what`, "-"},
		{`(?s)\d leaving.*no pod of the demo`, "q"},
	}
}

func main() {
	lab := flag.String("lab", "bin/karpenter-lab", "the program of the lab")
	into := flag.String("into", "docs/drawings/lab", "what to write, without .cast and .svg")
	dir := flag.String("dir", "/tmp/karpenter-lab", "directory of the lab; the screen shows it")
	flag.Parse()
	if err := run(*lab, *dir, *into); err != nil {
		fmt.Fprintln(os.Stderr, "docs-record:", err)
		os.Exit(1)
	}
}

func run(lab, dir, into string) error {
	desk, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(desk)
	t := terminal(filepath.Join(desk, "tmux"))
	program, err := filepath.Abs(lab)
	if err != nil {
		return err
	}
	if _, err := t.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width),
		"-y", fmt.Sprint(height), "exec "+program+" up --dir "+dir); err != nil {
		return err
	}
	defer func() { _, _ = t.tmux("kill-server") }() // it ends by itself when the lab does
	r, err := t.record(steps())
	if err != nil {
		return err
	}
	r.Title = "make lab: the first minute"
	if err := t.leave(); err != nil {
		return err
	}
	if err := os.WriteFile(into+".cast", r.Cast(), 0o644); err != nil {
		return err
	}
	read, err := cast.Read(r.Cast()) // times have three digits there
	if err != nil {
		return err
	}
	return os.WriteFile(into+".svg", read.SVG(), 0o644)
}

// terminal is a server of tmux, by its socket.
type terminal string

func (t terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", string(t)}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=screen-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// record presses the keys of steps, each when the screen shows what it waits for and a person has read it.
func (t terminal) record(list []step) (cast.Recording, error) {
	r := cast.Recording{Width: width, Height: height}
	at := time.Duration(0) // in the recording, where nothing takes longer than longest
	last := time.Now()
	for i, s := range list {
		want := regexp.MustCompile(s.want)
		began, found := time.Now(), time.Time{}
		for ; found.IsZero() || s.key != "" && time.Since(found) < read; time.Sleep(look) {
			coloured, err := t.tmux("capture-pane", "-e", "-p")
			if err != nil {
				return r, err
			}
			plain, err := t.tmux("capture-pane", "-p")
			if err != nil {
				return r, err
			}
			if time.Since(began) > patience {
				return r, fmt.Errorf("step %d: the screen does not show %q:\n%s", i+1,
					s.want, plain)
			}
			if found.IsZero() && want.MatchString(plain) {
				found = time.Now()
			}
			lines := strings.Split(strings.TrimRight(coloured, "\n"), "\n")
			n := len(r.Frames)
			if i == 0 && found.IsZero() || n > 0 && slices.Equal(r.Frames[n-1].Lines, lines) {
				continue // before the view there is nothing to see
			}
			if len(r.Frames) > 0 {
				at += min(time.Since(last), longest)
			}
			last = time.Now()
			r.Frames = append(r.Frames, cast.Frame{At: at.Round(time.Millisecond), Lines: lines})
		}
		if s.key == "" {
			continue
		}
		at += min(time.Since(last), longest)
		last = time.Now()
		if s.key == "q" { // what comes then is no part of it
			return r, nil
		}
		r.Presses = append(r.Presses, cast.Press{At: at.Round(time.Millisecond), Key: s.key})
		if _, err := t.tmux("send-keys", "--", s.key); err != nil {
			return r, err
		}
	}
	return r, errors.New("the last step is q")
}

// leave ends the view and the lab, and waits until they are gone.
func (t terminal) leave() error {
	if _, err := t.tmux("send-keys", "C-c"); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(look) {
		if _, err := t.tmux("list-sessions"); err != nil {
			return nil
		}
	}
	return errors.New("the lab does not end")
}
