package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Names of the resources that have a column of their own in Resources.
const (
	ResourceCPU       = "cpu"
	ResourceMemory    = "memory"
	ResourceEphemeral = "ephemeral-storage"
	ResourcePods      = "pods"
	// ResourceNodes counts machines. It appears in pool limits only.
	ResourceNodes = "nodes"
)

// Resources is an amount of everything a pod can ask for or a machine can give.
// The zero value is nothing at all. Values are never negative except as the result of Sub.
type Resources struct {
	CPU       int64 // thousandths of a core
	Memory    int64 // bytes
	Ephemeral int64 // bytes
	Pods      int64 // count
	// Extended holds counts of extended resources such as nvidia.com/gpu. Treat it as immutable: Add and Sub
	// return fresh maps. A missing name means zero.
	Extended map[string]int64
}

// Add returns r + o. O(extended names).
func (r Resources) Add(o Resources) Resources {
	r.CPU += o.CPU
	r.Memory += o.Memory
	r.Ephemeral += o.Ephemeral
	r.Pods += o.Pods
	r.Extended = combine(r.Extended, o.Extended, 1)
	return r
}

// Sub returns r - o; the result may be negative. O(extended names).
func (r Resources) Sub(o Resources) Resources {
	r.CPU -= o.CPU
	r.Memory -= o.Memory
	r.Ephemeral -= o.Ephemeral
	r.Pods -= o.Pods
	r.Extended = combine(r.Extended, o.Extended, -1)
	return r
}

func combine(a, b map[string]int64, sign int64) map[string]int64 {
	if len(b) == 0 {
		return a
	}
	out := make(map[string]int64, len(a)+len(b))
	maps.Copy(out, a)
	for k, v := range b {
		out[k] += sign * v
	}
	return out
}

// Max returns the larger of r and o in every column. Init containers need it.
func (r Resources) Max(o Resources) Resources {
	r.CPU, r.Memory = max(r.CPU, o.CPU), max(r.Memory, o.Memory)
	r.Ephemeral, r.Pods = max(r.Ephemeral, o.Ephemeral), max(r.Pods, o.Pods)
	if len(o.Extended) > 0 {
		out := maps.Clone(r.Extended)
		if out == nil {
			out = map[string]int64{}
		}
		for k, v := range o.Extended {
			out[k] = max(out[k], v)
		}
		r.Extended = out
	}
	return r
}

// FitsIn reports whether r can be taken out of room without any column going below zero.
func (r Resources) FitsIn(room Resources) bool {
	if r.CPU > room.CPU || r.Memory > room.Memory || r.Ephemeral > room.Ephemeral || r.Pods > room.Pods {
		return false
	}
	for k, v := range r.Extended {
		if v > room.Extended[k] {
			return false
		}
	}
	return true
}

// Short names the first resource (in fixed order, extended ones by name) of which room has too little for r,
// or "" when r fits.
func (r Resources) Short(room Resources) string {
	switch {
	case r.CPU > room.CPU:
		return ResourceCPU
	case r.Memory > room.Memory:
		return ResourceMemory
	case r.Ephemeral > room.Ephemeral:
		return ResourceEphemeral
	case r.Pods > room.Pods:
		return ResourcePods
	}
	for _, k := range slices.Sorted(maps.Keys(r.Extended)) {
		if r.Extended[k] > room.Extended[k] {
			return k
		}
	}
	return ""
}

// Get returns the amount of the named resource in the units of its column; unknown names are zero.
func (r Resources) Get(name string) int64 {
	switch name {
	case ResourceCPU:
		return r.CPU
	case ResourceMemory:
		return r.Memory
	case ResourceEphemeral:
		return r.Ephemeral
	case ResourcePods:
		return r.Pods
	}
	return r.Extended[name]
}

// With returns r with the named resource set to v, in the units of its column.
func (r Resources) With(name string, v int64) Resources {
	switch name {
	case ResourceCPU:
		r.CPU = v
	case ResourceMemory:
		r.Memory = v
	case ResourceEphemeral:
		r.Ephemeral = v
	case ResourcePods:
		r.Pods = v
	default:
		out := maps.Clone(r.Extended)
		if out == nil {
			out = map[string]int64{}
		}
		out[name] = v
		r.Extended = out
	}
	return r
}

// IsZero reports whether every column is zero.
func (r Resources) IsZero() bool {
	for _, v := range r.Extended {
		if v != 0 {
			return false
		}
	}
	return r.CPU == 0 && r.Memory == 0 && r.Ephemeral == 0 && r.Pods == 0
}

// Names lists the resources of which r holds a non-zero amount, fixed columns first, then extended ones by name.
func (r Resources) Names() []string {
	var out []string
	for _, n := range []string{ResourceCPU, ResourceMemory, ResourceEphemeral, ResourcePods} {
		if r.Get(n) != 0 {
			out = append(out, n)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.Extended)) {
		if r.Extended[k] != 0 {
			out = append(out, k)
		}
	}
	return out
}

// String prints r as people write quantities: "cpu 1500m, memory 2Gi, pods 3".
func (r Resources) String() string {
	var parts []string
	for _, n := range r.Names() {
		parts = append(parts, n+" "+FormatQuantity(n, r.Get(n)))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// binaryUnits are the units of bytes, largest first. Nobody changes them.
var binaryUnits = [...]struct {
	size int64
	name string
}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}}

// FormatQuantity prints v, in the units of the named resource's column, in Kubernetes' quantity notation.
func FormatQuantity(name string, v int64) string {
	switch {
	case name == ResourceCPU:
		if v%1000 == 0 {
			return fmt.Sprint(v / 1000)
		}
		return fmt.Sprintf("%dm", v)
	case name == ResourceMemory, name == ResourceEphemeral, strings.HasPrefix(name, "hugepages-"):
		for _, u := range binaryUnits {
			if v != 0 && v%u.size == 0 {
				return fmt.Sprintf("%d%s", v/u.size, u.name)
			}
		}
	}
	return fmt.Sprint(v)
}

// FormatQuantities prints amounts of one resource that are read beside each other, all in one unit, so that they can be compared at
// a glance: "200" and "189.74", not "200" and "189740m". Two that differ never print the same.
func FormatQuantities(name string, values ...int64) []string {
	unit, suffix := int64(1), ""
	most := slices.Max(append([]int64{0}, values...))
	switch {
	case name == ResourceCPU && most < 1000:
		suffix = "m"
	case name == ResourceCPU:
		unit = 1000
	case name == ResourceMemory, name == ResourceEphemeral, strings.HasPrefix(name, "hugepages-"):
		for _, u := range binaryUnits {
			if most >= u.size {
				unit, suffix = u.size, u.name
				break
			}
		}
	}
	out := make([]string, len(values))
	for digits := 2; ; digits++ {
		printed := map[string]int64{}
		clear := true
		for i, v := range values {
			s := strconv.FormatFloat(float64(v)/float64(unit), 'f', digits, 64)
			if strings.Contains(s, ".") {
				s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
			}
			out[i] = s + suffix
			if v == 0 {
				out[i] = "0"
			}
			other, taken := printed[out[i]]
			clear = clear && (!taken || other == v)
			printed[out[i]] = v
		}
		if clear || digits == maxDigits {
			return out
		}
	}
}

// maxDigits is how many decimals tell two bytes of a tebibyte apart.
const maxDigits = 13
