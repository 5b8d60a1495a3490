package azure

import (
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// room is one place on the machine itself where an OS disk can live.
type room struct {
	placement armcompute.DiffDiskPlacement
	bytes     int64
}

// rooms lists where an ephemeral OS disk may live on the size, in order of preference: NVMe, cache, resource disk.
// Source: Azure's documentation of ephemeral OS disks; capabilities are in bytes (cache) and MiB (the others).
func (s SKU) rooms() []room {
	var out []room
	add := func(p armcompute.DiffDiskPlacement, bytes int64) {
		if bytes > 0 && slices.Contains(s.Placements, string(p)) {
			out = append(out, room{p, bytes})
		}
	}
	add(armcompute.DiffDiskPlacementNvmeDisk, s.NVMeMiB*mi)
	add(armcompute.DiffDiskPlacementCacheDisk, s.CacheBytes)
	add(armcompute.DiffDiskPlacementResourceDisk, s.ResourceMiB*mi)
	return out
}

// ephemeralFor picks the first place that holds an OS disk of the given size; ok is false when none does and the
// disk must be a managed one. A place that is too small does not hide a larger one behind it. What Azure calls a GB
// of disk is a GiB, here too: a cache of 86 GiB refuses a disk of 92.
func ephemeralFor(rooms []room, diskGB int32) (armcompute.DiffDiskPlacement, bool) {
	for _, r := range rooms {
		if int64(diskGB) <= r.bytes/gi {
			return r.placement, true
		}
	}
	return "", false
}

// maxEphemeralGB is the value of the label: the largest place in true GB (10^9 bytes), rounded down, as users of the
// label know it; 0 = none.
func maxEphemeralGB(rooms []room) int64 {
	var best int64
	for _, r := range rooms {
		best = max(best, r.bytes)
	}
	return best / 1e9
}
