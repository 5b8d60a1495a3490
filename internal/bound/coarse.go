package bound

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// cluster is groups of a part that are taken for one.
type cluster struct {
	of     []int // positions in the part
	axis   int   // resource in which they differ most
	spread float64
}

// clusters sorts the groups into about n clusters of similar ones, at least one per set of machines that they fit on: those that
// differ most are cut in two until there are enough. prices weigh the resources.
func (q *part) clusters(n int, prices []float64) []cluster {
	words := make([][]byte, len(q.groups))
	for m, fits := range q.fits {
		for _, f := range fits {
			words[f.g] = binary.AppendUvarint(words[f.g], uint64(m))
			if f.most < 4 {
				words[f.g] = append(words[f.g], byte(f.most))
			}
		}
	}
	at := map[string]int{}
	var out []cluster
	for g, w := range words {
		i, ok := at[string(w)]
		if !ok {
			i = len(out)
			at[string(w)] = i
			out = append(out, cluster{})
		}
		out[i].of = append(out[i].of, g)
	}
	for i := range out {
		q.measure(&out[i], prices)
	}
	for len(out) < n {
		worst := 0
		for i := range out {
			if out[i].spread > out[worst].spread {
				worst = i
			}
		}
		if out[worst].spread <= tiny {
			break
		}
		out = append(out, q.cut(&out[worst], prices))
	}
	return out
}

// mean is what a pod of the cluster needs on average.
func (q *part) mean(c *cluster) (need []float64, count float64) {
	need = make([]float64, len(q.scale))
	for _, g := range c.of {
		count += q.count[g]
		for r, v := range q.need[g] {
			need[r] += v * q.count[g]
		}
	}
	for r := range need {
		need[r] /= count
	}
	return need, count
}

// measure notes in which resource a cluster's pods differ most, and by how much money in all.
func (q *part) measure(c *cluster, prices []float64) {
	mean, _ := q.mean(c)
	best := -1.0
	c.spread = 0
	for r, p := range prices {
		sum := 0.0
		for _, g := range c.of {
			sum += q.count[g] * math.Abs(q.need[g][r]-mean[r]) * p
		}
		if c.spread += sum; sum > best {
			c.axis, best = r, sum
		}
	}
}

// cut halves a cluster at its mean and returns the other half.
func (q *part) cut(c *cluster, prices []float64) cluster {
	mean, _ := q.mean(c)
	r := c.axis
	slices.SortStableFunc(c.of, func(x, y int) int { return cmp.Compare(q.need[x][r], q.need[y][r]) })
	k := 1
	for k < len(c.of)-1 && q.need[c.of[k]][r] <= mean[r] {
		k++
	}
	other := cluster{of: slices.Clone(c.of[k:])}
	c.of = c.of[:k:k]
	q.measure(c, prices)
	q.measure(&other, prices)
	return other
}

// coarse is the part with one group for each cluster.
func (q *part) coarse(list []cluster) *part {
	out := &part{p: q.p, machines: q.machines, room: q.room, price: q.price, scale: q.scale, money: q.money}
	of := q.owners(list)
	for i := range list {
		need, count := q.mean(&list[i])
		out.groups, out.need, out.count = append(out.groups, i), append(out.need, need), append(out.count, count)
	}
	for m, fits := range q.fits {
		sum := make([]float64, len(list))
		for _, f := range fits {
			sum[of[f.g]] += f.most
		}
		var row []fit
		for i, n := range sum {
			for r, v := range out.need[i] {
				if v > 0 {
					n = min(n, math.Floor(q.room[m][r]/v+1e-6))
				}
			}
			if n > 0 {
				row = append(row, fit{i, n})
			}
		}
		out.fits = append(out.fits, row)
	}
	return out
}

func (q *part) owners(list []cluster) []int {
	of := make([]int, len(q.groups))
	for i, c := range list {
		for _, g := range c.of {
			of[g] = i
		}
	}
	return of
}

// refine turns prices of clusters into prices of their groups. On every machine a cluster's pod is worth the room that it takes
// there, at the machine's own prices, and something beyond; so is a group's pod, and the least over the machines counts.
func (q *part) refine(list []cluster, c *part, worth []float64) []float64 {
	of := q.owners(list)
	out := make([]float64, len(q.groups))
	for g := range out {
		out[g] = math.Inf(1)
	}
	for m := range q.machines {
		cut, _ := c.knapsack(m, worth).split()
		beyond := make([]float64, len(list))
		for _, f := range c.fits[m] {
			beyond[f.g] = max(0, worth[f.g]-dot(c.need[f.g], cut.prices))
		}
		for _, f := range q.fits[m] {
			out[f.g] = min(out[f.g], beyond[of[f.g]]+dot(q.need[f.g], cut.prices))
		}
	}
	for g, v := range out {
		if math.IsInf(v, 1) {
			out[g] = 0
		}
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// valid lowers prices of pods until no machine's load, cut or not, is worth more than the machine. They are nothing when the budget is
// spent before all machines were asked.
func (q *part) valid(worth []float64, budget int) []float64 {
	out := slices.Clone(worth)
	excess := tiny
	for m := range q.machines {
		if q.work > budget {
			clear(out)
			return out
		}
		l, _ := q.knapsack(m, worth).split()
		excess = max(excess, l.value/max(q.price[m], tiny))
	}
	for g := range out {
		out[g] /= excess
	}
	return out
}

// crowds are how many clusters column generation tries with, few first.
var crowds = [...]int{40, 64, 96, 144}

// clustered is generate for cut loads, on clusters of groups: so, many groups cost little more than few, and it loses next to
// nothing.
func (q *part) clustered(start, prices []float64, budget int) []float64 {
	best, value := start, q.sum(start)
	for _, n := range crowds {
		if n >= len(q.groups) {
			return q.generate(best, budget)
		}
		list := q.clusters(n, prices)
		c := q.coarse(list)
		c.work = q.work
		from := make([]float64, len(list))
		for k := range from {
			from[k] = dot(c.need[k], prices)
		}
		worth := c.generate(from, q.work+(budget-q.work)/2)
		q.work = c.work
		better := q.valid(q.refine(list, c, worth), budget)
		if v := q.sum(better); v > value {
			best, value = better, v
		}
		if q.work > budget || c.sum(worth) <= value*(1+closeTo) {
			break
		}
	}
	return best
}
