package place

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// dims names the columns of vec: the fixed four, then extended resources in sorted order.
type dims []string

// attachPrefix begins the names of columns that count a CSI driver's attached volumes.
const attachPrefix = "attach "

func newDims(groups []*podClass, daemons []model.Daemon) dims {
	ext := map[string]bool{}
	for _, d := range daemons {
		for k := range d.Pod.Requests.Extended {
			ext[k] = true
		}
	}
	for _, g := range groups {
		for k := range g.requests.Extended {
			ext[k] = true
		}
		for _, v := range g.first().Volumes {
			if v.Driver != "" {
				ext[attachPrefix+v.Driver] = true
			}
		}
	}
	d := dims{model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods}
	return append(d, slices.Sorted(maps.Keys(ext))...)
}

func (d dims) vec(r model.Resources) vec.Vec { return d.appendVec(make(vec.Vec, 0, len(d)), r) }

// appendVec appends vec(r) to v.
func (d dims) appendVec(v vec.Vec, r model.Resources) vec.Vec {
	v = append(v, r.CPU, r.Memory, r.Ephemeral, r.Pods) // the fixed four
	for _, n := range d[4:] {
		v = append(v, r.Extended[n])
	}
	return v
}

// machine is vec of what a machine gives, with how many volumes it can attach. A driver without a bound has none.
func (d dims) machine(r model.Resources, attach map[string]int64) vec.Vec {
	v := d.vec(r)
	for i, n := range d {
		if driver, ok := strings.CutPrefix(n, attachPrefix); ok {
			if v[i], ok = attach[driver]; !ok {
				v[i] = unlimited
			}
		}
	}
	return v
}

// resources is the inverse of vec, without volumes.
func (d dims) resources(v vec.Vec) model.Resources {
	var r model.Resources
	for i, n := range d {
		if v[i] != 0 && !strings.HasPrefix(n, attachPrefix) {
			r = r.With(n, v[i])
		}
	}
	return r
}

// unlimited stands for "no limit" in vectors of limits; small enough to subtract from without wrapping.
const unlimited = math.MaxInt64 / 4
