package control

import (
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

// joins remembers what became of the last machines of each pool. The zero value is ready for use.
type joins struct {
	mu sync.Mutex              // guards the field below
	of map[string]*ready.Joins // by UID of the pool
}

func (j *joins) pool(uid string) *ready.Joins {
	if j.of == nil {
		j.of = map[string]*ready.Joins{}
	}
	if j.of[uid] == nil {
		j.of[uid] = &ready.Joins{}
	}
	return j.of[uid]
}

// note takes in what a step that was done says about the machine of its claim.
func (j *joins) note(v lifecycle.View, step lifecycle.Step) {
	reason, message, ended := lifecycle.Joined(v.Claim, step)
	if !ended || v.Pool == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pool(v.Pool.UID).Add(ready.Join{Made: v.Claim.Created, Reason: reason, Message: message})
}

// condition is what the pool says of its machines, and whether it is another pool than that which the old one was about.
func (j *joins) condition(p model.Pool, class *model.Class, now time.Time) (is model.Condition, anew bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lately, anew := j.pool(p.UID), ready.Changed(p, class)
	if anew {
		lately.Anew(now)
	}
	return ready.Registration(p, class, *lately), anew
}

// keep forgets pools that are gone.
func (j *joins) keep(pools []model.Pool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.of) <= len(pools) {
		return
	}
	there := make(map[string]bool, len(pools))
	for i := range pools {
		there[pools[i].UID] = true
	}
	for uid := range j.of {
		if !there[uid] {
			delete(j.of, uid)
		}
	}
}
