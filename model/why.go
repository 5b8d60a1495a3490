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
	WhyNew                 Why = "new"                        // it was made a moment ago, and nothing was done about it yet
	WhyAwaitingInstance    Why = "awaiting-instance"          // the machine is being made
	WhyAwaitingNode        Why = "awaiting-node"              // the machine runs, and its node has not joined yet
	WhyAwaitingOthers      Why = "awaiting-others"            // nodes of the same plan that are about to join
	WhyNodeRegistered      Why = "node-registered"            // its node joined
	WhyNodeNotReady        Why = "node-not-ready"             // its node joined and is not ready
	WhyStartupTaints       Why = "startup-taints"             // startup taints are still on its node
	WhyResourcesMissing    Why = "resources-not-registered"   // its node does not show a resource yet that was promised
	WhyUnregisteredMissing Why = "unregistered-taint-missing" // its node joined without the taint karpenter.sh/unregistered, open to any pod
	WhyManyNodes           Why = "multiple-nodes-found"       // several nodes have its machine's provider ID
	WhyInitialized         Why = "initialized"                // its node is ready for pods, and may be disrupted from now on
	WhyLaunchTimeout       Why = "launch-timeout"             // no machine came in time
	WhyRegisterTimeout     Why = "registration-timeout"       // no node joined in time
	WhyNoCapacity          Why = "insufficient-capacity"      // nothing that it may be is to be had
	WhyLaunchFailed        Why = "launch-failed"              // the cloud refused the order, or its answer makes no sense
	WhyClassNotReady       Why = "nodeclass-not-ready"        // its class is not ready
	WhyClassGone           Why = "nodeclass-gone"             // its class is not there, or on its way out
	WhyInstanceFailed      Why = "instance-failed"            // the cloud accepted the order and then did not make the machine
	WhyInstanceGone        Why = "instance-gone"              // the cloud does not have its machine any more
	WhyInstanceStopped     Why = "instance-stopped"           // somebody switched the machine off
	WhyNodeGone            Why = "node-gone"                  // its node was deleted
	WhyPoolGone            Why = "pool-gone"                  // its NodePool is not there, or is being deleted
	WhyUnreadable          Why = "unreadable"                 // a value of the claim cannot be read: nothing is bought by what is left of it
	WhyExpired             Why = "expired"                    // it is older than expireAfter
	WhyInterrupted         Why = "interrupted"                // the cloud takes the machine away
	WhyUnhealthy           Why = "unhealthy"                  // a condition of the node says that it does not work, and has for too long, or not for long enough yet
	WhyEmpty               Why = "empty"                      // no pod runs on it that needs a place
	WhyDeleted             Why = "deleted"                    // somebody deleted it
	WhyReplicasLowered     Why = "replicas-lowered"           // a static pool has more nodes than a person wants
	WhyDraining            Why = "draining"                   // pods are leaving its node
	WhyVolumesAttached     Why = "volumes-attached"           // volumes are still attached to its node
	WhyInstanceStopping    Why = "instance-terminating"       // the cloud was asked to end its machine
	WhySettled             Why = "settled"                    // nothing to do
)

// Why a node stays although it could be wanted gone (Move.Why, blocked candidates), or a pod may not leave yet.
const (
	WhyNotInitialized   Why = "not-initialized"        // its node is not initialized yet
	WhyNotEmpty         Why = "not-empty"              // pods run on it, and its pool lets empty nodes go only
	WhyNominated        Why = "nominated"              // pods are expected on it
	WhyDoNotDisrupt     Why = "do-not-disrupt"         // a pod, the node or its NodeClaim has the annotation karpenter.sh/do-not-disrupt
	WhyPDB              Why = "pod-disruption-budget"  // a PodDisruptionBudget, or several over one pod, allow no eviction now
	WhyBudget           Why = "disruption-budget"      // the disruption budget of its NodePool lets no more nodes leave now
	WhyConsolidateAfter Why = "consolidate-after"      // a pod came or went a shorter time ago than consolidateAfter
	WhyAlreadyLeaving   Why = "already-leaving"        // it leaves already
	WhyNoPool           Why = "no-pool"                // its NodePool is gone
	WhyConsolidateNever Why = "consolidation-disabled" // its NodePool has consolidateAfter: Never
	WhyGrace            Why = "termination-grace"      // the pod is terminating within its own grace
	WhyEarlierGroup     Why = "earlier-group-draining" // pods that go before this one are still leaving
	WhyGraceOver        Why = "termination-grace-over" // the grace of the node is over: pods are deleted whatever protects them
	WhyReplacing        Why = "awaiting-replacement"   // it leaves as soon as what replaces it is there
	WhyRepairBlocked    Why = "repair-blocked"         // it is unhealthy, and so many are that none is replaced for it
	WhyReceiving        Why = "receiving-pods"         // pods of nodes that leave are to come here
	WhyHeldBack         Why = "held-back"              // a move of it failed a short time ago
	WhyNoHome           Why = "no-home"                // its pods would have no other place
	WhyNoCheaperHome    Why = "no-cheaper-home"        // its pods cost as much elsewhere
	WhySavingTooSmall   Why = "saving-too-small"       // less would be saved than the pool asks for
	WhyUncertainHome    Why = "uncertain-home"         // its pods fit elsewhere only where kube-scheduler chooses just these places
	WhyOtherMovesFirst  Why = "other-moves-first"      // what is decided already has to happen before
	WhyUnderutilized    Why = "underutilized"          // as a reason to leave: its pods cost less elsewhere
	WhyDrifted          Why = "drifted"                // as a reason to leave: it is not what its pool and class ask for
	WhyTooYoung         Why = "too-young"              // it has drifted, and its pool replaces older ones only
	WhyCanary           Why = "canary"                 // it has drifted, and those replaced first have yet to prove themselves
	WhyObserved         Why = "observed"               // it would leave, if its pool were not only observed
	WhyReplacementLost  Why = "replacement-lost"       // a move is undone: what was to replace the node did not come
	WhyMoveHalfBegun    Why = "move-half-begun"        // a move is undone: whoever began it did not come to its end
	WhyMoveOutdated     Why = "move-outdated"          // a move is undone: it would not be right any more
)
