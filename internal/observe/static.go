package observe

import (
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/static"
	"github.com/karpenter-aks/karpenter/model"
)

// StaticHeldBack tells why a static pool has fewer nodes than it should. What a person knows already, because they set a
// limit or the pool's own status says it, is only logged.
func (r *Recorder) StaticHeldBack(p model.Pool, d static.Decision) {
	r.log.V(1).Info("a static pool has too few nodes", "NodePool", p.Name, "why", d.Why, "detail", d.Detail)
	switch d.Why {
	case model.WhyUnavailable:
		r.say(p, kube.Warning, "InsufficientCapacityError", "NodePool %s event: %s", p.Name, d.Detail)
	case model.WhyRequirements, model.WhyResources, model.WhyMinValues, model.WhyNoOfferings:
		r.say(p, kube.Warning, "NoCompatibleInstanceTypes", "NodePool %s event: %s", p.Name, d.Detail)
	}
}

// StaticRemoved tells that a static pool has one node more than it should, and which goes.
func (r *Recorder) StaticRemoved(c model.Claim) {
	r.countDisrupted(c, model.WhyReplicasLowered)
	r.log.Info("deleting nodeclaim", "NodeClaim", c.Name, "NodePool", c.Pool, "why", model.WhyReplicasLowered)
	r.terminating(c, model.WhyReplicasLowered)
}

// Barren tells of a pool whose requirements leave nothing of what the cloud sells.
func (r *Recorder) Barren(p model.Pool, why string) {
	r.log.Info("a pool can buy nothing", "NodePool", p.Name, "why", why)
	r.say(p, kube.Warning, "NoCompatibleInstanceTypes", "The pool can buy nothing: %s", why)
}
