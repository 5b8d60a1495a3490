package meter

import "slices"

// Event is a row of the table of events.
type Event struct {
	Reason string
	Type   string // Normal or Warning; both where it depends
	On     []string
	When   string
	// Own marks a reason that is only here.
	Own bool
}

const (
	normal, warning = "Normal", "Warning"
	either          = "Normal or Warning"
)

func on(kinds ...string) []string { return kinds }

// Events lists what is said on objects.
func Events() []Event {
	return slices.Concat(eventsOfPods(), eventsOfMoves(), eventsOfMachines(), eventsOfPools(),
		eventsOfConditions())
}

func eventsOfPods() []Event {
	return []Event{
		{"Nominated", normal, on("Pod"), "a place is there for it, or on its way", false},
		{"FailedScheduling", warning, on("Pod"), "a plan has no place for it; a reason for each " +
			"NodePool", false},
		{"Evicted", normal, on("Pod"), "it was asked to leave its node, and why the node " +
			"goes", false},
		{"Disrupted", normal, on("Pod"), "it was deleted, because its node has to end by a " +
			"time", false},
		{"InvalidDoNotDisruptAnnotation", warning, on("Pod"), "the annotation cannot be " +
			"read", false},
		{"DoNotDisruptUntil", normal, on("Pod"), "until when its annotation protects it", false},
		{"DoNotDisruptGracePeriodElapsed", normal, on("Pod"), "it does not any more", false},
	}
}

func eventsOfMoves() []Event {
	both := on("Node", "NodeClaim")
	return []Event{
		{"DisruptionLaunching", normal, on("NodeClaim"), "it is to replace nodes, and why", false},
		{"DisruptionWaitingReadiness", normal, on("NodeClaim"), "nodes wait for it to be " +
			"initialized", false},
		{"DisruptionTerminating", normal, both, "it goes by the controller's own choice", false},
		{"DisruptionBlocked", normal, on("Node", "NodeClaim", "NodePool"), "what keeps it " +
			"although " +
			"it could go; of a NodePool, which budget lets no node leave", false},
		{"Unconsolidatable", normal, both, "why it would not be cheaper without it", false},
		{"ConsolidationCandidate", normal, both, "a move that it leaves by, and what that " +
			"saves", false},
		{"ConsolidationRejected", normal, both, "why such a move is taken back", false},
		{"NodeRepairBlocked", warning, both, "so many nodes are unhealthy that none is " +
			"replaced", false},
		{"DisruptionObserved", normal, both, "what would be done, if its NodePool were not only " +
			"observed", true},
		{"FailedDraining", warning, on("Node"), "which pods may not leave it now", false},
		{"AwaitingVolumeDetachment", normal, on("Node"), "which volumes it waits for", false},
		{"TerminationGracePeriodExpiring", warning, both, "by when all its pods will be " +
			"deleted", false},
		{"SpotInterrupted", warning, both, "the cloud takes the spot machine back, and " +
			"when", false},
		{"TerminatingOnInterruption", warning, both, "the cloud moves or ends the machine, and " +
			"when", false},
	}
}

func eventsOfMachines() []Event {
	claim := on("NodeClaim")
	return []Event{
		{"InsufficientCapacityError", warning, on("NodeClaim", "NodePool"), "nothing that it " +
			"may be " +
			"is to be had; on the NodePool where it has replicas", false},
		{"AsyncProvisioningError", warning, claim, "the machine was accepted and then not " +
			"made", false},
		{"NodeClassNotReady", warning, claim, "it was given up, because its class is not " +
			"ready", false},
		{"NodeClassResolutionError", warning, on("NodePool", "NodeClaim"), "its class is not " +
			"there, " +
			"or on its way out", false},
		{"LaunchFailed", warning, claim, "it was given up: no machine or no node came in " +
			"time", true},
		{"InstanceStopped", warning, claim, "somebody switched the machine off", true},
		{"UnregisteredTaintMissing", warning, claim, "its node joined open to any pod", false},
		{"FailedConsistencyCheck", warning, claim, "its node has been lacking what was bought " +
			"for ten minutes", false},
		{"WaitingOnNodeClaimTermination", normal, on("AKSNodeClass"), "it is deleted, and who " +
			"still " +
			"uses it", false},
	}
}

func eventsOfPools() []Event {
	return []Event{
		{"NoCompatibleInstanceTypes", warning, on("NodePool"), "its requirements leave nothing " +
			"of " +
			"what is sold", false},
		{"PlanCutShort", warning, on("NodePool"), "a plan took more work than one may", true},
		{"PlanTakesLong", warning, on("NodePool"), "a plan has been in the making for ten " +
			"seconds", true},
		{"Paused", either, on("NodePool"), "what of it is on hold now", true},
		{"Resumed", normal, on("NodePool"), "nothing is on hold any more", true},
		{"Unreadable", warning, on("NodePool", "AKSNodeClass", "NodeClaim", "NodeOverlay",
			"CapacityBuffer"), "which value of it cannot be read", true},
		{"Unserved", warning, on("CustomResourceDefinition"), "the API server does not serve the " +
			"kind", true},
		{"FieldsPruned", warning, on("NodePool", "AKSNodeClass", "NodeClaim", "NodeOverlay",
			"CapacityBuffer"), "its CRD is older and drops fields", true},
	}
}

// eventsOfConditions are those whose reason is the type of a condition that became another one.
func eventsOfConditions() []Event {
	out := []Event{{"Finalized", normal, on("NodeClaim", "Node", "AKSNodeClass"), "its " +
		"finalizer is " +
		"taken away", false}}
	for _, c := range Conditions() {
		if c.Type == "Paused" || c.On == "NodeOverlay" {
			continue // an event of its own says more; overlays are not followed, as in Karpenter
		}
		i := slices.IndexFunc(out, func(e Event) bool { return e.Reason == c.Type })
		if i < 0 {
			out = append(out, Event{c.Type, normal, nil, "the condition became another one", c.Own})
			i = len(out) - 1
		}
		out[i].On = append(out[i].On, c.On)
	}
	return out
}

// Condition is a row of the table of conditions.
type Condition struct {
	On, Type, Says string
	Own            bool
}

// Conditions lists what stands in the status of objects; of nodes, what is read there.
func Conditions() []Condition {
	const claim, pool, class, node = "NodeClaim", "NodePool", "AKSNodeClass", "Node"
	const over, buffer = "NodeOverlay", "CapacityBuffer"
	return []Condition{
		{claim, "Launched", "the cloud accepted its machine", false},
		{claim, "Registered", "its node joined, and has all that was promised", false},
		{claim, "Initialized", "its node is ready for disruption; it stays so", false},
		{claim, "Ready", "the three before, together", false},
		{claim, "Consolidatable", "no pod came or went for as long as its NodePool asks", false},
		{claim, "Drifted", "it is not what its NodePool and class ask for", false},
		{claim, "DisruptionReason", "a move that it leaves by, and why", false},
		{claim, "Drained", "no pod has to leave its node any more", false},
		{claim, "VolumesDetached", "no volume is attached to its node any more", false},
		{claim, "InstanceTerminating", "the cloud was asked to end its machine", false},
		{claim, "ConsistentStateFound", "its node has nine tenths, or more, of what was bought",
			false},
		{pool, "ValidationSucceeded", "its spec can be read and obeyed", false},
		{pool, "NodeClassReady", "its class is ready", false},
		{pool, "Ready", "machines may be bought for it", false},
		{pool, "NodeRegistrationHealthy", "of its last four machines at most one became no node",
			false},
		{pool, "InstanceTypesFound", "its requirements leave something of what is sold", true},
		{pool, "FeaturesServed", "the API server serves what feature gates ask for", true},
		{pool, "DisruptionValid", "budgets and annotations about disruption can be read", true},
		{pool, "Paused", "something of it is on hold", true},
		{class, "ImagesReady", "there are images for it", false},
		{class, "KubernetesVersionReady", "the version of the cluster is known", false},
		{class, "SubnetsReady", "its subnet is there", false},
		{class, "ValidationSucceeded", "its spec can be obeyed", false},
		{class, "LocalDNSReady", "what local DNS needs is there", false},
		{class, "Ready", "machines may be built from it", false},
		{over, "ValidationSucceeded", "its spec can be obeyed, and none of its weight says " +
			"otherwise", false},
		{over, "Ready", "it counts", false},
		{buffer, "ReadyForProvisioning", "what its pods look like and how many they are is known",
			false},
		{buffer, "Provisioning", "there is room for all its pods", false},
		{node, "Ready", "written by the kubelet", false},
		{node, "NodeHealthy", "written by AKS: whether the node works", false},
		{node, "PreemptionScheduled", "written by AKS: a spot machine is taken back", false},
		{node, "VMEventScheduled", "written by AKS: another event of the machine", false},
	}
}

// Known reports whether an event of this kind is in the table.
func Known(reason, typ, kind string) bool {
	return slices.ContainsFunc(Events(), func(e Event) bool {
		return e.Reason == reason && (e.Type == typ || e.Type == either) &&
			slices.Contains(e.On, kind)
	})
}
