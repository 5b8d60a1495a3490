package place

import "github.com/karpenter-aks/karpenter/model"

// Alone reports whether where the pod may go depends on machines only, and on no other waiting pod: it has no hard spread, no
// required pod affinity or anti-affinity, no host ports and no volumes. (Running pods may still refuse it.)
func Alone(p model.Pod) bool {
	for _, s := range p.Spread {
		if s.Hard {
			return false
		}
	}
	return len(p.PodAffinity)+len(p.PodAntiAffinity)+len(p.HostPorts)+len(p.Volumes) == 0
}
