package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/world"
)

// A loop's pass is called when the mirror changed, when the time it asked for has passed, or when a step that it started failed and may be tried again.
type loop struct {
	name string
	// pass looks at the world once and starts what is due. It returns when it wants to be called again at the
	// latest; zero means after idle.
	pass func(ctx context.Context) time.Duration
	idle time.Duration
	// about is what the pass depends on: nothing else calls it.
	about world.About
	// worth says what of the news is worth a look; nil = all. Time alone calls the pass all the same.
	worth func(about world.About) world.About
	// patient is what may wait for patience, and then be looked at together.
	patient  world.About
	patience time.Duration
	// part is called in place of pass when nothing changed but what is in parts: it looks at what the news names, and at what is due.
	// It returns when it, or pass, wants to be called again at the latest. Once in idle everything is looked at all the same.
	part  func(ctx context.Context, news world.News) time.Duration
	parts world.About
}

// look looks at everything, or at what the news names.
func (l *loop) look(ctx context.Context, news world.News, all bool) time.Duration {
	if all || l.part == nil {
		return l.pass(ctx)
	}
	return l.part(ctx, news)
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
	if l.worth == nil {
		l.worth = func(all world.About) world.About { return all }
	}
	again := make(chan struct{}, 1)
	ctx = withAgain(ctx, again)
	var news world.News
	var whole time.Time // when everything was looked at last; zero = it must be
	for ctx.Err() == nil {
		next, began := l.idle, c.Now()
		news.Add(watch.Take())
		if c.World.IsSynced() {
			all := whole.IsZero() || began.Sub(whole) >= l.idle || news.About&^l.parts != 0
			err := caught(func() error {
				if d := l.look(ctx, news, all); d > 0 {
					next = min(d, l.idle)
				}
				return nil
			})
			c.Observe.Looked(l.name, c.Now().Sub(began))
			if err != nil {
				c.crashed(l.name, "", err)
				whole = time.Time{}
				sleep(ctx, held.next())
				continue
			}
			if held.tries = 0; all {
				whole = began
			}
		}
		pause := rest(c.Now().Sub(began))
		news = c.await(ctx, l, watch, again, next, pause)
	}
}

// againKey is the key of a context's channel that takes a note when a step failed and may be tried again.
type againKey struct{}

func withAgain(ctx context.Context, again chan<- struct{}) context.Context {
	return context.WithValue(ctx, againKey{}, again)
}

// askAgain has the loop whose context it is called again after a while. A step that failed changes nothing in the mirror that would call it.
func askAgain(ctx context.Context, after time.Duration) {
	again, _ := ctx.Value(againKey{}).(chan<- struct{})
	if again == nil {
		return
	}
	time.AfterFunc(after, func() {
		select {
		case again <- struct{}{}:
		default: // it will be called
		}
	})
}

// await returns when something changed that the loop depends on, or again has a note, and a pause is over behind that; or after next. It says what changed:
// everything, where steps are to be tried again.
func (c *Controller) await(ctx context.Context, l loop, watch *world.Watch, again <-chan struct{}, next, pause time.Duration) (news world.News) {
	timer := time.NewTimer(next)
	defer timer.Stop()
	var gathered <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return news
		case <-timer.C:
			return news
		case <-again:
			sleep(ctx, pause)
			news.Add(watch.Take())
			news.About |= l.about
			return news
		case <-gathered:
			gathered = nil
			if l.worth(news.About) != 0 {
				return news
			}
			news = world.News{}
			continue
		case <-watch.C:
			sleep(ctx, pause)
			news.Add(watch.Take())
		}
		if news.About&^l.patient != 0 {
			news.About = l.worth(news.About)
		}
		switch {
		case news.About&^l.patient != 0:
			return news
		case news.About != 0 && gathered == nil:
			gathered = time.After(l.patience)
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
	// count is told of steps that begin and end; nil = nobody.
	count *observe.Steps
	// failed is told for how long a step that failed is held back; nil = the loop that started it is called again then.
	failed func(key string, held time.Duration)

	// mu guards the fields below.
	mu   sync.Mutex
	keys map[string]*task
	busy int
	wg   sync.WaitGroup
}

type task struct {
	busy  bool
	began time.Time // of the step that is running
	// waits is since when it was asked for and no worker was free, asked when it was last; both zero when it need not wait.
	waits, asked time.Time
	held         time.Time
	wait         backoff
	// last is the step that succeeded last, where it has a name; it is not repeated before again, each time later.
	last  string
	again time.Time
	echo  backoff
	// What deciding about the key is held back by; see trip.
	tripped time.Time
	trips   backoff
}

// echo is how long a finished step is held back at least. The mirror normally shows its effect within milliseconds; looking
// again earlier would only repeat a step that is harmless but not free.
const echo = 150 * time.Millisecond

// A step that succeeded and is asked for again has not shown its effect: the mirror lags behind a busy API server, and the same writes once more are
// what it needs least.
const (
	againBase = 500 * time.Millisecond
	againTop  = 10 * time.Second
)

const (
	retryBase = 250 * time.Millisecond
	retryTop  = time.Minute
	// forget is after how long without a step a key's backoff is forgotten, so that the table stays small.
	forget = 10 * time.Minute
)

// start runs fn for key unless a step for it is running or held back, or all workers are busy. It reports how long
// until it is worth asking again; zero when fn was started.
func (t *tasks) start(ctx context.Context, key string, fn func(context.Context) error) time.Duration {
	return t.step(ctx, key, "", fn)
}

// step is start for a step with a name: after success it is repeated later and later, until another one succeeded.
func (t *tasks) step(ctx context.Context, key, name string, fn func(context.Context) error) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.key(key)
	now := t.now()
	if k.busy {
		return echo
	}
	if d := k.held.Sub(now); d > 0 {
		return d
	}
	if d := k.again.Sub(now); d > 0 && name != "" && name == k.last {
		return d
	}
	if t.busy >= t.limit {
		if k.waits.IsZero() {
			k.waits = now
		}
		k.asked = now
		return echo
	}
	t.prune(now)
	k.busy, k.began = true, now
	t.busy++
	t.wg.Add(1)
	t.begun(k, now)
	go func() {
		defer t.wg.Done()
		err := caught(func() error { return fn(ctx) })
		if t.crashed != nil {
			t.crashed(t.name, key, err)
		}
		held := t.finish(k, name, now, err)
		switch {
		case err == nil:
		case t.failed != nil:
			t.failed(key, held)
		default:
			askAgain(ctx, held)
		}
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

// finish notes how a step ended that began at a time, and returns for how long the next one is held back.
func (t *tasks) finish(k *task, name string, began time.Time, err error) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	k.busy = false
	t.ended(began, err)
	var l *later
	switch {
	case err == nil:
		k.wait.tries = 0
		k.held = t.now().Add(echoOf(t.now().Sub(began)))
		if name != k.last || t.now().Sub(k.again) > againTop { // long ago it was another matter
			k.last, k.echo = name, backoff{base: againBase, top: againTop}
		}
		k.again = t.now().Add(k.echo.next())
	case errors.As(err, &l) && l.after > 0:
		k.held = t.now().Add(l.after)
	default:
		k.held = t.now().Add(k.wait.next())
	}
	return k.held.Sub(t.now())
}

// prune forgets keys long unused. mu is held.
func (t *tasks) prune(now time.Time) {
	const enough = 256
	if len(t.keys) < enough {
		return
	}
	for name, k := range t.keys {
		if !k.busy && now.Sub(k.held) > forget && now.Sub(k.tripped) > forget && now.Sub(k.asked) > forget {
			delete(t.keys, name)
		}
	}
}

func (t *tasks) wait() { t.wg.Wait() }

// staleWait is how long after it was asked for last a step that found no worker counts as waiting.
const staleWait = time.Second

// begun counts a step that begins. mu is held.
func (t *tasks) begun(k *task, now time.Time) {
	waited := time.Duration(0)
	if !k.waits.IsZero() {
		waited = now.Sub(k.waits)
	}
	k.waits, k.asked = time.Time{}, time.Time{}
	if t.count != nil {
		t.count.Begun(waited)
	}
}

// ended counts a step that ended. One that only says when to come back has not failed. mu is held.
func (t *tasks) ended(began time.Time, err error) {
	if t.count != nil {
		t.count.Ended(t.now().Sub(began), err != nil && !errors.Is(err, errFresh))
	}
}

// load is what is under way and what waits.
func (t *tasks) load() observe.Load {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, now := observe.Load{Busy: t.busy}, t.now()
	for _, k := range t.keys {
		switch {
		case k.busy:
			age := now.Sub(k.began)
			x.Together, x.Oldest = x.Together+age, max(x.Oldest, age)
		case !k.asked.IsZero() && now.Sub(k.asked) < staleWait:
			x.Waiting++
		}
	}
	return x
}
