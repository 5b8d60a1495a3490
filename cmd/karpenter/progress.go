package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a command works before it says on a terminal what it does.
const patience = 2 * time.Second

// progress tells people what a command that takes long is doing.
type progress struct {
	mu    sync.Mutex
	to    io.Writer
	doing string
	late  bool
	timer *time.Timer
}

// newProgress tells on the terminal behind w, and nobody when w is none.
func newProgress(w io.Writer) *progress {
	if _, shown := screenOf(w); !shown {
		w = io.Discard
	}
	return progressTo(w, patience)
}

func progressTo(w io.Writer, patience time.Duration) *progress {
	p := &progress{to: w}
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.late = true
		p.tell()
	})
	return p
}

// say notes what is done from now on. Nil says nothing.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = fmt.Sprintf(format, args...)
	if p.late {
		p.tell()
	}
}

func (p *progress) tell() {
	if p.doing != "" {
		fmt.Fprintf(p.to, "karpenter: %s ...\n", p.doing)
	}
}

// end is called when the command has its answer.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.doing = ""
}
