package disrupt

import (
	"fmt"
	"strconv"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// reason is why a node stays, in words too where the reason alone does not tell, and after how long
// time alone may change that (zero: never). The zero value says that nothing keeps it.
type reason struct {
	why    model.Why
	detail string
	after  time.Duration
}

// stays says why an empty node would stay, as far as budgets aside. The first reason found is given;
// reasons that people can do something about come before those that pass by themselves.
func (s *picture) stays(x *candidate) reason {
	r := s.tied(x)
	switch {
	case r.why != "":
		return r
	case x.pool.Replicas != nil:
		return reason{why: model.WhyStaticPool}
	}
	r = s.paused(x, budget.Empty)
	switch {
	case r.why != "":
		return r
	case x.pool.ConsolidateAfter == nil:
		return never(x.pool)
	}
	return s.allowed(x)
}

// allowed looks at what people ask for, then at the pods, then at what passes with time.
func (s *picture) allowed(x *candidate) reason {
	r := s.protected(x)
	if r.why != "" {
		return r
	}
	if x.there.Tenants > 0 {
		return reason{why: model.WhyNotEmpty, detail: "pods that need a place: " +
			strconv.Itoa(x.there.Tenants) + ", such as " + x.there.Tenant.Key().String()}
	}
	r = s.pods(x)
	if r.why != "" {
		return r
	}
	if s.replacing[x.claim.Name] {
		return boughtForMove()
	}
	return s.quiet(x)
}

// tied looks at what keeps a node whatever it would leave for.
func (s *picture) tied(x *candidate) reason {
	switch {
	case x.leaves():
		return reason{why: model.WhyAlreadyLeaving}
	case x.pool == nil:
		return reason{why: model.WhyNoPool}
	case !x.claim.Is(model.Initialized) || x.node.Name == "":
		return reason{why: model.WhyNotInitialized}
	}
	return s.sick(x)
}

// sick says what becomes of a node that is unhealthy, where such nodes are replaced.
func (s *picture) sick(x *candidate) reason {
	if !s.Repair {
		return reason{}
	}
	ill, ok := outage.SicknessOf(x.node)
	if !ok {
		return reason{}
	}
	full := s.wards.Full(x.claim.Pool)
	if full != "" && !ill.Due.After(s.Now) {
		return reason{model.WhyRepairBlocked, full, outage.RepairAgain}
	}
	return reason{why: model.WhyUnhealthy, detail: fmt.Sprintf(
		"its condition %s is %s; it is replaced at %s if that lasts", ill.Condition, ill.Status,
		ill.Due.UTC().Format(time.RFC3339))}
}

// protected looks at what people ask for on the claim and on the node.
func (s *picture) protected(x *candidate) reason {
	who := ""
	switch {
	case x.claim.Annotations[model.AnnotationDoNotDisrupt] == "true":
		who = "NodeClaim"
	case x.node.Annotations[model.AnnotationDoNotDisrupt] == "true":
		who = "node"
	default:
		return reason{}
	}
	return reason{why: model.WhyDoNotDisrupt,
		detail: "the " + who + " is annotated " + model.AnnotationDoNotDisrupt}
}

// pods looks for pods that may not be moved, or not yet. Daemons and static pods may ask to be left alone like any other.
func (s *picture) pods(x *candidate) reason {
	for _, p := range x.there.Pods {
		if p.Terminal || p.Deleting() {
			continue
		}
		if p.DoNotDisrupt != "" {
			s.out.Asking = append(s.out.Asking, p.Key())
		}
		until, forever, _ := p.Protected()
		if forever {
			return reason{why: model.WhyDoNotDisrupt,
				detail: fmt.Sprintf("pod %s is annotated %s", p.Key(), model.AnnotationDoNotDisrupt)}
		}
		if until.After(s.Now) {
			return reason{model.WhyDoNotDisrupt, fmt.Sprintf("pod %s is annotated %s for %s",
				p.Key(), model.AnnotationDoNotDisrupt, until.Sub(p.Started)), until.Sub(s.Now)}
		}
		_, evicted := model.Untolerated(
			[]model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}},
			p.Tolerations,
		)
		if !evicted || p.Mirror {
			continue
		}
		text := s.guarded(p)
		if text != "" {
			return reason{why: model.WhyPDB, detail: text}
		}
	}
	return reason{}
}

// guarded says which disruption budget does not let the pod go, "" when it may go. The eviction API refuses pods with more than one budget.
func (s *picture) guarded(p *model.Pod) string {
	list := s.guards[p.Key()]
	for _, b := range list {
		if b.Allowed <= 0 && (!b.AlwaysAllowUnready || p.PodReady) {
			return fmt.Sprintf("budget %s/%s does not let pod %s go", b.Namespace, b.Name, p.Key())
		}
	}
	if len(list) > 1 {
		a, b := list[0], list[1]
		return fmt.Sprintf(
			"pod %s has more than one budget, %s/%s and %s/%s: no eviction is allowed",
			p.Key(), a.Namespace, a.Name, b.Namespace, b.Name)
	}
	return ""
}

// boughtForMove keeps a node that pods are to come to.
func boughtForMove() reason {
	return reason{why: model.WhyReceiving,
		detail: "it was bought for pods of nodes that are about to leave"}
}

// never keeps the nodes of a pool that does not want them to leave for money.
func never(p *model.Pool) reason {
	return reason{why: model.WhyConsolidateNever,
		detail: "NodePool " + p.Name + " has consolidateAfter Never"}
}

// keptFree keeps a node that a pod is about to be bound to.
func (s *picture) keptFree(x *candidate) reason {
	k, ok := s.nominated[x.node.Name]
	if !ok {
		return reason{}
	}
	return reason{why: model.WhyNominated, detail: "kube-scheduler keeps room here for " + k.String()}
}

// quiet looks at what passes with time.
func (s *picture) quiet(x *candidate) reason {
	r := s.keptFree(x)
	if r.why != "" {
		return r
	}
	// The condition is the published answer; the clock is asked again because a pod may have come since it was written.
	init, _ := model.FindCondition(x.claim.Conditions, model.Initialized)
	quiet := init.Since
	if x.claim.LastPodEvent.After(quiet) {
		quiet = x.claim.LastPodEvent
	}
	end := quiet.Add(*x.pool.ConsolidateAfter)
	if end.After(s.Now) {
		return reason{why: model.WhyConsolidateAfter, after: end.Sub(s.Now)}
	}
	if !x.claim.Is(model.Consolidatable) {
		return reason{why: model.WhyConsolidateAfter}
	}
	return s.awaited(x)
}

// awaited asks whether waiting pods are expected on the node. It is dear to ask, and so the last question.
func (s *picture) awaited(x *candidate) reason {
	if !s.asked && s.Expected != nil {
		s.expected = s.Expected()
	}
	s.asked = true
	if s.expected[x.node.Name] {
		return reason{why: model.WhyNominated, detail: "waiting pods are expected here"}
	}
	return reason{}
}
