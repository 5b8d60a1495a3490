// Package worldtext answers: how do people write a small world?
//
// It reads and prints a picture of the world as lines of text, one object per line, so that a scenario fits on a screen
// and the same file serves as a test, a tutorial step and a question to the engine. It decides nothing, knows no
// defaults of the API, and is meant for worlds of tens of objects, not for storing clusters. How a world is written
// stands in Notation.
package worldtext

// Notation is how worlds are written, for people ("karpenter help scenario").
const Notation = `A line is a noun, a name and fields. A field is a bare word (a flag) or key=value, without spaces inside. Text after
'#' is a comment. Fields may repeat where a list is meant. The nouns:

	class default [not-ready] [deleting]
	type D2 cpu=2 memory=8Gi [pods=110] [gpu.example.com/x=1] [alloc.cpu=1900m] [family=Dsv5] [label.k=v]
	     [either.k=a,b] [class=default] zones=1,2 price=0.10 [spot=0.02] [price.2/spot=0.03] [sold-out=1/on-demand,2/spot]
	     [price.1/reserved=0.00001 supply.1/reserved=3]
	     [olabel.1/spot.k=v] [for=POOL]
	pool general [weight=10] [class=default] [limit.cpu=100] [label.k=v] [annotation.k=v] [own.k=v] [taint=k=v:NoSchedule]
	     [startup-taint=k=v:NoExecute] [req=key:In:a,b[:min]] [replicas=3] [not-ready] [deleting] [expire=720h] [grace=1h]
	     [consolidate-after=0s] [policy=WhenEmpty]
	node n1 [pool=general] [type=D2] [zone=1] [capacity-type=spot] cpu=2 memory=8Gi [alloc.cpu=1900m] [label.k=v] [taint=…]
	     [cordoned] [deleting] [not-ready] [interrupted] [initialized] [provider-id=…] [created=10m]
	claim c1 [pool=general] [class=default] [node=n1] [provider-id=…] [req=…] [requests.cpu=1] [cpu=2 …] [alloc.cpu=…]
	     [label.k=v] [taint=…] [startup-taint=…] [is=Launched,Registered] [deleting] [created=10m] [pod-event=10m]
	pod web [x5] [ns=default] cpu=1 memory=1Gi [select.k=v] [affinity=k:In:a,b;k2:Exists] [tolerate=k=v:NoSchedule] [needs=volumes]
	     [node=n1] [nominated=n1] [promised=n1] [waiting] [unjudged] [virtual] [gated] [terminal] [terminating] [mirror] [daemon] [stateful] [critical] [priority=5] [created=10m]
	     [do-not-disrupt=true] [revision=cilium/3] [label.k=v]
	    [spread=KEY:SKEW:SELECTOR[:soft,min=3,any-affinity,honor-taints]] [near=KEY:SELECTOR[:ns|ns[:SELECTOR]]] [apart=… as near]
	    [prefer-node=100:k:In:a,b;k2:Exists] [prefer-near=50:… as near] [prefer-apart=50:… as near]
	    [port=8080/UDP@10.0.0.1] [volume=ID:DRIVER:k:In:a;k2:Exists|k:In:b] [within=ID:zone,k] [one-pod=ID]
	daemon cilium [ns=kube-system] cpu=100m … as for pods
	pdb web allowed=0 pods=default/web-0,default/web-1
	namespace team-a [label.k=v]

Types and nodes may have attach.DRIVER=N: how many volumes of the driver they take. KEY is a node label, or zone or host for
the two that everybody uses. SELECTOR picks pods by label: "app=web|api;tier!=db;owner;!legacy", "*" everything, "-" nothing.
annotation of a pool are those of its nodes, own those of the NodePool object itself.
within says that the volume is yet to be made and which labels the nodes of its pods must share, one-pod that only one pod may use it
at a time. spread is hard unless soft; near and apart are pod affinity and anti-affinity, which look into the pod's own namespace unless told otherwise.

A pod line with xN stands for N pods named name-0 … name-N-1. A pod without node= waits for a node unless gated, terminal or
unjudged (kube-scheduler has not looked at it yet). A type line with for= is what that one pool is sold instead of what its class is.
Types and nodes have the labels of their names, of amd64 and of linux, claims that of their pool; no-label=KEY,… takes them away.
In values and names %2C stands for a comma, and so on for every byte that would be taken for something else; %e alone is the empty value.
Every pod asks for one pod slot. Types, pools and claims without class= belong to class "default", which need
not be written. Zones are written as in labels; zone 0 is the regional one. Times are offsets from Epoch.`
