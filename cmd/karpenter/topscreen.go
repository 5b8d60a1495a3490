package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/karpenter-aks/karpenter/internal/top"
)

const (
	// redraw is how often the screen is looked at at most, when nobody presses a key: size, news, ages.
	redraw = 250 * time.Millisecond
	// Of a terminal: the other screen and back, the cursor away and back. Source: xterm's list of control sequences.
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	// interrupted is the exit code after Ctrl-C: that of shells for programs that SIGINT ended.
	interrupted = 128 + 2
)

// watch shows a screen until the person has seen enough. The terminal is as it was before, whatever happens.
func watch(ctx context.Context, s *screen, in *os.File) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("keys cannot be read, because standard input is no terminal (--once prints one picture): %w", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(in.Fd()), was)) }()
	if _, err := io.WriteString(s.out, enterScreen); err != nil {
		return err
	}
	defer func() { _, e := io.WriteString(s.out, leaveScreen); err = errors.Join(err, e) }()

	s.answers, s.outcomes = make(chan answered, 1), make(chan outcome, 1)
	defer s.commands.Wait() // ctx has ended by then, and them
	defer stop()
	s.seen.show(ctx, s.state)
	keys := make(chan []top.Key)
	go readKeys(ctx, in, keys)
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for !s.state.Done() {
		s.ask(ctx)
		s.obey(ctx)
		if err := s.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case list, ok := <-keys:
			if !ok {
				return nil // the terminal is gone
			}
			for _, k := range list {
				s.state.Press(k)
			}
		case a := <-s.answers:
			s.asking = false
			s.state.Answer(a.about, a.text)
		case o := <-s.outcomes:
			s.obeying = false
			s.state.Did(o.sentence, o.failed)
		case <-tick.C:
			s.look(ctx)
		}
	}
	if s.state.Interrupted() {
		return exit{code: interrupted}
	}
	return nil
}

// screen is what is looked at, and what was drawn.
type screen struct {
	out   *os.File
	state *top.State
	seen  *watched
	keys  keyFile

	last    string
	asking  bool
	answers chan answered

	obeying  bool
	outcomes chan outcome
	commands sync.WaitGroup
}

// look takes what is new, if anything is.
func (s *screen) look(ctx context.Context) {
	c := s.seen.cluster
	if c == nil {
		return
	}
	s.state.Tick(time.Now())
	if c.changed() {
		s.seen.show(ctx, s.state)
	}
}

// changed reports whether there is something new since the last call.
func (c *topCluster) changed() bool {
	c.mu.Lock()
	told := len(c.events) > 0 || c.said
	c.mu.Unlock()
	select {
	case <-c.news.C:
		c.news.Take()
		return true
	default:
		return told || !c.mirror.IsSynced()
	}
}

// ask asks the deciders beside the screen, one thing at a time.
func (s *screen) ask(ctx context.Context) {
	x, ok := s.state.Wanted()
	if !ok || s.asking {
		return
	}
	s.asking = true
	seen, to := s.seen, s.answers
	go func() { to <- why(seen.asked(ctx), seen.gates, x) }()
}

// obey runs what was ordered beside the screen, one thing at a time.
func (s *screen) obey(ctx context.Context) {
	o, ok := s.state.Ordered()
	if !ok || s.obeying {
		return
	}
	s.obeying = true
	to := s.outcomes
	s.commands.Go(func() { to <- s.keys.run(ctx, o, s.seen.flags.live.kubeconfig) })
}

// draw writes the screen anew if it differs from what is there.
func (s *screen) draw() error {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil {
		return fmt.Errorf("ask the terminal for its size: %w", err)
	}
	frame := top.Frame(s.state, width, height)
	now := fmt.Sprint(width, "x", height, "\n", frame)
	if now == s.last {
		return nil
	}
	s.last = now
	// A line is wiped before it is written: after a full line the terminal would wipe its last letter.
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range strings.Split(frame, "\n") {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("\x1b[2K" + line)
	}
	_, err = io.WriteString(s.out, b.String())
	return err
}

// readKeys reads what the person presses, until the terminal is gone. A read cannot be ended; the process does that.
func readKeys(ctx context.Context, in io.Reader, to chan<- []top.Key) {
	defer close(to)
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case to <- top.Keys(buf[:n]):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
