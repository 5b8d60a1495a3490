package memkube

import (
	"context"
	"reflect"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// FollowLimit bounds how many changes wait for one slow follower. Beyond it the watch is cut, as the API server does with
// watchers that do not keep up.
const FollowLimit = 100_000

// follower is one running Follow: changes that its sink has not been told yet.
type follower struct {
	queue []model.Change
	wake  chan struct{} // capacity 1: something to tell, or cut
	cut   error
}

func (f *follower) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// tell queues a change for every follower. Callers hold mu.
func (s *Store) tell(c model.Change) {
	s.version++
	for f := range s.followers {
		if len(f.queue) >= FollowLimit {
			f.cut = kube.Errorf(kube.Unavailable, "follow: %d changes behind", FollowLimit)
		} else {
			f.queue = append(f.queue, c)
		}
		f.nudge()
	}
}

// keep stores the object and tells it, unless it is what is there already: the API server tells no change that changes
// nothing. Callers hold mu.
func keep[T model.Object](s *Store, m map[string]T, o T) {
	if old, ok := m[o.ObjectKey()]; ok && reflect.DeepEqual(old, o) {
		return
	}
	m[o.ObjectKey()] = o
	s.tell(model.Change{Object: o})
}

// Follow implements kube.Store. The sink is called on the caller's goroutine.
func (s *Store) Follow(ctx context.Context, sink kube.Sink) error {
	f := &follower{wake: make(chan struct{}, 1)}
	var first []model.Change
	err := s.do(ctx, OpFollow, func() error {
		first = s.everything()
		s.followers[f] = true
		return nil
	})
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, f)
	}()
	sink.Begin()
	for _, c := range first {
		sink.Apply(c)
	}
	sink.Synced()
	f.nudge()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		}
		batch, err := s.take(f)
		for _, c := range batch {
			sink.Apply(c)
		}
		if err != nil {
			return err
		}
	}
}

// take empties the follower's queue, unless the watch is held.
func (s *Store) take(f *follower) ([]model.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.cut != nil {
		return nil, f.cut // what was queued is lost, as with a broken connection
	}
	if s.held {
		return nil, nil
	}
	batch := f.queue
	f.queue = nil
	return batch, nil
}

// everything lists all objects, by kind and key.
func (s *Store) everything() []model.Change {
	var out []model.Change
	out = list(out, s.pools)
	out = list(out, s.classes)
	out = list(out, s.claims)
	out = list(out, s.nodes)
	out = list(out, s.pods)
	out = list(out, s.daemons)
	out = list(out, s.budgets)
	out = list(out, s.attachments)
	out = list(out, s.namespaces)
	out = list(out, s.volumeClaims)
	out = list(out, s.volumes)
	out = list(out, s.storageClasses)
	out = list(out, s.csiNodes)
	out = list(out, s.overlays)
	out = list(out, s.buffers)
	out = list(out, s.unserved)
	return list(out, s.templates)
}

func list[T model.Object](out []model.Change, m map[string]T) []model.Change {
	for _, key := range sorted(m) {
		out = append(out, model.Change{Object: m[key]})
	}
	return out
}
