// Package kubelet answers: what happens on a machine after it is switched on?
//
// It is the lab's stand-in for the node side of a cluster. A Host runs simulated machines: each one reads its custom
// data the way the AKS image would, joins the cluster through the real TLS bootstrap, registers its node, keeps its
// lease, and runs the pods bound to it. Beside the machines stand three things that AKS runs elsewhere: the cloud's node
// manager, the cilium agent's removal of its startup taint, and the manifests of the system DaemonSets.
//
// It speaks to a real API server as a kubelet does, with a kubelet's rights. It runs no containers, mounts no volumes
// (pods wait until their disks are attached), makes no network, and knows nothing of the autoscaler that bought the machine: whatever is wrong in the custom data
// is a machine that never joins, and the boot log says why.
//
// Two annotations on a pod tell the lab how its containers behave:
//
//	lab.karpenter.sh/run-for: 30s    the containers end, with exit code 0, this long after they started
//	                                 (heeded only when the pod's restart policy is not Always; without it, the commands
//	                                 are looked at: one that sleeps ends after so long, echo and the like at once)
//	lab.karpenter.sh/stop-after: 5s  asked to stop, the containers take this long; the pod's grace is the limit
package kubelet
