package world

import (
	"slices"

	"github.com/karpenter-aks/karpenter/model"
)

// revision names one template that a DaemonSet had.
type revision struct{ namespace, name string }

// asLive returns the daemons with the requests that live pods of the same revision have: of each resource the most that one of
// them asks for, so that a new node is large enough whichever of them is the example. A template does not know what LimitRanges,
// runtime classes, admission webhooks and vertical autoscalers make of its pods. They may ask for less than it, too. Where there is no such
// pod, the template is all there is. Where a daemon goes stays the template's matter: its controller asks nothing else. The
// daemons given are not changed. O(daemons + pods).
func asLive(daemons []model.Daemon, pods []model.Pod) []model.Daemon {
	at := make(map[revision]int, len(daemons))
	for i := range daemons {
		if p := &daemons[i].Pod; p.Revision != "" {
			at[revision{daemons[i].Namespace, p.Revision}] = i
		}
	}
	if len(at) == 0 {
		return daemons
	}
	var out []model.Daemon
	seen := make([]bool, len(daemons))
	for i := range pods {
		p := &pods[i]
		if p.Revision == "" || !p.DaemonSet || p.Terminal || p.Deleting() {
			continue
		}
		n, ok := at[revision{p.Namespace, p.Revision}]
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(daemons)
		}
		if seen[n] {
			out[n].Pod.Requests = out[n].Pod.Requests.Max(p.Requests)
		} else {
			out[n].Pod.Requests, seen[n] = p.Requests, true
		}
	}
	if out == nil {
		return daemons
	}
	return out
}
