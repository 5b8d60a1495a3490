package disrupt

import (
	"fmt"
	"strconv"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// stays says why the site stays, in words too where the reason alone does not tell, and after how long time alone may
// change that (zero: never). An empty reason means that nothing but a budget can keep it. The first reason found is given;
// reasons that people can do something about come before those that pass by themselves.
func (s *picture) stays(x site) (why model.Why, detail string, after time.Duration) {
	switch {
	case x.leaves():
		return model.WhyAlreadyLeaving, "", 0
	case x.pool == nil:
		return model.WhyNoPool, "", 0
	case !x.claim.Is(model.Initialized) || x.node.Name == "":
		return model.WhyNotInitialized, "", 0
	case x.pool.Replicas != nil:
		return model.WhyStaticPool, "", 0
	case x.pool.ConsolidateAfter == nil:
		return model.WhyConsolidateNever, "NodePool " + x.pool.Name + " has consolidateAfter Never", 0
	case x.claim.Annotations[model.AnnotationDoNotDisrupt] == "true":
		return model.WhyDoNotDisrupt, "the NodeClaim is annotated " + model.AnnotationDoNotDisrupt, 0
	case x.node.Annotations[model.AnnotationDoNotDisrupt] == "true":
		return model.WhyDoNotDisrupt, "the node is annotated " + model.AnnotationDoNotDisrupt, 0
	}
	if why, detail, after = s.occupied(x); why != "" {
		return why, detail, after
	}
	return s.waits(x)
}

// occupied looks at the pods on the node.
func (s *picture) occupied(x site) (model.Why, string, time.Duration) {
	if n := x.there.Tenants; n > 0 {
		return model.WhyNotEmpty, "pods that need a place: " + strconv.Itoa(n) + ", such as " + x.there.Tenant.Key().String(), 0
	}
	for _, p := range x.there.Pods {
		if p.Terminal || p.Deleting() {
			continue
		}
		// Only daemons and static pods are left here, and these too may ask to be left alone.
		if p.DoNotDisrupt == "true" {
			return model.WhyDoNotDisrupt, fmt.Sprintf("pod %s is annotated %s", p.Key(), model.AnnotationDoNotDisrupt), 0
		}
		if span, err := time.ParseDuration(p.DoNotDisrupt); err == nil && p.Started.Add(span).After(s.Now) {
			return model.WhyDoNotDisrupt, fmt.Sprintf("pod %s is annotated %s for %s", p.Key(), model.AnnotationDoNotDisrupt, span), p.Started.Add(span).Sub(s.Now)
		}
		_, evicted := model.Untolerated([]model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}, p.Tolerations)
		if b := s.closed[p.Key()]; b != "" && evicted && !p.Mirror {
			return model.WhyPDB, fmt.Sprintf("budget %s does not let pod %s go", b, p.Key()), 0
		}
	}
	return "", "", 0
}

// waits looks at what passes with time.
func (s *picture) waits(x site) (model.Why, string, time.Duration) {
	if k, ok := s.nominated[x.node.Name]; ok {
		return model.WhyNominated, fmt.Sprintf("kube-scheduler keeps room here for %s", k), 0
	}
	// The condition is the published answer; the clock is asked again because a pod may have come since it was written.
	init, _ := model.FindCondition(x.claim.Conditions, model.Initialized)
	quiet := init.Since
	if x.claim.LastPodEvent.After(quiet) {
		quiet = x.claim.LastPodEvent
	}
	if end := quiet.Add(*x.pool.ConsolidateAfter); end.After(s.Now) {
		return model.WhyConsolidateAfter, "", end.Sub(s.Now)
	}
	if !x.claim.Is(model.Consolidatable) {
		return model.WhyConsolidateAfter, "", 0
	}
	if s.expects(x.node.Name) { // dear to ask, and so the last question
		return model.WhyNominated, "waiting pods are expected here", 0
	}
	return "", "", 0
}

// expects reports whether waiting pods are expected on the node.
func (s *picture) expects(node string) bool {
	if !s.asked && s.Expected != nil {
		s.expected = s.Expected()
	}
	s.asked = true
	return s.expected[node]
}
