package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// bootLog is a machine's console: bounded, readable after the machine is gone.
type bootLog struct {
	machine string
	to      *slog.Logger

	mu    sync.Mutex // guards the fields below
	lines []bootLine
}

type bootLine struct {
	at    time.Time
	text  string
	times int
}

// say writes a line. A line equal to the one before is counted, not repeated: a machine that cannot join tries for ever.
func (b *bootLog) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.mu.Lock()
	if n := len(b.lines); n > 0 && b.lines[n-1].text == text {
		b.lines[n-1].times++
		b.mu.Unlock()
		return
	}
	if len(b.lines) >= logLines {
		b.lines = slices.Delete(b.lines, 0, 1)
	}
	b.lines = append(b.lines, bootLine{at: time.Now(), text: text, times: 1})
	b.mu.Unlock()
	b.to.LogAttrs(context.Background(), slog.LevelDebug, text, slog.String("machine", b.machine))
}

// read returns the lines as people see them.
func (b *bootLog) read() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, l := range b.lines {
		s := l.at.UTC().Format("15:04:05.000") + " " + l.text
		if l.times > 1 {
			s += fmt.Sprintf(" (%d times)", l.times)
		}
		out = append(out, s)
	}
	return out
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
