package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// visibleGap is the gap from which it is printed as more than nothing.
const visibleGap = 0.0005

// maxNamed bounds how many names a line holds, unless everything was asked for.
const maxNamed = 4

// Text prints the answer for people. With wide, nothing is cut short or taken together.
func (a Answer) Text(wide bool) string {
	named := maxNamed
	if wide {
		named = 1 << 30
	}
	var b strings.Builder
	a.asked(&b)
	b.WriteString(a.buyText())
	a.buys(&b, a.Plan.NewClaims, named, wide)
	a.fits(&b, named, wide)
	a.left(&b, named, wide)
	a.static(&b, named, func(list []place.NewClaim) { a.buys(&b, list, named, wide) })
	b.WriteString(a.priceText())
	a.totalLines(&b, wide)
	a.bounds(&b)
	a.whatIf(&b)
	for _, n := range a.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return printable(b.String())
}

// asked says what the question is: what stands in the input.
func (a Answer) asked(b *strings.Builder) {
	switch {
	case len(a.Refused) > 0:
		fmt.Fprintf(b, "the plan in the input is unsound, and its controller refused it:%s\nwhat this version would do:\n", findings(a.Refused))
	case a.HoldsPlan:
		b.WriteString("the plan in the input stands up to the audit of this version\nwhat this version would do:\n")
	}
	real, virtual := a.waiting()
	fmt.Fprintf(b, "%s, %s, %s waiting for a place", model.Count(len(a.World.Pools), "pool"), model.Count(len(a.World.Nodes), "node"), model.Count(real, "pod"))
	if virtual > 0 {
		fmt.Fprintf(b, ", and room for %d more that buffers keep", virtual)
	}
	b.WriteByte('\n')
}

// buyText says how many machines are bought, "" where no pod waits for one.
func (a Answer) buyText() string {
	real, virtual := a.waiting()
	switch {
	case len(a.Plan.NewClaims) > 0:
		return "buy " + model.Count(len(a.Plan.NewClaims), "machine") + "\n"
	case real+virtual > 0:
		return "buy nothing\n"
	}
	return ""
}

func (a Answer) priceText() string {
	return fmt.Sprintf("price %s, $%.2f a month\n", a.price(), a.price().Month())
}

// bounds says how good the plan is.
func (a Answer) bounds(b *strings.Builder) {
	if a.Bound != nil {
		fmt.Fprintf(b, "bound %s, the plan is %.1f %% above\n", a.Bound, 100*a.gap())
		if names := a.ignored(); len(names) > 0 && a.gap() >= visibleGap {
			fmt.Fprintf(b, "  the bound ignores %s\n", strings.Join(names, ", "))
		}
	}
	if a.Plan.BudgetExceeded {
		b.WriteString("the search was cut short: the plan is sound, but may be dearer than it could be\n")
	}
}

// Trace prints, for people, the decisions that the search accepted one after the other.
func (a Answer) Trace() string {
	var b strings.Builder
	b.WriteString("trace\n")
	for i, t := range a.Plan.Trace {
		what := t.Change
		if i == 0 {
			what = "the first decision"
		}
		fmt.Fprintf(&b, "%4d  %s, %s, %d left  %s\n", i+1, t.Price, model.Count(t.Machines, "machine"), t.Unscheduled, what)
	}
	return printable(b.String())
}

// alike are purchases of one offering for one pool.
type alike struct {
	first    place.NewClaim
	n        int
	requests model.Resources // of all together
	pods     []string
	others   bool // all have the same further options
}

// together groups purchases, in the order of the plan; apart leaves each alone.
func together(list []place.NewClaim, apart bool) []*alike {
	var groups []*alike
	at := map[string]*alike{}
	for _, p := range list {
		key := p.Pool + " " + p.Options[0].Key.String()
		g := at[key]
		if g == nil || apart {
			g = &alike{first: p, others: true}
			at[key], groups = g, append(groups, g)
		}
		g.n++
		g.requests = g.requests.Add(p.Requests)
		g.others = g.others && slices.Equal(g.first.Options, p.Options)
		for _, k := range p.Pods {
			g.pods = append(g.pods, k.String())
		}
	}
	return groups
}

func (a Answer) buys(b *strings.Builder, list []place.NewClaim, named int, wide bool) {
	for i, g := range together(list, wide) {
		if i == maxGroups && !wide {
			b.WriteString(moreKinds)
			break
		}
		best := g.first.Options[0]
		each := ""
		if g.n > 1 {
			each = " each"
		}
		fmt.Fprintf(b, "  %d × %s for pool %s, %s%s\n", g.n, best.Key, g.first.Pool, best.Price, each)
		if len(g.pods) > 0 {
			fmt.Fprintf(b, "      pods      %s\n", some(sorted(g.pods), named))
		}
		if !g.requests.IsZero() {
			fmt.Fprintf(b, "      takes     %s%s\n", g.requests, a.share(g))
		}
		if len(g.first.Options) > 1 && g.others {
			var others []string
			for _, o := range g.first.Options[1:] {
				others = append(others, fmt.Sprintf("%s %s", o.Key, o.Price))
			}
			fmt.Fprintf(b, "      else      %s\n", some(others, othersNamed(wide)))
		}
	}
}

// moreKinds stands for machines that are not named.
const moreKinds = "  and other kinds of machines: -o wide names all\n"

// othersNamed is how many further offerings a line names.
func othersNamed(wide bool) int {
	if wide {
		return 1 << 30
	}
	return maxNamed / 2
}

// share says how full the machines of the best option are on average.
func (a Answer) share(g *alike) string {
	cpu, memory, ok := a.fill(g)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%d %% of cpu, %d %% of memory)", cpu, memory)
}

// fill is how full they are, in per cent. ok is false when nobody knows their room.
func (a Answer) fill(g *alike) (cpu, memory int64, ok bool) {
	t, ok := a.catalog(g.first.Pool).Type(g.first.Options[0].Key.Type)
	room := t.Allocatable
	if !ok || room.CPU == 0 || room.Memory == 0 {
		return 0, 0, false
	}
	n := int64(g.n)
	return 100 * g.requests.CPU / (n * room.CPU), 100 * g.requests.Memory / (n * room.Memory), true
}

func (a Answer) fits(b *strings.Builder, named int, wide bool) {
	if len(a.Plan.Existing) == 0 {
		return
	}
	places, pods := a.places()
	b.WriteString(a.fitsText())
	for i, where := range places {
		if i == maxGroups && !wide {
			b.WriteString(moreNodes(len(places) - i))
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", where, some(sorted(pods[where]), named))
	}
}

// places names what is there that pods fit on, and which fit on each.
func (a Answer) places() (places []string, pods map[string][]string) {
	pods = map[string][]string{}
	for _, n := range a.Plan.Existing {
		where := targetText(n)
		if pods[where] == nil {
			places = append(places, where)
		}
		pods[where] = append(pods[where], n.Pod.String())
	}
	slices.SortFunc(places, natural)
	return places, pods
}

// maxGroups bounds how many nodes or reasons a list has, unless everything was asked for.
const maxGroups = 20

func moreNodes(n int) string { return fmt.Sprintf("  and on %d more\n", n) }

func (a Answer) fitsText() string {
	if n := len(a.Plan.Existing); n > 1 {
		return fmt.Sprintf("%d pods fit on what is there\n", n)
	}
	return "1 pod fits on what is there\n"
}

func targetText(n place.Nomination) string {
	if n.Node != "" {
		return "node " + n.Node
	}
	return "claim " + n.Claim + ", which has no node yet"
}

func (a Answer) left(b *strings.Builder, named int, wide bool) {
	if len(a.Plan.Unscheduled) == 0 {
		return
	}
	b.WriteString(a.leftText())
	groups := a.unlucky()
	for i, g := range groups {
		if i == maxGroups && !wide {
			b.WriteString(moreReasons(len(groups) - i))
			break
		}
		fmt.Fprintf(b, "  %s\n%s", some(g.pods, named), a.reasons(g.first))
	}
}

func (a Answer) leftText() string {
	return model.Count(len(a.Plan.Unscheduled), "pod") + " left over\n"
}

func moreReasons(n int) string { return fmt.Sprintf("  and for %d more reasons\n", n) }

// unlucky are pods that are left over for the same reasons.
type unlucky struct {
	first place.Unscheduled
	pods  []string // as people count
}

// unlucky groups the pods that are left over, in the order of the plan.
func (a Answer) unlucky() []*unlucky {
	var out []*unlucky
	of := map[string]*unlucky{}
	for _, l := range a.Plan.Unscheduled {
		r := a.reasons(l)
		if of[r] == nil {
			of[r] = &unlucky{first: l}
			out = append(out, of[r])
		}
		of[r].pods = append(of[r].pods, l.Pod.String())
	}
	for _, g := range out {
		sorted(g.pods)
	}
	return out
}

// static prints what pools with a fixed number of replicas do. buys prints what they buy.
func (a Answer) static(b *strings.Builder, named int, buys func([]place.NewClaim)) {
	for _, s := range a.Static {
		if len(s.Create) > 0 {
			fmt.Fprintf(b, "static pool %s: buy %s\n", s.Pool, model.Count(len(s.Create), "machine"))
			var list []place.NewClaim
			for _, c := range s.Create {
				list = append(list, c.Purchase)
			}
			buys(list)
		}
		if len(s.Delete) > 0 {
			fmt.Fprintf(b, "static pool %s: delete %s: %s\n", s.Pool, model.Count(len(s.Delete), "claim"), some(s.Delete, named))
		}
		if s.Why != "" {
			fmt.Fprintf(b, "static pool %s: the rest is held back: %s: %s\n", s.Pool, s.Why, s.Detail)
		}
	}
}

// reasons says why a pod is left over, line by line.
func (a Answer) reasons(l place.Unscheduled) string {
	var b strings.Builder
	if l.Why != "" {
		fmt.Fprintf(&b, "      %s: %s\n", l.Why, l.Detail)
	}
	for _, r := range l.Refusals {
		b.WriteString(a.refusal(r))
	}
	return b.String()
}

func (a Answer) refusal(r place.Refusal) string {
	s := fmt.Sprintf("      pool %s: %s: %s\n", r.Pool, r.Why, r.Detail)
	total := a.offerings(r.Pool)
	var parts []string
	for _, x := range r.Removed {
		parts = append(parts, fmt.Sprintf("%s %d", x.Cause(), x.Offerings))
	}
	if len(parts) > 0 {
		s += fmt.Sprintf("          removed %d of %s: %s\n", removed(r), model.Count(total, "offering"), strings.Join(parts, ", "))
	}
	return s
}

// removed is how many offerings the refusal took away.
func removed(r place.Refusal) (n int) {
	for _, x := range r.Removed {
		n += x.Offerings
	}
	return n
}

// some names the first of a list and counts the rest.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// natural orders names as people count: web-2 before web-10.
func natural(a, b string) int {
	stemA, stemB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	return cmp.Or(strings.Compare(stemA, stemB), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func sorted(list []string) []string {
	slices.SortFunc(list, natural)
	return list
}
