package apikube

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// part is one request of a patch: a change of the object's status, or of everything else.
type part[O client.Object] struct {
	status bool
	edit   func(O)
}

// patch reads the object, lets each part edit it in turn, and sends what changed and nothing else, if anything did. It
// sends on the condition that nobody else changed the object since it was read, because lists are replaced whole; otherwise it reads
// and edits again, at most Attempts times in all. O must come with its name set; when uid is set and the object is another, it
// is NotFound. Pruned comes last, when everything was sent. A part that was sent stays sent when a later one fails: callers order parts so that this is safe.
func patch[O client.Object](ctx context.Context, s *Store, o O, uid string, parts []part[O]) error {
	key, kind := client.ObjectKeyFromObject(o), kindOf(o)
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	fresh := false
	var lost []string
	for _, p := range parts {
		for attempt := 1; ; attempt++ {
			if !fresh {
				if err := s.get(ctx, key, o); err != nil {
					return wrap(err, "patch %s %s", kind, key.Name)
				}
				fresh = true
			}
			if uid != "" && o.GetUID() != types.UID(uid) {
				return kube.Errorf(kube.NotFound, "patch %s %s: it is another object of that name", kind, key.Name)
			}
			fields, err := send(ctx, s, o, p)
			lost = append(lost, fields...)
			if err == nil {
				break // the answer is the object as it is now
			}
			fresh = false
			if codeOf(err) != kube.Conflict || attempt == Attempts {
				return wrap(err, "patch %s %s", kind, key.Name)
			}
			if err := pause(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
				return wrap(err, "patch %s %s", kind, key.Name)
			}
		}
	}
	if len(lost) > 0 {
		return &kube.Error{Code: kube.Pruned, More: lost, Err: fmt.Errorf("patch %s %s: the API server did not keep %s", kind, key.Name, strings.Join(lost, ", "))}
	}
	return nil
}

// send edits o and sends the difference. It returns the fields that the API server did not keep.
func send[O client.Object](ctx context.Context, s *Store, o O, p part[O]) ([]string, error) {
	base, ok := o.DeepCopyObject().(O)
	if !ok {
		return nil, kube.Errorf(kube.Unknown, "a copy of %s is no %[1]s", kindOf(o))
	}
	p.edit(o)
	if data, err := client.MergeFrom(base).Data(o); err != nil || string(data) == "{}" {
		return nil, err
	}
	how := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if c, ok := s.custom(o); ok {
		data, err := how.Data(o)
		if err != nil {
			return nil, err
		}
		return c.patch(ctx, o, data, p.status)
	}
	if p.status {
		return nil, s.client.Status().Patch(ctx, o, how)
	}
	return nil, s.client.Patch(ctx, o, how)
}

func (s *Store) get(ctx context.Context, key client.ObjectKey, o client.Object) error {
	if c, ok := s.custom(o); ok {
		return c.get(ctx, key, o)
	}
	return s.client.Get(ctx, key, o)
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
