package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-aks/karpenter/lab"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	gpu = corev1.ResourceName("nvidia.com/gpu")
)

// capacity is what the kernel of the machine reports.
//
// Memory is less than the size promises: firmware and the kernel image take about 112 MiB, and the kernel's page table
// (64 bytes per 4 KiB page) a 64th of it all. For a 3.5 GiB Standard_DS1_v2 that gives 3497984Ki; users
// of AKS have published 3500452Ki, so the model is within 0.1 %. Of the disk, the file system keeps a 32nd: a 128 GiB disk shows 124 GiB.
// GPUs are there at once: the lab has no device plugin to wait for.
func capacity(m lab.Machine, maxPods int64) corev1.ResourceList {
	memory := m.MemoryMiB*mib - m.MemoryMiB*mib/64 - 112*mib
	disk := int64(m.OSDiskGB) * gib
	out := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(m.CPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(max(memory, 0)/1024*1024, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity((disk-disk/32)/1024*1024, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
	if m.GPUs > 0 {
		out[gpu] = *resource.NewQuantity(int64(m.GPUs), resource.DecimalSI)
	}
	return out
}

// allocatable is capacity less kube-reserved, system-reserved and the hard eviction thresholds, never below zero: what
// the kubelet publishes and admits pods against.
func (s settings) allocatable(capacity corev1.ResourceList) corev1.ResourceList {
	out := capacity.DeepCopy()
	for _, reserved := range []corev1.ResourceList{s.kubeReserved, s.systemReserved} {
		for name, q := range reserved {
			take(out, name, q)
		}
	}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		if v, ok := s.eviction[signal]; ok {
			of := capacity[name]
			n, _ := threshold(v, of.Value()) // was checked when it was read
			take(out, name, *resource.NewQuantity(n, resource.BinarySI))
		}
	}
	return out
}

func take(from corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	have, ok := from[name]
	if !ok {
		return // pid and the like are reserved but not published
	}
	have.Sub(q)
	if have.Sign() < 0 {
		have.Set(0)
	}
	from[name] = have
}
