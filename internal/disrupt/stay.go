package disrupt

import (
	"fmt"
	"strconv"
	"time"

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
func (s *picture) stays(x *candidate) (model.Why, string, time.Duration) {
	r := s.tied(x)
	switch {
	case r.why != "":
	case x.pool.Replicas != nil:
		r.why = model.WhyStaticPool
	case x.pool.ConsolidateAfter == nil:
		r = reason{why: model.WhyConsolidateNever,
			detail: "NodePool " + x.pool.Name + " has consolidateAfter Never"}
	default:
		r = s.allowed(x)
	}
	return r.why, r.detail, r.after
}

// allowed looks at what people ask for, then at the pods, then at what passes with time.
func (s *picture) allowed(x *candidate) reason {
	r := s.protected(x)
	if r.why != "" {
		return r
	}
	if n := x.there.Tenants; n > 0 {
		return reason{why: model.WhyNotEmpty,
			detail: "pods that need a place: " + strconv.Itoa(
				n,
			) + ", such as " + x.there.Tenant.Key().
				String(),
		}
	}
	r = s.pods(x)
	if r.why != "" {
		return r
	}
	if s.replacing[x.claim.Name] {
		return reason{
			why:    model.WhyReceiving,
			detail: "it was bought for pods of nodes that are about to leave",
		}
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
	return reason{}
}

// protected looks at what people ask for on the claim and on the node.
func (s *picture) protected(x *candidate) reason {
	if x.claim.Annotations[model.AnnotationDoNotDisrupt] == "true" {
		return reason{
			why:    model.WhyDoNotDisrupt,
			detail: "the NodeClaim is annotated " + model.AnnotationDoNotDisrupt,
		}
	}
	if x.node.Annotations[model.AnnotationDoNotDisrupt] == "true" {
		return reason{
			why:    model.WhyDoNotDisrupt,
			detail: "the node is annotated " + model.AnnotationDoNotDisrupt,
		}
	}
	return reason{}
}

// pods looks for pods that may not be moved, or not yet. Daemons and static pods may ask to be left alone like any other.
func (s *picture) pods(x *candidate) reason {
	for _, p := range x.there.Pods {
		if p.Terminal || p.Deleting() {
			continue
		}
		if p.DoNotDisrupt == "true" {
			return reason{why: model.WhyDoNotDisrupt,
				detail: fmt.Sprintf(
					"pod %s is annotated %s",
					p.Key(),
					model.AnnotationDoNotDisrupt,
				)}
		}
		span, err := time.ParseDuration(p.DoNotDisrupt)
		if err == nil && p.Started.Add(span).After(s.Now) {
			return reason{model.WhyDoNotDisrupt,
				fmt.Sprintf(
					"pod %s is annotated %s for %s",
					p.Key(),
					model.AnnotationDoNotDisrupt,
					span,
				),
				p.Started.Add(span).Sub(s.Now)}
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
		return fmt.Sprintf(
			"pod %s has more than one budget, %s/%s and %s/%s: no eviction is allowed",
			p.Key(),
			list[0].Namespace,
			list[0].Name,
			list[1].Namespace,
			list[1].Name,
		)
	}
	return ""
}

// quiet looks at what passes with time.
func (s *picture) quiet(x *candidate) reason {
	if k, ok := s.nominated[x.node.Name]; ok {
		return reason{
			why:    model.WhyNominated,
			detail: fmt.Sprintf("kube-scheduler keeps room here for %s", k),
		}
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
