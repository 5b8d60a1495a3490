package control

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/model"
)

// caught runs fn. A panic in it becomes an error, so that what one object makes us do wrong ends the step that was about it,
// and not the process, which would only meet the same object again. A goroutine that ends itself (runtime.Goexit) ends.
func caught(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &crash{evidence.Crash{Message: fmt.Sprint(v), Site: site(), Stack: string(debug.Stack())}}
		}
	}()
	return fn()
}

// crash is the error that a panic becomes.
type crash struct{ evidence.Crash }

func (e *crash) Error() string { return "panic at " + e.Site + ": " + e.Message }

// site names the line that panicked; it is called while the panic is being recovered from. "" when there is none.
func site() string {
	const deepest = 64 // a panic's own frames are near the top
	pcs := make([]uintptr, deepest)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	below := false // the frames of the panic
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			below = true
		case below && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// safely runs a decider that looks at the picture, under a key of t. A panic is told and written down, and holds the key back as a failed
// step does: until then nothing is decided under the key. It reports whether fn ran to its end and, when it did not, how long
// until it may run again. A key must not be used for steps that have nothing to do with the decision.
func (c *Controller) safely(t *tasks, key string, w model.World, fn func()) (wait time.Duration, ok bool) {
	if wait = t.tripped(key); wait > 0 {
		return wait, false
	}
	err := caught(func() error { fn(); return nil })
	wait = t.trip(key, err)
	if err == nil {
		return 0, true
	}
	c.crashed(t.name, key, err)
	c.writeDown(w, err)
	return wait, false
}

// crashed tells people of a panic in a loop, about one object when it has a name; other errors have been told by whoever met them.
func (c *Controller) crashed(loop, about string, err error) {
	if e, ok := err.(*crash); ok {
		c.Observe.Crashed(loop, about, e.Crash)
	}
}

// shielded makes a step of a group one that ends nobody else when it panics.
func (c *Controller) shielded(loop string, fn func() error) func() error {
	return func() error {
		err := caught(fn)
		c.crashed(loop, "", err)
		return err
	}
}

// writeDown gives the picture at which a decider panicked to whoever keeps such.
func (c *Controller) writeDown(w model.World, err error) {
	if e, ok := err.(*crash); ok {
		c.Refused(evidence.Case{World: w, Preferences: c.Settings.Preferences, MinValues: c.Settings.MinValues, Crash: &e.Crash, At: c.Now(), Version: c.Version})
	}
}
