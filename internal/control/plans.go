package control

import (
	"sync"
	"weak"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// plans holds what was planned for the waiting pods of the picture that was asked about last. Deciders are pure, so
// loops that look at one picture need one plan of a kind between them: what fits on what is there, for who asks which
// nodes pods are expected on and what room buffers have; and the whole plan, for a provisioner that looks again when
// nothing has changed. A picture is told from others by its index, of which the mirror makes one for each; it is not
// kept alive by being known here.
type plans struct {
	// ask makes the plan of what fits; place.Fits but in tests.
	ask func(model.World) []place.Nomination

	// mu guards the fields below. It is held while ask works: who asks meanwhile wants the same answer.
	mu     sync.Mutex
	of     weak.Pointer[model.Index]
	fit    []place.Nomination
	fitted bool
	plan   *place.Plan
}

// about forgets what was planned for another picture; a world without an index is always another. The caller holds mu.
func (p *plans) about(w model.World) {
	if of := weak.Make(w.Index); of != p.of || w.Index == nil {
		p.of, p.fit, p.fitted, p.plan = of, nil, false, nil
	}
}

// fits is place.Fits, worked out once for a picture of the mirror. Nobody may change what it returns.
func (p *plans) fits(w model.World) []place.Nomination {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about(w)
	if !p.fitted {
		p.fit = p.ask(w)
		p.fitted = true
	}
	return p.fit
}

// whole is the sound plan that was kept for the picture.
func (p *plans) whole(w model.World) (plan place.Plan, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about(w)
	if p.plan == nil {
		return place.Plan{}, false
	}
	return *p.plan, true
}

// keep keeps a sound plan for all that wait, unless it buys: then the picture is another as soon as it is carried out.
func (p *plans) keep(w model.World, plan place.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about(w)
	if len(plan.NewClaims) == 0 {
		p.plan = &plan
	}
}
