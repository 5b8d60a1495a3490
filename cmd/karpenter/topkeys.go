package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/top"
)

// keyFile is what --keys names: keys that run commands of the person's.
type keyFile struct {
	Welcome  string       `json:"welcome"` // lines to show as long as there is no machine
	Commands []keyCommand `json:"commands"`
}

// keyCommand is one key.
type keyCommand struct {
	Key  string   `json:"key"`  // one character that top has no use for
	Name string   `json:"name"` // two or three words, for the foot
	Help string   `json:"help"`
	Run  []string `json:"run"` // a program and its arguments; no shell reads them
}

const (
	// mostKeyFile and mostKeys bound what a person can have meant.
	mostKeyFile = 1 << 20
	mostKeys    = 30
	// keyCommandLimit is how long a command may take: a person waits for it.
	keyCommandLimit = time.Minute
	// keyCommandEnd is how long its own children may hold its output once it has ended.
	keyCommandEnd = time.Second
	// mostSaid bounds what a command may say; its last line is shown.
	mostSaid = 64 << 10
)

// readKeyFile reads the file of --keys; every mistake is in the error. "" is no file.
func readKeyFile(name string) (f keyFile, err error) {
	if name == "" {
		return f, nil
	}
	text, err := readInput(nil, name, mostKeyFile)
	if err != nil {
		return f, fmt.Errorf("--keys: %w", err)
	}
	if err := yaml.UnmarshalStrict(text.Text, &f); err != nil {
		return f, fmt.Errorf("--keys: %s: %w", name, err)
	}
	var errs []error
	wrong := func(i int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--keys: %s: commands[%d]: %s", name, i, fmt.Sprintf(format, args...)))
	}
	if len(f.Commands) > mostKeys {
		errs = append(errs, fmt.Errorf("--keys: %s: %d commands, and at most %d are taken", name, len(f.Commands), mostKeys))
	}
	known := map[string]bool{}
	for i, c := range f.Commands {
		r, n := utf8.DecodeRuneInString(c.Key)
		switch {
		case c.Key == "" || n != len(c.Key) || r == utf8.RuneError:
			wrong(i, "key %q is not one character", c.Key)
		case !top.Free(r):
			wrong(i, "key %q has a meaning of its own", c.Key)
		case known[c.Key]:
			wrong(i, "key %q is there twice", c.Key)
		}
		known[c.Key] = true
		if c.Name == "" {
			wrong(i, "it has no name")
		}
		if len(c.Run) == 0 || c.Run[0] == "" {
			wrong(i, "run names no program")
		}
	}
	return f, errors.Join(errs...)
}

// list is what the screen must know.
func (f keyFile) list() (out []top.Command) {
	for _, c := range f.Commands {
		r, _ := utf8.DecodeRuneInString(c.Key)
		out = append(out, top.Command{Key: r, Name: c.Name, Help: c.Help})
	}
	return out
}

// outcome is how a command went.
type outcome struct {
	sentence string
	failed   bool
}

// run does what was ordered. The command learns what the cursor is on, and which cluster is meant, from its environment.
func (f keyFile) run(ctx context.Context, o top.Order, kubeconfig string) outcome {
	var argv []string
	for _, c := range f.Commands {
		if c.Key == string(o.Command.Key) {
			argv = c.Run
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "KARPENTER_TOP_KIND="+o.About.Kind, "KARPENTER_TOP_NAME="+o.About.Name)
	if kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	}
	said := &ending{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, keyCommandEnd
	err := cmd.Run()
	last := said.line()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return outcome{fmt.Sprintf("it took more than %v", keyCommandLimit), true}
	case err != nil && last == "":
		return outcome{err.Error(), true}
	case last == "":
		return outcome{"done", false}
	}
	// Programs begin what went wrong with their own name, which the person did not type.
	return outcome{strings.TrimPrefix(last, filepath.Base(argv[0])+": "), err != nil}
}

// ending keeps the end of what is written.
type ending struct{ bytes.Buffer }

func (e *ending) Write(p []byte) (int, error) {
	if e.Len()+len(p) > mostSaid {
		e.Reset()
	}
	return e.Buffer.Write(p)
}

// line is the last line that says something.
func (e *ending) line() string {
	lines := strings.Split(strings.TrimSpace(e.String()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
