package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/plane/assemble"
)

const (
	// keysFile is what the live view's keys are, for karpenter top --keys.
	keysFile = "keys.yaml"
	// viewEnd is how long the live view may take to give the terminal back.
	viewEnd = 5 * time.Second
	// viewInterrupted is how the live view ends after Ctrl-C. Source: 128 + SIGINT, as shells say it.
	viewInterrupted = 130
)

// view is `karpenter top` on the lab, with the lab's keys, as long as the person looks at it.
type view struct {
	program string
	in, out *os.File
	state   assemble.State
}

// newView returns the view that can be shown; nil where there is no terminal or nothing to show it with.
func newView(program string, in io.Reader, out io.Writer, s assemble.State) *view {
	from, ok := in.(*os.File)
	to, also := out.(*os.File)
	if program == "" || !ok || !also || !term.IsTerminal(int(from.Fd())) || !term.IsTerminal(int(to.Fd())) {
		return nil
	}
	return &view{program, from, to, s}
}

// show shows it until the person leaves, ctx ends or the lab is gone. over: they pressed Ctrl-C, or it is over already.
func (v *view) show(ctx context.Context, gone <-chan struct{}) (over bool, err error) {
	file := filepath.Join(v.state.Dir, keysFile)
	text, err := viewKeys(v.state)
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return false, err
	}
	if was, err := term.GetState(int(v.in.Fd())); err == nil {
		defer func() { _ = term.Restore(int(v.in.Fd()), was) }() // the view does it, unless it is killed
	}
	// It stays in our process group: a terminal is read by the group that is in front.
	cmd := exec.Command(v.program, "top", "--kubeconfig", v.state.Kubeconfig, "--location", v.state.Location, "--keys", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = v.in, v.out, v.out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		v.end(cmd, ended)
		return true, nil
	case <-gone:
		v.end(cmd, ended)
		return true, nil
	}
	var code *exec.ExitError
	if errors.As(err, &code) && code.ExitCode() == viewInterrupted {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("the live view ended: %w", err)
	}
	return false, nil
}

// end takes the view off the terminal.
func (v *view) end(cmd *exec.Cmd, ended <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may end just now
	t := time.NewTimer(viewEnd)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		_ = cmd.Process.Kill()
		<-ended
	}
}

// viewKeys is the file of keys. What it is called in there is said in docs/top.md.
func viewKeys(s assemble.State) ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	type command struct {
		Key  string   `json:"key"`
		Name string   `json:"name"`
		Help string   `json:"help"`
		Run  []string `json:"run"`
	}
	var out struct {
		Welcome  string    `json:"welcome"`
		Commands []command `json:"commands"`
	}
	out.Welcome = fmt.Sprintf(`This is a whole Kubernetes cluster, on a simulated Azure. It has no nodes yet.

Press +       and five pods ask for a place: nodes come within seconds.
Then try      + again, - for fewer, e to have a spot machine taken back, o to sell out a size,
              x to kill the controller, w to ask why something is as it is; ? lists all keys.

q leaves this view, and the cluster goes on. Ctrl-C ends it all.
In another terminal: %s kubectl get nodes
or, with a kubectl of your own: export KUBECONFIG=%s
`, called(s), s.Kubeconfig)
	for _, d := range deeds() {
		out.Commands = append(out.Commands, command{string(d.key), d.name, d.help, []string{exe, "--dir", s.Dir, "demo", d.verb}})
	}
	return yaml.Marshal(out)
}

// voice says what people should know, and keeps it to itself while something else has the terminal.
type voice struct {
	mu   sync.Mutex // guards the fields below, and keeps messages whole
	to   io.Writer
	held []string
	hold bool
}

// mostHeld bounds what is kept: the last words are worth most.
const mostHeld = 100

func (v *voice) say(format string, args ...any) {
	line := fmt.Sprintf("%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hold {
		v.held = append(v.held, line)
		v.held = v.held[max(0, len(v.held)-mostHeld):]
		return
	}
	fmt.Fprint(v.to, line)
}

// quiet keeps what is said from now on; speak says it.
func (v *voice) quiet() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hold = true
}

func (v *voice) speak() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, line := range v.held {
		fmt.Fprint(v.to, line)
	}
	v.held, v.hold = nil, false
}
