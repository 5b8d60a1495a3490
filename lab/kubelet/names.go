package kubelet

import "time"

// Names of the lab's own, and names that kubelets and clouds use and no imported package has.
const (
	// RunForAnnotation on a pod whose restart policy is not Always: its containers end with exit code 0 this long
	// (a Go duration) after they started.
	RunForAnnotation = "lab.karpenter.sh/run-for"
	// StopAfterAnnotation on a pod: asked to stop, its containers take this long (a Go duration). The pod's grace
	// period is the limit.
	StopAfterAnnotation = "lab.karpenter.sh/stop-after"
	// PreemptionCondition is the node condition that announces a spot eviction on AKS.
	PreemptionCondition = "PreemptionScheduled"
	// EventCondition is the node condition that announces any other scheduled event on AKS.
	EventCondition = "VMEventScheduled"

	betaOS             = "beta.kubernetes.io/os"
	betaArch           = "beta.kubernetes.io/arch"
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	ciliumTaint        = "node.cilium.io/agent-not-ready"
	leaseNamespace     = "kube-node-lease"
)

// Times and bounds that no test needs to turn.
const (
	requestLimit = 15 * time.Second           // one request; the kubelet's own limit for status and lease is 10 s
	never        = 100 * 365 * 24 * time.Hour // no machine lives that long
	csrLimit     = 5 * time.Minute            // one certificate request, before another is made
	retryFirst   = 500 * time.Millisecond
	retryLast    = 15 * time.Second // a bootstrap is tried for ever, at most this far apart, until the machine is halted
	logLines     = 200              // per machine; the oldest go first
	logMachines  = 1000             // machines whose log is kept after they are gone
	machineLimit = 3000             // one /24 of pod addresses each, from 10.244.0.0 to 10.255.183.255
)
