// Package leash answers: how does a child process end when we do, whatever ends us?
//
// It starts a command so that the kernel kills it when this process dies, where the kernel can. It neither restarts nor
// reads the child.
package leash

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// Child is a started process. Its methods may be called concurrently.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; read after done is closed
}

// Start starts cmd in a process group of its own, so that Ctrl-C reaches only us and we take things down in order.
//
// The child is started and waited for on a thread of its own: Linux sends the parent-death signal when the *thread* that
// started the child ends, and Go ends threads at will unless a goroutine holds them.
func Start(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr = attributes()
	c := &Child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() { // ends with the child
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// PID of the process. It may belong to another process once Done is closed.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the process is gone.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended; nil while it runs and when it exited with status 0.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Signal does nothing once the process was waited for.
func (c *Child) Signal(s syscall.Signal) {
	select {
	case <-c.done:
	default:
		_ = c.cmd.Process.Signal(s) // it may end just now; then there is nobody to tell
	}
}
