package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/model"
)

// group is worlds of one kind.
type group struct {
	name   string
	worlds []model.World
}

// result is what became of the worlds of a group.
type result struct {
	left  []int
	price []model.Price
	took  time.Duration
}

// groups makes the worlds, one of every few.
func groups(ctx context.Context, few int) ([]group, error) {
	azure, err := bench.Azure(ctx)
	if err != nil {
		return nil, err
	}
	sold := bench.OnDemand(azure)
	small := group{name: "small"}
	for seed := range uint64(400 / few) {
		small.worlds = append(small.worlds, worldgen.Small(seed))
	}
	tied := group{name: "tied"}
	for seed := range uint64(80 / few) {
		stored, _ := worldgen.Stored(seed)
		tied.worlds = append(tied.worlds, worldgen.Chains(seed), worldgen.Related(seed), worldgen.Exclusive(seed),
			worldgen.Beyond(seed), worldgen.Ports(seed), stored)
	}
	ours := group{name: "our mixes"}
	large := group{name: "10,000 pods"}
	mixes := []func(int, uint64) []model.Pod{workload.Diverse, workload.Shapes, workload.Topology, workload.OddShapes}
	for i, mix := range mixes {
		for j, n := range []int{60, 250, 1_000} {
			if (i+j)%few == 0 {
				ours.worlds = append(ours.worlds, workload.World(workload.Families(), mix(n, uint64(n))),
					workload.World(sold, mix(n, uint64(n+1))))
			}
		}
		if i%few == 0 && i < 3 {
			large.worlds = append(large.worlds, workload.World(workload.Families(), mix(10_000, 1)))
		}
	}
	others := group{name: "others' mixes"}
	for i, k := range workload.Kinds() {
		if i%few == 0 {
			others.worlds = append(others.worlds, workload.World(sold, k.Pods(300, 1)))
		}
	}
	flight := group{name: "in flight"}
	for i, w := range slices.Concat(small.worlds[:len(small.worlds)/2], tied.worlds[:len(tied.worlds)/2], ours.worlds) {
		flight.worlds = append(flight.worlds, inFlight(w, uint64(i)))
	}
	some := group{name: "some outside zones"}
	for i, w := range slices.Concat(small.worlds, tied.worlds) {
		if i%2 == 0 {
			some.worlds = append(some.worlds, regional(w, uint64(i)))
		}
	}
	choice := group{name: "minValues"}
	for seed := range uint64(60 / few) {
		choice.worlds = append(choice.worlds, worldgen.Choice(seed, azure))
	}
	pools := group{name: "20 pools", worlds: []model.World{workload.Teams(sold, workload.Shapes(500, 1), 20)}}
	return []group{small, tied, flight, some, ours, others, choice, pools, large}, nil
}

// plan plans for all worlds of the group.
func (g *group) plan(without []place.Mechanism) result {
	var r result
	began := cpu()
	for _, w := range g.worlds {
		p := place.Decide(place.Input{World: w, Without: without})
		r.left, r.price = append(r.left, len(p.Unscheduled)), append(r.price, p.Price)
	}
	r.took = cpu() - began
	return r
}

// cpu is the processor time that the process has used, so that what else the machine does is not counted.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heading(w io.Writer, groups []group, landings bool) {
	fmt.Fprint(w, "| without |")
	for _, g := range groups {
		fmt.Fprintf(w, " %s: %d |", g.name, len(g.worlds))
	}
	rule := len(groups)
	if landings {
		fmt.Fprint(w, " landing of 500 |")
		rule++
	}
	fmt.Fprint(w, "\n|---|")
	for range rule {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
}

// line writes what becomes of the worlds without some mechanisms, beside what becomes of them with all.
func line(ctx context.Context, w io.Writer, name string, groups []group, all []result, without []place.Mechanism,
	landings bool) error {
	fmt.Fprintf(w, "| %s |", name)
	for i := range groups {
		fmt.Fprintf(w, " %s |", all[i].beside(groups[i].plan(without)))
	}
	if landings {
		text, err := landing(ctx, without)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " %s |", text)
	}
	fmt.Fprintln(w)
	return nil
}

// beside says what is different in another result: worlds with more and with fewer pods left over; of the others those
// that are dearer and cheaper, and the mean difference; and the processor time.
func (r result) beside(o result) string {
	more, fewer, dearer, cheaper, alike, sum := 0, 0, 0, 0, 0, 0.0
	for i := range r.left {
		switch {
		case o.left[i] > r.left[i]:
			more++
			continue
		case o.left[i] < r.left[i]:
			fewer++
			continue
		case o.price[i] > r.price[i]:
			dearer++
		case o.price[i] < r.price[i]:
			cheaper++
		}
		if alike++; r.price[i] > 0 {
			sum += o.price[i].Float()/r.price[i].Float() - 1
		}
	}
	text := ""
	if more+fewer > 0 {
		text = fmt.Sprintf("leaves more %d, fewer %d; ", more, fewer)
	}
	if dearer+cheaper > 0 {
		text += fmt.Sprintf("dearer %d, cheaper %d, %+.3f %%; ", dearer, cheaper, 100*sum/float64(max(alike, 1)))
	}
	return text + fmt.Sprintf("× %.2f", o.took.Seconds()/r.took.Seconds())
}

// landed is what the story of a landing prints.
var landed = regexp.MustCompile(`machines planned (\d+), bought beside (\d+)`)

// landing plays the landing of mixed pods on virtual time. It needs the whole project around it.
func landing(ctx context.Context, without []place.Mechanism) (string, error) {
	args := []string{"test", "./internal/sim", "-run", "^TestAMixtureGetsWhatWasBoughtForIt$", "-v", "-count=1", "-args"}
	for _, m := range without {
		args = append(args, "-without", string(m))
	}
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	found := landed.FindAllSubmatch(out, -1)
	if len(found) == 0 {
		return "", fmt.Errorf("landing: %w\n%s", err, out)
	}
	planned, beside := 0, 0
	for _, m := range found {
		planned += number(m[1])
		beside += number(m[2])
	}
	return fmt.Sprintf("%d planned, %d beside", planned, beside), nil
}

// number reads digits.
func number(b []byte) int {
	n, _ := strconv.Atoi(string(b)) // digits, by the expression
	return n
}
