package control

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/internal/buffer"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// bufferEvery is how often the status of buffers is worked out at most: it asks where their pods would go now, which
// changes with every pod that comes or goes.
const bufferEvery = 2 * time.Second

// bufferStatus keeps the status of buffers up to date. The pods that stand for their room are in every picture; buying it
// is the provisioner's work.
type bufferStatus struct {
	*Controller
	last time.Time
}

func (c *Controller) buffers() *bufferStatus { return &bufferStatus{Controller: c} }

func (b *bufferStatus) pass(ctx context.Context) time.Duration {
	w := b.World.Snapshot()
	if len(w.Buffers) == 0 {
		return 0
	}
	now := b.Now()
	if age := now.Sub(b.last); age >= 0 && age < bufferEvery {
		return bufferEvery - age
	}
	b.last = now
	var room map[model.PodKey]buffer.Room
	next, ok := b.safely(&b.others, "buffer/room", w, func() { room = roomOf(b.plans.fits(w)) })
	if !ok {
		return next
	}
	for _, x := range w.Buffers {
		shape := buffer.Resolve(x, w.Templates)
		if !shape.Ours {
			continue
		}
		s := buffer.Describe(x, shape, room[x.Key()])
		p := kube.BufferPatch{Conditions: model.Changed(x.Conditions, s.Conditions, now)}
		if x.StatusReplicas == nil || *x.StatusReplicas != s.Replicas || x.StatusTemplate != s.Template ||
			x.StatusTemplateGeneration != s.TemplateGeneration || x.StatusStrategy != s.Strategy {
			p.Resolved = &kube.BufferResolved{Replicas: s.Replicas, Template: s.Template, TemplateGeneration: s.TemplateGeneration, Strategy: s.Strategy}
		}
		if len(p.Conditions) == 0 && p.Resolved == nil {
			continue
		}
		next = sooner(next, b.put(ctx, "buffer/"+x.Key().String(), x, p.Conditions, p.Resolved, func(ctx context.Context) error {
			return b.Store.PatchBuffer(ctx, x.Key(), p)
		}))
	}
	return next
}

// roomOf counts, per buffer, how many of its pods are among those that fit on what is paid for, behind every real pod that waits.
func roomOf(fits []place.Nomination) map[model.PodKey]buffer.Room {
	out := map[model.PodKey]buffer.Room{}
	for _, f := range fits {
		key, ok := buffer.Of(f.Pod)
		if !ok {
			continue
		}
		r := out[key]
		if f.Node != "" {
			r.Nodes++
		} else {
			r.OnTheWay++
		}
		out[key] = r
	}
	return out
}

// told returns the plan as people hear of it: virtual pods are nobody to talk to.
func told(p place.Plan) place.Plan {
	virtual := func(k model.PodKey) bool { _, ok := buffer.Of(k); return ok }
	real := p
	real.Existing, real.Unscheduled, real.NewClaims = nil, nil, nil
	for _, f := range p.Existing {
		if !virtual(f.Pod) {
			real.Existing = append(real.Existing, f)
		}
	}
	for _, l := range p.Unscheduled {
		if !virtual(l.Pod) {
			real.Unscheduled = append(real.Unscheduled, l)
		}
	}
	for _, b := range p.NewClaims {
		var pods []model.PodKey
		for _, k := range b.Pods {
			if !virtual(k) {
				pods = append(pods, k)
			}
		}
		b.Pods = pods
		real.NewClaims = append(real.NewClaims, b)
	}
	return real
}
