package model

// Why is a named reason. The list is closed: the same word appears in tests, events, metrics and the CLI, so a
// new reason is added here first, with what it means and which change could lift it.
type Why string

// Why a pod cannot go to a pool (Refusal.Why), or is left alone.
const (
	WhyNodeSelector   Why = "node-selector"       // the pod's nodeSelector or required node affinity excludes every offering
	WhyTaint          Why = "taint"               // the pod does not tolerate a taint of the pool
	WhyResources      Why = "resources"           // no offering is large enough beside the daemons
	WhyRequirements   Why = "requirements"        // the pool's own requirements leave no offering
	WhyUnavailable    Why = "unavailable"         // everything that would fit is sold out or over quota for now
	WhyLimits         Why = "limits"              // the pool's limits are spent
	WhyPoolNotReady   Why = "pool-not-ready"      // the pool or its class is not ready
	WhyPoolDeleting   Why = "pool-deleting"       // the pool is being deleted
	WhyPoolOptOut     Why = "pool-opt-out"        // the pod asks not to run on our nodes
	WhyTopologySpread Why = "topology-spread"     // the required topology spread allows no domain that can be had
	WhyPodAffinity    Why = "pod-affinity"        // required pod affinity or anti-affinity allows no machine
	WhyVolumes        Why = "volumes"             // its volumes cannot be reached, attached or found
	WhyHostPorts      Why = "host-ports"          // its host ports are taken
	WhyResourceClaims Why = "resource-claims"     // dynamic resource claims are not supported
	WhyMinValues      Why = "min-values"          // too few distinct values remain for a requirement with minValues
	WhyNoPools        Why = "no-pools"            // there is no pool at all
	WhyMatchFields    Why = "match-fields"        // node affinity by field can only name nodes that exist
	WhyBadSelector    Why = "bad-selector"        // the pod's selector uses an operator or key we may not satisfy
	WhyAudit          Why = "refused-by-audit"    // the plan was unsound; this is a defect of ours
	WhyPanic          Why = "planner-panicked"    // no plan could be made with the pod; this is a defect of ours
	WhyPlanCut        Why = "plan-cut-short"      // the work limit was reached; the next round goes on
	WhyNoOfferings    Why = "no-offerings"        // the cloud offers nothing for this class (yet)
	WhyStaticPool     Why = "static-pool"         // pools with a fixed number of replicas take no pending pods
	WhyPaused         Why = "paused"              // people put it on hold; also of nodes that stay, and of moves that are undone
	WhyMixedOSOrArch  Why = "impossible-selector" // the selector contradicts itself
)

// Why a claim takes its next step, or waits.
const (
	WhyNew                 Why = "new"
	WhyLaunchAccepted      Why = "launch-accepted"
	WhyAwaitingInstance    Why = "awaiting-instance"
	WhyAwaitingNode        Why = "awaiting-node"
	WhyAwaitingOthers      Why = "awaiting-others" // nodes of the same plan that are about to join
	WhyNodeRegistered      Why = "node-registered"
	WhyNodeNotReady        Why = "node-not-ready"
	WhyStartupTaints       Why = "startup-taints"
	WhyResourcesMissing    Why = "resources-not-registered"
	WhyUnregisteredMissing Why = "unregistered-taint-missing"
	WhyManyNodes           Why = "multiple-nodes-found"
	WhyInitialized         Why = "initialized"
	WhyLaunchTimeout       Why = "launch-timeout"
	WhyRegisterTimeout     Why = "registration-timeout"
	WhyNoCapacity          Why = "insufficient-capacity"
	WhyLaunchFailed        Why = "launch-failed"
	WhyClassNotReady       Why = "nodeclass-not-ready"
	WhyClassGone           Why = "nodeclass-gone"
	WhyInstanceFailed      Why = "instance-failed"
	WhyInstanceGone        Why = "instance-gone"
	WhyInstanceStopped     Why = "instance-stopped" // somebody switched the machine off
	WhyNodeGone            Why = "node-gone"
	WhyPoolGone            Why = "pool-gone"
	WhyUnreadable          Why = "unreadable" // a value of the claim cannot be read: nothing is bought by what is left of it
	WhyExpired             Why = "expired"
	WhyInterrupted         Why = "interrupted" // the cloud takes the machine away
	WhyUnhealthy           Why = "unhealthy"   // a condition of the node says that it does not work, and has for too long, or not for long enough yet
	WhyEmpty               Why = "empty"
	WhyDeleted             Why = "deleted"
	WhyReplicasLowered     Why = "replicas-lowered" // a static pool has more nodes than a person wants
	WhyDraining            Why = "draining"
	WhyVolumesAttached     Why = "volumes-attached"
	WhyInstanceStopping    Why = "instance-terminating"
	WhyOrphan              Why = "orphan"
	WhySettled             Why = "settled" // nothing to do
)

// Why a node stays although it could be wanted gone (Move.Why, blocked candidates), or a pod may not leave yet.
const (
	WhyNotInitialized   Why = "not-initialized"
	WhyNotEmpty         Why = "not-empty"
	WhyNominated        Why = "nominated"
	WhyDoNotDisrupt     Why = "do-not-disrupt"
	WhyPDB              Why = "pod-disruption-budget"
	WhyBudget           Why = "disruption-budget"
	WhyConsolidateAfter Why = "consolidate-after"
	WhyAlreadyLeaving   Why = "already-leaving"
	WhyNoPool           Why = "no-pool"
	WhyConsolidateNever Why = "consolidation-disabled"
	WhyGrace            Why = "termination-grace"
	WhyEarlierGroup     Why = "earlier-group-draining"
	WhyGraceOver        Why = "termination-grace-over"
	WhyPendingPods      Why = "pending-pods"
	WhyReplacing        Why = "awaiting-replacement" // it leaves as soon as what replaces it is there
	WhyRepairBlocked    Why = "repair-blocked"       // it is unhealthy, and so many are that none is replaced for it
	WhyReceiving        Why = "receiving-pods"       // pods of nodes that leave are to come here
	WhyHeldBack         Why = "held-back"            // a move of it failed a short time ago
	WhyNoHome           Why = "no-home"              // its pods would have no other place
	WhyNoCheaperHome    Why = "no-cheaper-home"      // its pods cost as much elsewhere
	WhySavingTooSmall   Why = "saving-too-small"     // less would be saved than the pool asks for
	WhyUncertainHome    Why = "uncertain-home"       // its pods fit elsewhere only where kube-scheduler chooses just these places
	WhyOtherMovesFirst  Why = "other-moves-first"    // what is decided already has to happen before
	WhyUnderutilized    Why = "underutilized"        // as a reason to leave: its pods cost less elsewhere
	WhyDrifted          Why = "drifted"              // as a reason to leave: it is not what its pool and class ask for
	WhyTooYoung         Why = "too-young"            // it has drifted, and its pool replaces older ones only
	WhyCanary           Why = "canary"               // it has drifted, and those replaced first have yet to prove themselves
	WhyObserved         Why = "observed"             // it would leave, if its pool were not only observed
	WhyReplacementLost  Why = "replacement-lost"     // a move is undone: what was to replace the node did not come
	WhyMoveHalfBegun    Why = "move-half-begun"      // a move is undone: whoever began it did not come to its end
	WhyMoveOutdated     Why = "move-outdated"        // a move is undone: it would not be right any more
)
