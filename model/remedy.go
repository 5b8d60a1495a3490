package model

// Remedy says what a person may do so that a pod which is left over gets a place, a node which stays for the reason can
// leave, or what is held up goes on, as the rest of a sentence; "" where there is nothing to do but wait, or no reason to
// do anything.
func (w Why) Remedy() string {
	if s := w.placing(); s != "" {
		return s
	}
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
		return "nothing needs to be done; the controller deletes what a NodePool that is gone left behind"
	case WhyStaticPool:
		return "lower the replicas of the NodePool to remove nodes; pods that wait need a NodePool without replicas"
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

// placing is the remedy for pods that no pool takes, and for claims that become no node.
func (w Why) placing() string {
	switch w {
	case WhyNodeSelector:
		return "let requirements or labels of a NodePool allow what the pod selects, or relax its nodeSelector or required node affinity"
	case WhyTaint:
		return "give the pod the toleration, or take the taint off the NodePool's template"
	case WhyResources:
		return "lower the pod's requests, or let a NodePool's requirements allow larger machines"
	case WhyRequirements:
		return "relax the NodePool's requirements: together they leave nothing that is sold"
	case WhyUnavailable, WhyNoCapacity:
		return "allow more sizes, zones or capacity types, or raise the quota in Azure; it is tried again by itself"
	case WhyLimits:
		return "raise spec.limits of the NodePool"
	case WhyPoolNotReady, WhyNoOfferings, WhyClassNotReady:
		return "see the conditions of the NodePool and of its AKSNodeClass"
	case WhyPoolOptOut:
		return "nothing, where the pod is meant for other nodes; otherwise take karpenter.sh/nodepool out of its node affinity"
	case WhyTopologySpread:
		return "raise maxSkew, use ScheduleAnyway, or let NodePools buy in the missing domains"
	case WhyPodAffinity:
		return "relax the required affinity or anti-affinity, or let NodePools buy in more domains"
	case WhyVolumes:
		return "see its PersistentVolumeClaims: they must exist, and their volumes be reachable where NodePools buy"
	case WhyHostPorts:
		return "let fewer pods ask for the port"
	case WhyResourceClaims:
		return "ask for extended resources, such as nvidia.com/gpu, instead of resource claims"
	case WhyMinValues:
		return "lower minValues, widen the requirements, or set --min-values-policy BestEffort"
	case WhyNoPools:
		return "create a NodePool"
	case WhyMatchFields:
		return "select nodes by labels instead of matchFields"
	case WhyBadSelector, WhyMixedOSOrArch:
		return "correct the selector that the message names"
	case WhyAudit, WhyPanic:
		return "report it, with the file that the log names"
	case WhyUnreadable:
		return "correct the value that the event names"
	case WhyStartupTaints:
		return "see why nobody removes the startup taint: mostly a DaemonSet that does not start"
	case WhyResourcesMissing:
		return "see whether the device plugin of the resource runs on the node"
	case WhyRegisterTimeout:
		return "see the events of the NodeClaim, and whether certificates are asked for: kubectl get certificatesigningrequests"
	}
	return ""
}
