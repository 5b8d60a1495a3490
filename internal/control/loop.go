package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/world"
)

// A loop's pass is called when the mirror changed, when a step it started ended, or when the time it asked for has passed.
type loop struct {
	name string
	// pass looks at the world once and starts what is due. It returns when it wants to be called again at the
	// latest; zero means after idle.
	pass func(ctx context.Context) time.Duration
	idle time.Duration
	// about is what the pass depends on: nothing else calls it.
	about world.About
	// moot says that a pass is not worth it although something changed; nil = it always is. Time alone calls the pass all the same.
	moot func(about world.About) bool
}

// settle is how long a loop lets changes gather before it looks: a burst of watch events costs one pass, not hundreds.
const settle = 15 * time.Millisecond

// A pass that panics is held back like a step that failed: the other loops go on, and the process lives.
const (
	crashBase = time.Second
	crashTop  = time.Minute
)

func (c *Controller) run(ctx context.Context, l loop) {
	watch := c.World.Subscribe(l.about)
	defer watch.Stop()
	held := backoff{base: crashBase, top: crashTop}
	for ctx.Err() == nil {
		next, began := l.idle, c.Now()
		watch.Take()
		if c.World.IsSynced() {
			err := caught(func() error {
				if d := l.pass(ctx); d > 0 {
					next = min(d, l.idle)
				}
				return nil
			})
			if err != nil {
				c.crashed(l.name, "", err)
				sleep(ctx, held.next())
				continue
			}
			held.tries = 0
		}
		pause := rest(c.Now().Sub(began))
		c.await(ctx, l, watch, next, pause)
	}
}

// await returns when something changed that the loop depends on, and a pause is over behind that; or after next.
func (c *Controller) await(ctx context.Context, l loop, watch *world.Watch, next, pause time.Duration) {
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-watch.C:
		}
		sleep(ctx, pause)
		if l.moot == nil || !l.moot(watch.Take()) {
			return
		}
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// backoff doubles a delay from base up to top.
type backoff struct {
	base, top time.Duration
	tries     int
}

func (b *backoff) next() time.Duration {
	d := b.top
	if b.tries < 20 { // 2^20 times any base is beyond every top in use
		d = min(b.top, b.base<<b.tries)
	}
	b.tries++
	return d
}

// later is an error that says when to come back, instead of the usual backoff.
type later struct {
	after time.Duration
	err   error
}

func (e *later) Error() string { return e.err.Error() }
func (e *later) Unwrap() error { return e.err }

// tasks runs at most one step per key and at most limit steps at once. A step that failed is held back with a doubling
// delay; one that succeeded for a moment, until the mirror has had time to show what it did.
//
//	idle ──start──▶ busy ──ok────▶ held (echo) ──▶ idle
//	                     └─error─▶ held (backoff) ─▶ idle
type tasks struct {
	name  string
	limit int
	now   func() time.Time
	// crashed is told of steps that panicked; nil = nobody.
	crashed func(loop, about string, err error)

	// mu guards the fields below.
	mu   sync.Mutex
	keys map[string]*task
	busy int
	wg   sync.WaitGroup
}

type task struct {
	busy bool
	held time.Time
	wait backoff
	// What deciding about the key is held back by; see trip.
	tripped time.Time
	trips   backoff
}

// echo is how long a finished step is held back at least. The mirror normally shows its effect within milliseconds; looking
// again earlier would only repeat a step that is harmless but not free.
const echo = 150 * time.Millisecond

const (
	retryBase = 250 * time.Millisecond
	retryTop  = time.Minute
	// forget is after how long without a step a key's backoff is forgotten, so that the table stays small.
	forget = 10 * time.Minute
)

// start runs fn for key unless a step for it is running or held back, or all workers are busy. It reports how long
// until it is worth asking again; zero when fn was started.
func (t *tasks) start(ctx context.Context, key string, fn func(context.Context) error) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.key(key)
	now := t.now()
	if k.busy || t.busy >= t.limit {
		return echo
	}
	if d := k.held.Sub(now); d > 0 {
		return d
	}
	t.prune(now)
	k.busy = true
	t.busy++
	t.wg.Add(1)
	go func() {
		defer t.wg.Done()
		err := caught(func() error { return fn(ctx) })
		if t.crashed != nil {
			t.crashed(t.name, key, err)
		}
		t.finish(k, now, err)
	}()
	return 0
}

// key returns what is known of a key. mu is held.
func (t *tasks) key(name string) *task {
	if t.keys == nil {
		t.keys = map[string]*task{}
	}
	k := t.keys[name]
	if k == nil {
		k = &task{wait: backoff{base: retryBase, top: retryTop}, trips: backoff{base: crashBase, top: crashTop}}
		t.keys[name] = k
	}
	return k
}

// tripped returns for how long nothing may be decided about the key.
func (t *tasks) tripped(name string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.keys[name]; k != nil {
		return k.tripped.Sub(t.now())
	}
	return 0
}

// trip notes how a decision about the key went: an error holds the next one back, with a doubling delay, which it returns.
func (t *tasks) trip(name string, err error) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if k := t.keys[name]; k != nil {
			k.trips.tries = 0
		}
		return 0
	}
	k := t.key(name)
	d := k.trips.next()
	k.tripped = t.now().Add(d)
	return d
}

// finish notes how a step ended that began at a time.
func (t *tasks) finish(k *task, began time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	k.busy = false
	var l *later
	switch {
	case err == nil:
		k.wait.tries = 0
		k.held = t.now().Add(echoOf(t.now().Sub(began)))
	case errors.As(err, &l) && l.after > 0:
		k.held = t.now().Add(l.after)
	default:
		k.held = t.now().Add(k.wait.next())
	}
}

// prune forgets keys long unused. mu is held.
func (t *tasks) prune(now time.Time) {
	const enough = 256
	if len(t.keys) < enough {
		return
	}
	for name, k := range t.keys {
		if !k.busy && now.Sub(k.held) > forget && now.Sub(k.tripped) > forget {
			delete(t.keys, name)
		}
	}
}

func (t *tasks) wait() { t.wg.Wait() }
