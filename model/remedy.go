package model

// Remedy says what a person may do so that a node which stays for the reason can leave, or a move that is held up
// goes on, as the rest of a sentence; "" where there is nothing to do but wait, or no reason to do anything.
func (w Why) Remedy() string {
	switch w {
	case WhyNotInitialized:
		return "see why the node is not initialized: kubectl describe nodeclaim"
	case WhyNotEmpty:
		return "pools with consolidationPolicy WhenEmpty keep nodes that have pods; WhenEmptyOrUnderutilized lets them be moved"
	case WhyDoNotDisrupt:
		return "remove the annotation karpenter.sh/do-not-disrupt, or give it a duration such as 1h"
	case WhyPDB:
		return "raise maxUnavailable of the PodDisruptionBudget or the replicas that it guards, and let its pods become ready"
	case WhyBudget:
		return "raise the NodePool's disruption budget, or wait until nodes that leave are gone"
	case WhyConsolidateAfter:
		return "lower the NodePool's consolidateAfter, or wait until no pod came or went for so long"
	case WhyConsolidateNever:
		return "give the NodePool a consolidateAfter other than Never"
	case WhyNoPool:
		return "the NodePool is gone: delete the NodeClaim to remove the node"
	case WhyStaticPool:
		return "lower the replicas of the NodePool"
	case WhyNoHome:
		return "give its pods another NodePool that takes them, raise limits, or relax what ties them to this node"
	case WhyUncertainHome:
		return "nothing needs to be done; the node leaves once there is more room for its pods"
	case WhySavingTooSmall:
		return "lower the annotation karpenter.azure.com/minimum-saving of the NodePool"
	case WhyHeldBack:
		return "see the events of the NodeClaim for what failed"
	}
	return ""
}
