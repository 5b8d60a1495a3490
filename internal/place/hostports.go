package place

import (
	"strconv"

	"github.com/karpenter-aks/karpenter/model"
)

// everywhere reports whether an address stands for all of the node's, as kube-scheduler reads it: it compares addresses as they are written, and
// 0.0.0.0 alone meets others (HostPortInfo in its package framework). To it :: is an address like any other.
func everywhere(ip string) bool { return ip == "" || ip == "0.0.0.0" }

func portKey(h model.HostPort) string { return h.Protocol + "/" + strconv.Itoa(int(h.Port)) }

// clash reports whether any two ports of two pods exclude each other on one node.
func clash(a, b []model.HostPort) bool {
	for _, x := range a {
		for _, y := range b {
			if portKey(x) == portKey(y) && (x.IP == y.IP || everywhere(x.IP) || everywhere(y.IP)) {
				return true
			}
		}
	}
	return false
}
