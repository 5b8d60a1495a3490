package problem

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

// AttachPrefix begins the names of columns that count a CSI driver's attached volumes.
const AttachPrefix = "attach "

// NewDims lists what the pods of the classes and the daemons ask for.
func NewDims(groups []*PodClass, daemons []model.Daemon) dims {
	ext := map[string]bool{}
	for _, d := range daemons {
		for k := range d.Pod.Requests.Extended {
			ext[k] = true
		}
	}
	for _, g := range groups {
		for k := range g.Requests.Extended {
			ext[k] = true
		}
		for _, v := range g.First().Volumes {
			if v.Driver != "" {
				ext[AttachPrefix+v.Driver] = true
			}
		}
	}
	d := dims{model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods}
	return append(d, slices.Sorted(maps.Keys(ext))...)
}

func (d dims) Vec(r model.Resources) vec.Vec { return d.appendVec(make(vec.Vec, 0, len(d)), r) }

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
	v := d.Vec(r)
	for i, n := range d {
		if driver, ok := strings.CutPrefix(n, AttachPrefix); ok {
			if v[i], ok = attach[driver]; !ok {
				v[i] = Unlimited
			}
		}
	}
	return v
}

// Resources is the inverse of vec, without volumes.
func (d dims) Resources(v vec.Vec) model.Resources {
	var r model.Resources
	for i, n := range d {
		if v[i] != 0 && !strings.HasPrefix(n, AttachPrefix) {
			r = r.With(n, v[i])
		}
	}
	return r
}

// Unlimited stands for "no limit" in vectors of limits; small enough to subtract from without wrapping.
const Unlimited = math.MaxInt64 / 4
