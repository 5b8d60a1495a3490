package azure

import (
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// room is one place on the machine itself where an OS disk can live.
type room struct {
	placement armcompute.DiffDiskPlacement
	gb        float64 // decimal GB
}

// rooms lists where an ephemeral OS disk may live on the size, in order of preference: NVMe, cache, resource disk.
// Source: Azure's documentation of ephemeral OS disks; the sizes are in bytes (cache) and MiB (the others).
func (s SKU) rooms() []room {
	const mib, giga = 1 << 20, 1e9
	var out []room
	add := func(p armcompute.DiffDiskPlacement, bytes int64) {
		if bytes > 0 && slices.Contains(s.Placements, string(p)) {
			out = append(out, room{p, float64(bytes) / giga})
		}
	}
	add(armcompute.DiffDiskPlacementNvmeDisk, s.NVMeMiB*mib)
	add(armcompute.DiffDiskPlacementCacheDisk, s.CacheBytes)
	add(armcompute.DiffDiskPlacementResourceDisk, s.ResourceMiB*mib)
	return out
}

// ephemeralFor picks the first place that holds an OS disk of the given size; ok is false when none does and the
// disk must be a managed one. A place that is too small does not hide a larger one behind it.
func ephemeralFor(rooms []room, diskGB int32) (armcompute.DiffDiskPlacement, bool) {
	for _, r := range rooms {
		if float64(diskGB) <= r.gb {
			return r.placement, true
		}
	}
	return "", false
}

// maxEphemeralGB is the largest ephemeral OS disk the size can hold, 0 = none.
func maxEphemeralGB(rooms []room) int64 {
	var best float64
	for _, r := range rooms {
		best = max(best, r.gb)
	}
	return int64(best)
}
