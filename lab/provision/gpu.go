package provision

import (
	"context"
	"slices"
	"strings"
)

// gpuVariables: driver, fabric manager, partitions and the managed plugins.
func gpuVariables() []Variable {
	return []Variable{
		{"GPU_NODE", Flag, "on NVIDIA sizes", "no driver; one that the image carries is removed", inMain},
		{"CONFIG_GPU_DRIVER_IF_NEEDED", Flag, "", "the driver is tried, and installed only if that fails", inConfig},
		{"GPU_DRIVER_VERSION", Text, "on NVIDIA sizes with Ubuntu", "an image that does not exist: exit 84", inHelpers},
		{"GPU_DRIVER_TYPE", Text, "on NVIDIA sizes", "an image that does not exist: exit 84", inHelpers},
		{"GPU_IMAGE_SHA", Text, "on NVIDIA sizes with Ubuntu", "a tag that ends with a hyphen: exit 84", inHelpers},
		{"GPU_NEEDS_FABRIC_MANAGER", Flag, "on sizes whose GPUs talk through switches", "the node joins, and no program can use its GPUs", inMain},
		{"MIG_NODE", Flag, "", "whole GPUs", inMain},
		{"GPU_INSTANCE_PROFILE", Text, "with MIG_NODE", "no partitions", inConfig},
		{"NVIDIA_MIG_STRATEGY", Text, "", "single", inConfig},
		{"NVIDIA_MIG_PROFILE_LAYOUT", Text, "", "one profile for all", inConfig},
		{"ENABLE_MANAGED_GPU", Text, "", "somebody else brings a device plugin", inMain},
		{"ENABLE_MANAGED_GPU_DRA", Text, "", "somebody else brings a driver", inMain},
	}
}

// driver installs the GPU's driver (ensureGPUDrivers, configGPUDrivers) and what runs above it.
func (b *boot) driver(context.Context) *stop {
	gpu := acceleratorOf(b.machine.Size)
	if !b.on("GPU_NODE") {
		if gpu.nvidia && !gpu.carried {
			b.warn("GPU_NODE is not true on %s: the image removes the driver it carries, and somebody else must bring one", b.machine.Size)
		}
		return nil
	}
	if b.image.arm64 { // such sizes carry their driver
		b.out.Driver = "the image's own"
		return nil
	}
	if !gpu.nvidia {
		return exit(exitDriver, "GPU_NODE is true, and no NVIDIA driver finds a GPU on %q", b.machine.Size)
	}
	kind := b.get("GPU_DRIVER_TYPE")
	if end := b.installDriver(kind); end != nil {
		return end
	}
	switch {
	case gpu.grid != "" && kind != gpu.grid:
		return exit(exitDriver, "GPU_DRIVER_TYPE: %s needs %s, and %q does not see its GPU", b.machine.Size, gpu.grid, kind)
	case gpu.grid == "" && !strings.HasPrefix(kind, "cuda"):
		return exit(exitDriver, "GPU_DRIVER_TYPE: %s needs a cuda driver, and %q does not see its GPU", b.machine.Size, kind)
	}
	return b.aboveDriver(gpu)
}

// installDriver runs the driver image on Ubuntu and installs packages on Azure Linux, which ignores version and suffix.
func (b *boot) installDriver(kind string) *stop {
	if !b.image.ubuntu {
		if kind == "grid-v20" {
			return exit(exitGridLinux, "GPU_DRIVER_TYPE: Azure Linux has no %s", kind)
		}
		b.out.Driver = "packages of Azure Linux, " + kind
		return nil
	}
	tag := b.get("GPU_DRIVER_VERSION") + "-" + b.get("GPU_IMAGE_SHA")
	image := "mcr.microsoft.com/aks/aks-gpu-" + kind + ":" + tag
	if !slices.Contains(driverImages()[kind], tag) {
		return exit(exitDriver, "the driver image %s does not exist (GPU_DRIVER_TYPE, GPU_DRIVER_VERSION, GPU_IMAGE_SHA)", image)
	}
	b.out.Driver = image
	return nil
}

// aboveDriver starts the fabric manager and whatever the managed plugins ask for.
func (b *boot) aboveDriver(gpu accelerator) *stop {
	switch fabric := b.on("GPU_NEEDS_FABRIC_MANAGER"); {
	case fabric && !gpu.nvswitch:
		return exit(exitDriver, "GPU_NEEDS_FABRIC_MANAGER is true, and on %s there is no switch for it to train", b.machine.Size)
	case fabric:
		b.started("nvidia-fabricmanager")
	case gpu.nvswitch:
		b.warn("GPU_NEEDS_FABRIC_MANAGER is not true on %s: no program can use its GPUs", b.machine.Size)
	}
	if b.on("MIG_NODE") {
		b.started("mig-partition")
		if !slices.Contains([]string{"MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"}, b.get("GPU_INSTANCE_PROFILE")) {
			b.warn("MIG_NODE is true, and GPU_INSTANCE_PROFILE is %q: no partition is made", b.get("GPU_INSTANCE_PROFILE"))
		}
	}
	plugin, dra := strings.EqualFold(b.get("ENABLE_MANAGED_GPU"), "true"), strings.EqualFold(b.get("ENABLE_MANAGED_GPU_DRA"), "true")
	switch {
	case plugin && dra:
		return exit(exitManagedGPU, "ENABLE_MANAGED_GPU and ENABLE_MANAGED_GPU_DRA are both true")
	case plugin:
		b.started("nvidia-device-plugin")
	case dra:
		b.started("dra-driver-nvidia-gpu")
	}
	if plugin || dra {
		b.addLabel("kubernetes.azure.com/dcgm-exporter=enabled")
	}
	return nil
}
