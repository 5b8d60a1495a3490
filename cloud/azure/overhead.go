package azure

import (
	"math"

	"github.com/karpenter-aks/karpenter/model"
)

const (
	mi = int64(1) << 20
	gi = int64(1) << 30
	// evictionMi is the free memory below which the kubelet evicts pods; it is kept from pods.
	evictionMi = 750
)

// capacity is what the kubelet of a machine will report. Memory is the size's whole GiB less the share that
// firmware and kernel keep before anybody can see it (overhead, 0.075 = 7.5 %).
func capacity(s SKU, class *model.AzureClass, maxPods int64, overhead float64) model.Resources {
	memory := int64(s.MemoryGiB) * gi
	memory -= int64(math.Ceil(float64(memory) * overhead))
	c := model.Resources{
		CPU:       s.CPUs * 1000,
		Memory:    memory,
		Ephemeral: int64(diskGB(class)) * 1e9,
		Pods:      maxPods,
	}
	if g, ok := gpuOf(s.Size); ok && s.GPUs > 0 {
		name := resourceNvidia
		if g.manufacturer == manufacturerAMD {
			name = resourceAMD
		}
		c.Extended = map[string]int64{name: s.GPUs}
	}
	return c
}

// allocatable is what pods may have: capacity less what kubelet flags reserve.
func allocatable(s SKU, c model.Resources) model.Resources {
	c.CPU = max(0, c.CPU-kubeReservedMilliCPU(s.CPUs))
	c.Memory = max(0, c.Memory-(kubeReservedMi(s.MemoryGiB)+evictionMi)*mi)
	return c
}

// kubeReservedMilliCPU is 6 % of the first core, 4 % of the second, 2 % of the third and fourth, 1 % of the rest.
// Source: AKS' documentation of resource reservations.
func kubeReservedMilliCPU(cpus int64) int64 {
	steps := []struct{ upTo, perCore int64 }{{1, 60}, {2, 40}, {4, 20}, {math.MaxInt64, 10}}
	var out, done int64
	for _, s := range steps {
		if n := min(cpus, s.upTo) - done; n > 0 {
			out += n * s.perCore
			done += n
		}
	}
	return out
}

// kubeReservedMi is 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % up to 128, 2 % above.
// Source: AKS' documentation of resource reservations (its older table, which its images' flags still follow).
func kubeReservedMi(gib float64) int64 {
	steps := []struct{ upTo, share float64 }{{4, .25}, {8, .20}, {16, .10}, {128, .06}, {math.Inf(1), .02}}
	var out, done float64
	for _, s := range steps {
		if n := min(gib, s.upTo) - done; n > 0 {
			out += n * s.share
			done += n
		}
	}
	// A hair is added because 1843.2 must not become 1842 by the error of the sum.
	return int64(out*1024 + 1e-6)
}

// maxPodsOf is how many pods a machine of the class may run: its own word, or the network's default.
func maxPodsOf(class *model.AzureClass, net Network) int64 {
	switch {
	case class.MaxPods != nil:
		return int64(*class.MaxPods)
	case net.Plugin == pluginNone:
		return 250
	case net.Plugin == pluginAzure && net.Mode == modeOverlay:
		return 250
	case net.Plugin == pluginAzure && net.Mode == "":
		return 30
	}
	return 110
}

func diskGB(class *model.AzureClass) int32 {
	if class.OSDiskSizeGB == 0 {
		return defaultOSDiskGB
	}
	return class.OSDiskSizeGB
}
