package workload

import (
	"fmt"
	"math"

	"github.com/karpenter-aks/karpenter/model"
)

// GPU is the resource that accelerators are asked for as, GPUModel the label that names their model.
const (
	GPU      = "nvidia.com/gpu"
	GPUModel = "karpenter.azure.com/sku-gpu-name"
)

// Kind is pods of one kind of user.
type Kind struct {
	Name string
	Pods func(n int, seed uint64) []model.Pod
}

// Kinds are users unlike each other: what they run differs in how large pods are beside machines, in how their amounts are mixed, in how many
// shapes there are, and in what else than cores and memory is short.
func Kinds() []Kind {
	return []Kind{
		{Name: "large pods", Pods: LargePods},
		{Name: "mixed ratios", Pods: MixedRatios},
		{Name: "batch", Pods: Batch},
		{Name: "crowd", Pods: Crowd},
		{Name: "disks", Pods: Disks},
		{Name: "gpus", Pods: GPUs},
		{Name: "gpu models", Pods: GPUModels},
	}
}

// several adds pods of one shape, of which there are few or many.
func (m *maker) several(n int, p model.Pod) {
	many := 1 + int(math.Exp(m.r.NormFloat64()*1.2+0.6))
	for range min(many, n-len(m.pods)) {
		m.add(p)
	}
}

// step rounds an amount up to what people write.
func step(v float64, to int64) int64 { return max(1, int64(math.Ceil(v/float64(to)))) * to }

// LargePods returns n waiting pods of some hundred shapes that take a tenth of a machine to a whole one, as databases, build machines
// and simulations do.
func LargePods(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		cpu := min(max(math.Exp(m.r.NormFloat64()*0.8)*9_000, 2_000), 60_000)
		memory := min(cpu/1000*math.Exp(m.r.NormFloat64()*0.7)*4, 400)
		m.several(n, model.Pod{Requests: model.Resources{CPU: step(cpu, 250), Memory: step(memory, 1) * gib}})
	}
	return m.pods
}

// MixedRatios returns n waiting pods with half a GiB to 16 GiB per core.
func MixedRatios(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		cpu := min(max(math.Exp(m.r.NormFloat64()*1.1)*1_200, 50), 24_000)
		memory := cpu / 1000 * math.Exp2(-1+5*m.r.Float64())
		m.several(n, model.Pod{Requests: model.Resources{CPU: step(cpu, 50), Memory: step(memory*1024, 64) * mib}})
	}
	return m.pods
}

// Batch returns n waiting pods of six shapes that do not divide machines well.
func Batch(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for job := range 6 {
		p := model.Pod{Requests: model.Resources{CPU: step(1_500+m.r.Float64()*14_000, 100), Memory: step(2+m.r.Float64()*60, 1) * gib}, Labels: map[string]string{"job": fmt.Sprint(job)}}
		for len(m.pods) < n*(job+1)/6 {
			m.add(p)
		}
	}
	return m.pods
}

// Crowd returns n waiting pods so small that how many a machine may run counts most, and a few that are not.
func Crowd(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		r := model.Resources{CPU: 5 + 5*m.r.Int64N(8), Memory: (16 + 16*m.r.Int64N(8)) * mib}
		if m.r.IntN(12) == 0 {
			r = model.Resources{CPU: 500 + 500*m.r.Int64N(14), Memory: (1 + m.r.Int64N(30)) * gib}
		}
		m.several(n, model.Pod{Requests: r})
	}
	return m.pods
}

// Disks returns n waiting pods of which a third need much of the node's disk.
func Disks(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		p := model.Pod{Requests: m.shape()}
		if m.r.IntN(3) == 0 {
			p.Requests.Ephemeral = step(2+m.r.Float64()*50, 1) * gib
		}
		m.several(n, p)
	}
	return m.pods
}

// gpuPod draws a pod with 1, 2, 4 or 8 accelerators and what runs beside them.
func (m *maker) gpuPod() model.Pod {
	count := pick[int64](m.r, 1, 1, 1, 1, 2, 2, 4)
	cpu := float64(count) * (2 + m.r.Float64()*9)
	memory := float64(count) * (8 + m.r.Float64()*60)
	return model.Pod{Requests: model.Resources{CPU: step(cpu*1000, 500), Memory: step(memory, 1) * gib, Extended: map[string]int64{GPU: count}}}
}

// GPUs returns n waiting pods of which half want accelerators, of whatever model.
func GPUs(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		p := model.Pod{Requests: m.shape()}
		if m.r.IntN(2) == 0 {
			p = m.gpuPod()
		}
		m.several(n, p)
	}
	return m.pods
}

// GPUModels is GPUs with a choice of models each.
func GPUModels(n int, seed uint64) []model.Pod {
	m := newMaker(seed)
	for len(m.pods) < n {
		p := m.gpuPod()
		p.Affinity = []model.Term{{{Key: GPUModel, Op: model.In, Values: pick(m.r, []string{"T4"}, []string{"A10", "T4"}, []string{"A100"}, []string{"A100", "H100"}, []string{"H100"})}}}
		if m.r.IntN(4) == 0 {
			p = model.Pod{Requests: m.shape()}
		}
		m.several(n, p)
	}
	return m.pods
}
