package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/disrupt"
	"github.com/karpenter-aks/karpenter/internal/lifecycle"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Disruption is what the controller would decide about the nodes that are there.
type Disruption struct {
	disrupt.Decision
	Rooms []disrupt.Room
	// Repair says that unhealthy nodes are replaced.
	Repair bool
}

// Disrupt asks which nodes would leave now and why the others stay, by the same decider as in the controller with the same feature gates. The
// error is *Panicked. O(plan for all pods).
func (a Answer) Disrupt(gates map[string]bool) (d Disruption, err error) {
	defer panicked(&err)
	w := a.World.Indexed()
	d.Decision = disrupt.Decide(disrupt.Input{World: w, Now: a.Now, Sweep: true, MinValues: a.minValues,
		SpotToSpot: gates["SpotToSpotConsolidation"], Repair: gates["NodeRepair"],
		Expected: func() map[string]bool { return place.Expected(place.Fits(w)) }})
	d.Rooms, d.Repair = disrupt.Rooms(w, a.Now), gates["NodeRepair"]
	return d, nil
}

// ExplainNode says of a node what it is, what it was bought for, and why it stays or leaves. ok is false when there is no such node.
func (a Answer) ExplainNode(name string, d Disruption) (text string, ok bool) {
	w := a.World.Indexed()
	n := w.Index.Node(name)
	if n == nil {
		return "", false
	}
	var b strings.Builder
	c := w.Index.ClaimOf(n)
	if c == nil {
		fmt.Fprintf(&b, "node %s has no NodeClaim: it is not ours to remove\n", name)
		a.load(&b, w, n)
		return a.said(&b), true
	}
	a.claim(&b, w, c, n, d)
	return a.said(&b), true
}

// ExplainClaim is the same for a NodeClaim, with or without a node.
func (a Answer) ExplainClaim(name string, d Disruption) (text string, ok bool) {
	w := a.World.Indexed()
	c := w.Index.Claim(name)
	if c == nil {
		return "", false
	}
	var b strings.Builder
	a.claim(&b, w, c, w.Index.NodeBy(c.ProviderID), d)
	return a.said(&b), true
}

// said ends a text with what was assumed.
func (a Answer) said(b *strings.Builder) string {
	fmt.Fprintf(b, "as of %s\n", a.Now.UTC().Format(time.RFC3339))
	for _, n := range a.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return printable(b.String())
}

func (a Answer) claim(b *strings.Builder, w model.World, c *model.Claim, n *model.Node, d Disruption) {
	fmt.Fprintf(b, "NodeClaim %s of %s", c.Name, poolText(c))
	if n != nil {
		fmt.Fprintf(b, ", node %s", n.Name)
	}
	b.WriteByte('\n')
	line := func(word, format string, args ...any) {
		fmt.Fprintf(b, "  %-9s "+format+"\n", append([]any{word}, args...)...)
	}
	key := c.Offering()
	if key.Type != "" {
		price, sold := a.priceOf(c, key)
		if sold {
			line("is", "%s, %s", key, price)
		} else {
			line("is", "%s, which is not sold any more", key)
		}
	}
	if pods := planned.Pods(*c); len(pods) > 0 {
		var names []string
		for _, k := range pods {
			names = append(names, k.String())
		}
		line("bought", "for %s", some(sorted(names), maxNamed))
	}
	if price, sold := a.priceOf(c, key); sold {
		a.whySize(line, w, c, price)
	}
	for _, typ := range []string{model.Launched, model.Registered, model.Initialized, model.Drifted} {
		x, has := model.FindCondition(c.Conditions, typ)
		switch {
		case typ == model.Drifted && has && x.Status == model.True:
			line("drifted", "%s", cmp.Or(x.Said(), "its condition does not say how"))
		case typ != model.Drifted && (!has || x.Status != model.True) && !c.Deleting():
			line("waits", "it is not %s yet%s", strings.ToLower(typ), after(": ", x.Said()))
		default:
			continue
		}
		break
	}
	if next, ok := a.next(w, c, d); ok {
		next.print(line)
	}
	if n != nil {
		a.load(b, w, n)
	}
	a.verdict(line, c.Name, d)
}

// verdict says whether the claim stays or leaves.
func (a Answer) verdict(line func(word, format string, args ...any), claim string, d Disruption) {
	for _, k := range d.Kept {
		if k.Claim != claim {
			continue
		}
		line("stays", "%s%s", k.Why, after(": ", k.Detail))
		if r := k.Why.Remedy(); r != "" {
			line("to change", "%s", r)
		}
		return
	}
	for _, m := range d.Moves {
		if !slices.Contains(m.Claims, claim) {
			continue
		}
		line("leaves", "%s%s; moves %s, saves %s", m.Why, after(": ", m.Detail), model.Count(m.Pods, "pod"), m.Saves)
		if len(m.Claims) > 1 {
			line("together", "with %s", some(others(m.Claims, claim), maxNamed))
		}
		if to := targets(m.Fits); len(to) > 0 {
			line("", "its pods fit on %s", some(to, maxNamed))
		}
		for _, x := range m.Buy {
			line("replaced", "by %s for %s, %s", x.Options[0].Key, some(keysText(x.Pods), maxNamed), x.Options[0].Price)
		}
		return
	}
}

// targets names where pods fit, each once.
func targets(list []place.Nomination) (out []string) {
	for _, f := range list {
		if t := targetText(f); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return sorted(out)
}

// load says what is on a node.
func (a Answer) load(b *strings.Builder, w model.World, n *model.Node) {
	on := w.Index.On(n.Name)
	daemons := 0
	for _, p := range on.Pods {
		if p.DaemonSet || p.Mirror {
			daemons++
		}
	}
	fmt.Fprintf(b, "  %-9s %s to move when it leaves, and %d of DaemonSets or static", "holds", model.Count(on.Tenants, "pod"), daemons)
	if n.Allocatable.CPU > 0 && n.Allocatable.Memory > 0 {
		fmt.Fprintf(b, "; %d %% of cpu and %d %% of memory are asked for", 100*on.Used.CPU/n.Allocatable.CPU, 100*on.Used.Memory/n.Allocatable.Memory)
	}
	b.WriteByte('\n')
}

// ExplainPool says of a NodePool what it holds and may still hold, what its budgets leave, and what keeps its nodes. ok is false when there is none.
func (a Answer) ExplainPool(name string, d Disruption) (text string, ok bool) {
	i := slices.IndexFunc(a.World.Pools, func(p model.Pool) bool { return p.Name == name })
	if i < 0 {
		return "", false
	}
	p, w := a.World.Pools[i], a.World.Indexed()
	var b strings.Builder
	line := func(word, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s "+format+"\n", append([]any{word}, args...)...)
	}
	held, claims, unsold := a.held(w, p)
	fmt.Fprintf(&b, "NodePool %s with %s: %s, %s, $%.2f a month%s\n", p.Name, p.Class, model.Count(claims, "NodeClaim"), held.price, held.price.Month(),
		after(", without the price of ", unsold))
	if !p.Ready() {
		x, _ := model.FindCondition(p.Conditions, model.Ready)
		line("not ready", "%s", x.Said())
	}
	limits(line, p, held)
	for _, r := range d.Rooms {
		if r.Pool != p.Name {
			continue
		}
		line("budgets", "%s counted, %d of them leave or are not ready; may begin to leave now: %s", model.Count(r.Nodes, "node"), r.Leaving, roomText(r))
	}
	a.keepers(line, w, p, d)
	a.forSale(line, p)
	return a.said(&b), true
}

// holding is what the claims of a pool add up to.
type holding struct {
	price     model.Price
	resources model.Resources
	nodes     int64
}

func (a Answer) held(w model.World, p model.Pool) (h holding, claims int, unsold string) {
	missing := 0
	for i := range w.Claims {
		c := &w.Claims[i]
		if c.Pool != p.Name {
			continue
		}
		claims++
		h.nodes++
		h.resources = h.resources.Add(c.Capacity)
		key := c.Offering()
		price, sold := a.priceOf(c, key)
		h.price += price
		if key.Type != "" && !sold {
			missing++
		}
	}
	if missing > 0 {
		unsold = fmt.Sprintf("%d that are not sold any more", missing)
	}
	return h, claims, unsold
}

func (a Answer) priceOf(c *model.Claim, key model.OfferingKey) (model.Price, bool) {
	t, _ := a.World.Catalog(c.Pool, c.Class).Type(key.Type)
	for _, o := range t.Offerings {
		if o.Key() == key {
			return o.Price, true
		}
	}
	return 0, false
}

// limits says how much of each limit is used.
func limits(line func(word, format string, args ...any), p model.Pool, h holding) {
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		used, most := h.nodes, p.Limits[name]
		if name == model.ResourceNodes {
			line("limit", "nodes %d of %d", used, most)
			continue
		}
		text := model.FormatQuantities(name, h.resources.Get(name), most)
		line("limit", "%s %s of %s", name, text[0], text[1])
	}
}

func roomText(r disrupt.Room) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(r.Left)) {
		n := r.Left[reason]
		if n == budget.Unlimited {
			parts = append(parts, reason+" any number")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %d", reason, n))
	}
	return strings.Join(parts, ", ")
}

// keepers counts why the pool's nodes stay, the reason of most first, and what would leave.
func (a Answer) keepers(line func(word, format string, args ...any), w model.World, p model.Pool, d Disruption) {
	of := map[model.Why][]disrupt.Kept{}
	for _, k := range d.Kept {
		if c := w.Index.Claim(k.Claim); c != nil && c.Pool == p.Name {
			of[k.Why] = append(of[k.Why], k)
		}
	}
	leave, saves := 0, model.Price(0)
	for _, m := range d.Moves {
		for _, name := range m.Claims {
			if c := w.Index.Claim(name); c != nil && c.Pool == p.Name {
				leave++
			}
		}
		if c := w.Index.Claim(m.Claims[0]); c != nil && c.Pool == p.Name {
			saves += m.Saves
		}
	}
	if leave > 0 {
		line("leave", "%s, saves %s", model.Count(leave, "NodeClaim"), saves)
	}
	order := slices.SortedFunc(maps.Keys(of), func(x, y model.Why) int { return cmp.Or(cmp.Compare(len(of[y]), len(of[x])), cmp.Compare(x, y)) })
	for _, why := range order {
		k := of[why][0]
		line("stay", "%d × %s, such as %s%s", len(of[why]), why, k.Claim, after(": ", k.Detail))
		if r := why.Remedy(); r != "" {
			line("", "  to change: %s", r)
		}
	}
}

// forSale says what the pool can still buy: offerings that its requirements allow, and that are to be had.
func (a Answer) forSale(line func(word, format string, args ...any), p model.Pool) {
	allowed, there, types := 0, 0, map[string]bool{}
	required := require.New(p.Requirements)
	like := model.Claim{Pool: p.Name, Requirements: p.Requirements, Labels: p.Labels}
	var cheapest model.Offering
	for _, t := range a.catalog(p.Name).Types {
		for _, o := range t.Offerings {
			if _, ok := required.Allows(lifecycle.NodeLabels(like, t, o)); !ok {
				continue
			}
			allowed++
			if !o.Available {
				continue
			}
			there++
			types[t.Name] = true
			if cheapest.Type == "" || o.Price < cheapest.Price {
				cheapest = o
			}
		}
	}
	line("can buy", "%d of the %s that its requirements allow, of %s", there, model.Count(allowed, "offering"), model.Count(len(types), "size"))
	if there > 0 {
		line("", "the cheapest is %s, %s", cheapest.Key(), cheapest.Price)
	}
}

// ExplainClass says of a class whether machines can be built by it, of what, and who uses it. ok is false when there is none.
func (a Answer) ExplainClass(name string) (text string, ok bool) {
	w := a.World
	i := slices.IndexFunc(w.Classes, func(c model.Class) bool { return c.Ref.Name == name })
	if i < 0 {
		return "", false
	}
	c := w.Classes[i]
	var b strings.Builder
	line := func(word, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s "+format+"\n", append([]any{word}, args...)...)
	}
	ready := "ready: machines can be built by it"
	if !c.Ready() {
		ready = "not ready: no machines are built by it"
	}
	fmt.Fprintf(&b, "%s is %s\n", c.Ref, ready)
	for _, x := range c.Conditions {
		if x.Status != model.True {
			line("waits", "%s is %s%s", x.Type, x.Status, after(": ", x.Said()))
		}
	}
	if c.KubernetesVersion != "" {
		line("versions", "Kubernetes %s, %s", c.KubernetesVersion, model.Count(len(c.Images), "node image"))
	}
	if c.Azure != nil && len(c.Azure.Ignored) > 0 {
		line("ignored", "%s", strings.Join(c.Azure.Ignored, ", "))
	}
	var pools []string
	for _, p := range w.Pools {
		if p.Class == c.Ref {
			pools = append(pools, p.Name)
		}
	}
	claims := 0
	for i := range w.Claims {
		if w.Claims[i].Class == c.Ref {
			claims++
		}
	}
	line("used by", "%s%s, %s", model.Count(len(pools), "NodePool"), after(": ", some(sorted(pools), maxNamed)), model.Count(claims, "NodeClaim"))
	return a.said(&b), true
}

func poolText(c *model.Claim) string {
	if c.Pool == "" {
		return "no NodePool"
	}
	return "NodePool " + c.Pool
}

// after puts a word before a text, unless there is none.
func after(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

func others(list []string, but string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == but })
}

func keysText(list []model.PodKey) (out []string) {
	for _, k := range list {
		out = append(out, k.String())
	}
	return sorted(out)
}
