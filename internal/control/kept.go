package control

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/model"
)

// prunedFor is how long a write that the API server did not keep whole is not made again as long as it is the same. A CRD that is older than
// we are prunes the fields that it does not know, so that the difference which asked for the write stays. When the CRD is replaced, nobody tells us:
// the controller has no right to read CRDs.
const prunedFor = 10 * time.Minute

// maxPruned bounds what is remembered of them; beyond it all is forgotten, and learnt again by one write each.
const maxPruned = 10_000

// prunes remembers the writes that were not kept whole. Lost on restart at the cost of one write each.
type prunes struct {
	mu   sync.Mutex // guards the field below
	last map[string]prune
}

type prune struct {
	what   string // the write
	until  time.Time
	about  model.Object
	fields []string
}

// rest is how long the write is not to be made.
func (p *prunes) rest(key, what string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.last[key]; ok && last.what == what {
		return max(0, last.until.Sub(now))
	}
	return 0
}

// note remembers how a write went; nothing is remembered of one that was kept whole.
func (p *prunes) note(key string, w prune) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(w.fields) == 0 {
		delete(p.last, key)
		return
	}
	if p.last == nil || len(p.last) >= maxPruned {
		p.last = map[string]prune{}
	}
	p.last[key] = w
}

// all lists what is not kept, in no order. What is due for long and was not written again belongs to an object that is gone.
func (p *prunes) all(now time.Time) []observe.Pruned {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []observe.Pruned
	for key, w := range p.last {
		if now.Sub(w.until) > prunedFor {
			delete(p.last, key)
			continue
		}
		out = append(out, observe.Pruned{About: w.about, Fields: w.fields})
	}
	return out
}

// put makes one write of an object's status, unless the very same was not kept a while ago. patch is what is written, with the conditions
// apart: the time of their change is no part of what they say.
func (c *Controller) put(ctx context.Context, key string, about model.Object, conditions []model.Condition, patch any, write func(context.Context) error) time.Duration {
	what := digest(conditions, patch)
	if d := c.pruned.rest(key, what, c.Now()); d > 0 {
		return d
	}
	return c.others.start(ctx, key, func(ctx context.Context) error {
		return c.kept(key, what, about, write(ctx))
	})
}

// kept takes note of what the API server did not keep of a write, which is no failure.
func (c *Controller) kept(key, what string, about model.Object, err error) error {
	var e *kube.Error
	switch {
	case kube.CodeOf(err) == kube.NotFound:
		err = nil
		c.pruned.note(key, prune{})
	case kube.CodeOf(err) == kube.Pruned && errors.As(err, &e):
		c.pruned.note(key, prune{what: what, until: c.Now().Add(prunedFor), about: about, fields: e.More})
		c.Observe.NotKept(observe.Pruned{About: about, Fields: e.More})
		err = nil
	case err == nil:
		c.pruned.note(key, prune{})
	}
	return err
}

// digest is the same for writes that say the same.
func digest(conditions []model.Condition, patch any) string {
	said := make([]model.Condition, len(conditions))
	for i, x := range conditions {
		x.Since = time.Time{}
		said[i] = x
	}
	text, err := json.Marshal([]any{said, patch})
	if err != nil {
		return "" // never: these are plain values
	}
	return string(text)
}
