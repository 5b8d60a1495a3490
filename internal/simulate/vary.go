package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Variations says, for help texts, what Vary knows.
const Variations = "spot (every pool may buy spot machines, too), no-min-values (no pool asks for minValues), requests*0.7 " +
	"(waiting pods ask for 0.7 times the cpu and memory)"

// maxFactor bounds by how much requests are multiplied.
const maxFactor = 1000

// Vary is the same question about a cluster in which one thing is otherwise; Variations lists what.
// The error says what is wanted. The question itself stays as it is. O(pools + pods).
func (q Question) Vary(what string) (Question, error) {
	factor, isFactor := strings.CutPrefix(what, "requests*")
	q.Refused = nil // that plan was made for the cluster as it is
	switch {
	case what == "spot":
		q.World.Pools = pools(q.World.Pools, allowSpot)
	case what == "no-min-values":
		q.World.Pools = pools(q.World.Pools, func(r *model.Requirement) { r.MinValues = 0 })
	case isFactor:
		f, err := strconv.ParseFloat(factor, 64)
		if err != nil || !(f > 0 && f <= maxFactor) {
			return Question{}, fmt.Errorf("%q: want a factor above 0, at most %d, like requests*0.7", what, maxFactor)
		}
		q.World.Pods = slices.Clone(q.World.Pods)
		for i := range q.World.Pods {
			if p := &q.World.Pods[i]; p.Node == "" {
				p.Requests.CPU, p.Requests.Memory = times(p.Requests.CPU, f), times(p.Requests.Memory, f)
			}
		}
	default:
		return Question{}, fmt.Errorf("%q is neither a file nor one of: %s", what, Variations)
	}
	return q, nil
}

// times rounds up, so that what asks for something goes on asking for something.
func times(v int64, f float64) int64 {
	return int64(math.Min(math.Ceil(float64(v)*f), math.MaxInt64/2))
}

// pools copies pools and changes each of their requirements.
func pools(list []model.Pool, change func(*model.Requirement)) []model.Pool {
	list = slices.Clone(list)
	for i := range list {
		list[i].Requirements = slices.Clone(list[i].Requirements)
		for j := range list[i].Requirements {
			change(&list[i].Requirements[j])
		}
	}
	return list
}

// allowSpot lets a requirement on the capacity type admit spot.
func allowSpot(r *model.Requirement) {
	isSpot := func(v string) bool { return v == model.Spot }
	switch {
	case r.Key != model.LabelCapacityType:
	case r.Op == model.In && !slices.ContainsFunc(r.Values, isSpot):
		r.Values = append(slices.Clone(r.Values), model.Spot)
	case r.Op == model.NotIn:
		r.Values = slices.DeleteFunc(slices.Clone(r.Values), isSpot)
	}
}

// Varied is the answer to a variation in short.
type Varied struct {
	What                  string
	Machines, Unscheduled int
	Price                 model.Price // per hour, of what would be bought
}

// InShort sums the answer up.
func (a Answer) InShort(what string) Varied {
	return Varied{what, len(a.bought()), len(a.Plan.Unscheduled), a.price()}
}

// whatIf prints the variations beside the answer as a table.
func (a Answer) whatIf(b *strings.Builder) {
	if len(a.WhatIf) == 0 {
		return
	}
	b.WriteString(Aligned(a.whatIfRows()))
}

// whatIfRows are the rows of the table, its head first.
func (a Answer) whatIfRows() [][]string {
	rows := [][]string{{"what if", "machines", "left over", "price", "change"}}
	base := a.InShort("(as it is)")
	for _, v := range append([]Varied{base}, a.WhatIf...) {
		change := ""
		if v.What != base.What && base.Price > 0 {
			change = fmt.Sprintf("%+.1f %%", 100*(v.Price.Float()/base.Price.Float()-1))
		}
		rows = append(rows, []string{v.What, fmt.Sprint(v.Machines), fmt.Sprint(v.Unscheduled), v.Price.String(), change})
	}
	return rows
}
