package azure

import (
	"context"
	"sync"
	"time"
)

// known is something learnt from Azure that grows old: one call asks at a time, the others wait for its answer, and
// the last good answer is kept when asking fails.
type known[T any] struct {
	ttl  time.Duration
	turn chan struct{} // holds one token; whoever has it may ask

	mu sync.Mutex // mu guards the fields below
	// due is when to ask again; zero = never asked.
	due     time.Time
	value   T
	have    bool
	version uint64 // grows with every good answer
}

// askAgainAfter is how long a failed question rests before it is asked again.
const askAgainAfter = 30 * time.Second

func newKnown[T any](ttl time.Duration) *known[T] {
	k := &known[T]{ttl: ttl, turn: make(chan struct{}, 1)}
	k.turn <- struct{}{}
	return k
}

// last returns the last good answer, whether there is one, and its version.
func (k *known[T]) last() (T, bool, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, k.have, k.version
}

// stale reports whether it is time to ask.
func (k *known[T]) stale(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.due.IsZero() || !now.Before(k.due)
}

// soon brings the next question forward to at most d from now.
func (k *known[T]) soon(now time.Time, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at := now.Add(d); k.due.After(at) {
		k.due = at
	}
}

// get returns the answer, asking when it is stale or when there never was one. An old answer is better than none: it fails only when there never
// was one.
func (k *known[T]) get(ctx context.Context, now func() time.Time, ask func(context.Context) (T, error)) (T, error) {
	if v, ok, _ := k.last(); ok && !k.stale(now()) {
		return v, nil
	}
	err := k.refresh(ctx, now, ask)
	v, ok, _ := k.last()
	if ok {
		return v, nil
	}
	return v, err
}

// refresh asks if the answer is still stale once it is our turn.
func (k *known[T]) refresh(ctx context.Context, now func() time.Time, ask func(context.Context) (T, error)) error {
	select {
	case <-k.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { k.turn <- struct{}{} }()
	if _, ok, _ := k.last(); ok && !k.stale(now()) {
		return nil
	}
	v, err := ask(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.due = now().Add(askAgainAfter)
		return err
	}
	k.value, k.have, k.due = v, true, now().Add(k.ttl)
	k.version++
	return nil
}
