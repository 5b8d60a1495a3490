package assemble

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/leash"
)

const (
	// The pause before the controller is started again doubles from restartFirst to restartLast, and begins anew after it
	// has run for restartForgive. A Deployment does the same, more slowly: 10 s to 5 min; nobody wants to wait for that here.
	restartFirst   = time.Second
	restartLast    = 5 * time.Second
	restartForgive = time.Minute
	// controllerStop is how long the controller may take to stop: the default grace of a pod is 30 s, but whoever presses
	// Ctrl-C waits for this.
	controllerStop = 10 * time.Second
	// lastLines and lastBytes bound what is shown of a log after an unexpected end.
	lastLines, lastBytes = 12, 8 << 10
)

// keeper runs the controller as a Deployment with one replica would: whenever it ends, it starts it again.
type keeper struct {
	path string
	log  string                   // file, written anew by each lab, appended to by each start
	env  func() ([]string, error) // asked before each start
	// wanted says whether it should run at all; nil means that it should. When the answer or env may have changed, changed
	// is sent to, and whatever runs is stopped and started anew.
	wanted  func() bool
	changed chan struct{}
	say     func(format string, args ...any)
	// started is told of each process, and of 0 when none should run.
	started func(pid int)

	mu    sync.Mutex // guards the fields below
	ended string     // how the last process ended, for people; "" while none has
}

// run keeps the controller running until ctx ends, and returns when no process is left.
func (k *keeper) run(ctx context.Context) {
	wait := restartFirst
	for ctx.Err() == nil {
		select {
		case <-k.changed: // what is asked for below is newer
		default:
		}
		if k.wanted != nil && !k.wanted() {
			k.started(0)
			select {
			case <-ctx.Done():
			case <-k.changed:
			}
			continue
		}
		begin := time.Now()
		replaced, err := k.turn(ctx)
		if ctx.Err() != nil {
			return
		}
		if replaced {
			wait = restartFirst
			continue
		}
		if time.Since(begin) > restartForgive {
			wait = restartFirst
		}
		what := fmt.Sprintf("the controller ended unexpectedly (%v)", err)
		dir := filepath.Dir(k.log)
		if why := (plane.End{Err: err, Dir: dir, Free: plane.FreeBytes(dir)}).Sentence(); why != "" {
			what += ": " + why
		}
		k.mu.Lock()
		k.ended = what
		k.mu.Unlock()
		k.say("%s; it starts again in %v. Its last words, in %s:\n%s", what, wait, k.log, LastLines(k.log))
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
		case <-k.changed:
			t.Stop()
		case <-t.C:
		}
		wait = min(2*wait, restartLast)
	}
}

// turn runs the controller until it ends, ctx does, or something else is wanted: then it was replaced.
func (k *keeper) turn(ctx context.Context) (replaced bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-k.changed:
			replaced = true
			stop()
		}
	})
	err = k.once(ctx)
	stop()
	wg.Wait()
	return replaced, err
}

// lastEnd says how the last process ended; "" while none has.
func (k *keeper) lastEnd() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended
}

// once runs the controller to its end, or to ours.
func (k *keeper) once(ctx context.Context) error {
	env, err := k.env()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(k.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(k.path, "controller")
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	child, err := leash.Start(cmd)
	if err != nil {
		return err
	}
	k.started(child.PID())
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Signal(syscall.SIGTERM)
		t := time.NewTimer(controllerStop)
		defer t.Stop()
		select {
		case <-child.Done():
		case <-t.C:
			child.Signal(syscall.SIGKILL)
			<-child.Done()
		}
	}
	if err := child.Err(); err != nil {
		return err
	}
	return fmt.Errorf("exit status 0")
}

// LastLines returns the last few lines of a file, indented, for a message to a person.
func LastLines(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "  " + err.Error()
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > lastBytes {
		_, _ = f.Seek(-lastBytes, io.SeekEnd) // a failed seek shows the beginning, which is also of use
	}
	b, _ := io.ReadAll(io.LimitReader(f, lastBytes))
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(lines) > lastLines {
		lines = lines[len(lines)-lastLines:]
	}
	return "  " + strings.Join(lines, "\n  ")
}
