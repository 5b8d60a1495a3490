package alike

import (
	"strconv"

	"github.com/karpenter-aks/karpenter/model"
)

// Everywhere reports whether an address stands for all of the node's, as kube-scheduler reads it: it compares addresses as they are written, and
// 0.0.0.0 alone meets others (HostPortInfo in its package framework). To it :: is an address like any other.
func Everywhere(ip string) bool { return ip == "" || ip == "0.0.0.0" }

// PortKey names a host port whatever its address.
func PortKey(h model.HostPort) string { return h.Protocol + "/" + strconv.Itoa(int(h.Port)) }

// Clash reports whether any two ports of two pods exclude each other on one node.
func Clash(a, b []model.HostPort) bool {
	for _, x := range a {
		for _, y := range b {
			if PortKey(x) == PortKey(y) && (x.IP == y.IP || Everywhere(x.IP) || Everywhere(y.IP)) {
				return true
			}
		}
	}
	return false
}
