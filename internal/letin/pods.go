package letin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// whole is how many steps it takes to do without a thing altogether: more than any other change.
const whole = 1000

// ofPod lists what the pod itself could ask less of.
func (s *seeker) ofPod() (out []trial) {
	for _, list := range [][]trial{
		s.tolerations(), s.selectors(), s.affinities(), s.spreads(), s.ties(), s.requests(),
		s.needs(),
	} {
		out = append(out, list...)
	}
	return out
}

// one is a trial with the pod changed.
func (s *seeker) one(field, from, to string, steps int, change func(*model.Pod)) trial {
	p := *s.pod
	change(&p)
	return trial{Change: Change{"pod " + p.Key().String(), field, from, to}, steps: steps, pod: &p}
}

// tolerations that pools ask for. Whoever lacks two for one pool is not helped by one.
func (s *seeker) tolerations() (out []trial) {
	done := map[model.Taint]bool{}
	for _, pool := range s.in.Place.World.Pools {
		x, bad := model.Untolerated(pool.Taints, s.pod.Tolerations)
		if !bad || done[x] {
			continue
		}
		done[x] = true
		t := model.Toleration{Key: x.Key, Op: "Equal", Value: x.Value, Effect: x.Effect}
		out = append(out, s.one("spec.tolerations["+x.Key+"]", None, x.String(), 1,
			func(p *model.Pod) { p.Tolerations = append(slices.Clone(p.Tolerations), t) }))
	}
	return out
}

func (s *seeker) selectors() (out []trial) {
	for _, k := range slices.Sorted(maps.Keys(s.pod.NodeSelector)) {
		out = append(out, s.one("spec.nodeSelector["+k+"]", s.pod.NodeSelector[k], None, whole,
			func(p *model.Pod) {
				p.NodeSelector = maps.Clone(p.NodeSelector)
				delete(p.NodeSelector, k)
			}))
	}
	return out
}

// affinities leaves out one requirement of one term of the node affinity; closer than that is to
// admit what the machine has that would then be bought.
func (s *seeker) affinities() (out []trial) {
	for i, term := range s.pod.Affinity {
		for j, r := range term {
			with := func(to string, steps int, list ...model.Requirement) trial {
				return s.one("spec.affinity.nodeAffinity["+r.Key+"]", require.Of(r).String(), to,
					steps, func(p *model.Pod) {
						t := slices.Replace(slices.Clone(term), j, j+1, list...)
						p.Affinity = slices.Clone(p.Affinity)
						if p.Affinity[i] = t; len(t) == 0 {
							p.Affinity = nil // one alternative allows everything
						}
					})
			}
			t := with(None, whole)
			t.closer = func(got place.Plan) (out []trial) {
				for _, v := range s.valuesOf(got, r.Key) {
					if w, steps, ok := widened(r, v); ok {
						out = append(out, with(require.Of(w).String(), steps, w))
					}
				}
				return out
			}
			out = append(out, t)
		}
	}
	return out
}

func (s *seeker) spreads() (out []trial) {
	for i, c := range s.pod.Spread {
		if !c.Hard {
			continue
		}
		at := "spec.topologySpreadConstraints[" + c.Key + "]"
		with := func(field, from, to string, steps int, x model.Spread) trial {
			return s.one(at+field, from, to, steps, func(p *model.Pod) {
				p.Spread = slices.Clone(p.Spread)
				p.Spread[i] = x
			})
		}
		wide, soft := c, c
		wide.MaxSkew++
		soft.Hard = false
		out = append(out,
			with(".maxSkew", fmt.Sprint(c.MaxSkew), fmt.Sprint(wide.MaxSkew), 1, wide),
			with(".whenUnsatisfiable", "DoNotSchedule", "ScheduleAnyway", whole, soft))
		if c.MinDomains > 1 {
			few := c
			few.MinDomains = 0
			out = append(out,
				with(".minDomains", fmt.Sprint(c.MinDomains), None, int(c.MinDomains), few))
		}
	}
	return out
}

// ties are what the pod asks of other pods, and its host ports.
func (s *seeker) ties() (out []trial) {
	without := func(field, from string, change func(*model.Pod)) {
		out = append(out, s.one(field, from, None, whole, change))
	}
	for i, t := range s.pod.PodAffinity {
		without("spec.affinity.podAffinity["+t.Key+"]", "required", func(p *model.Pod) {
			p.PodAffinity = slices.Delete(slices.Clone(p.PodAffinity), i, i+1)
		})
	}
	for i, t := range s.pod.PodAntiAffinity {
		without("spec.affinity.podAntiAffinity["+t.Key+"]", "required", func(p *model.Pod) {
			p.PodAntiAffinity = slices.Delete(slices.Clone(p.PodAntiAffinity), i, i+1)
		})
	}
	for i, h := range s.pod.HostPorts {
		port := strconv.Itoa(int(h.Port))
		without("spec.containers.ports.hostPort["+h.Protocol+"]", port, func(p *model.Pod) {
			p.HostPorts = slices.Delete(slices.Clone(p.HostPorts), i, i+1)
		})
	}
	return out
}

// requests that are as large as the roomiest offering allows which nothing else refuses.
func (s *seeker) requests() (out []trial) {
	done := map[string]bool{}
	for _, r := range s.refused.Refusals {
		for _, x := range r.Removed {
			asked := s.pod.Requests.Get(x.What)
			if x.Why != model.WhyResources || x.Most <= 0 || x.Most >= asked {
				continue
			}
			to := model.FormatQuantity(x.What, x.Most)
			if done[x.What+" "+to] {
				continue
			}
			done[x.What+" "+to] = true
			less := int((1 - float64(x.Most)/float64(asked)) * whole) // thousandths
			out = append(out, s.one("spec.containers.resources.requests["+x.What+"]",
				model.FormatQuantity(x.What, asked), to, less,
				func(p *model.Pod) { p.Requests = p.Requests.With(x.What, x.Most) }))
		}
	}
	return out
}

// needs are what no decider knows.
func (s *seeker) needs() (out []trial) {
	fields := map[model.Why]string{
		model.WhyResourceClaims: "spec.resourceClaims",
		model.WhyMatchFields:    "spec.affinity.nodeAffinity.matchFields",
	}
	for i, n := range s.pod.Needs {
		if field := fields[n]; field != "" {
			out = append(out, s.one(field, "some", None, whole, func(p *model.Pod) {
				p.Needs = slices.Delete(slices.Clone(p.Needs), i, i+1)
			}))
		}
	}
	return out
}
