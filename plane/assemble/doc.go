// Package assemble answers: how do the parts of the lab become one world?
//
// It starts a control plane (plane), a simulated Azure (lab/arm), the machines that this Azure sells (lab/kubelet) and the
// autoscaler as a process with the rights of its chart and no more, introduces them to each other, and takes them down
// again. It simulates nothing itself and talks to no terminal: cmd/karpenter-lab does.
//
// A lab is a directory:
//
//	kubeconfig        for people: an administrator
//	lab.json          where everything is, while it runs
//	keys.yaml         keys of the live view, which cmd/karpenter-lab shows
//	lock              held while it runs
//	controller.log    what the autoscaler said
//	machines.log      what the simulated machines did
//	plane/            etcd, keys, components' log
//	controller/       what the autoscaler would find mounted in its pod: tokens, kubeconfig, cloud environment
package assemble
