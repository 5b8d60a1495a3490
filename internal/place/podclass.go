package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// podClass is pods that are alike for scheduling: same requests, same selectors, same tolerations, same ties to others.
type podClass struct {
	key         string
	traits      string       // the part of key that says what the pods ask for, amounts and priority aside
	like        *podClass    // a class with the same traits, whose constraint and ties it shares; nil when it has its own
	pods        []*model.Pod // by age, then name
	requests    model.Resources
	tolerations []model.Toleration
	turn
	// constraint is what its machine must look like; nil when why is set.
	constraint *nodeConstraint
	// selectsNodes is the constraint by the pods' node selector and affinity alone: it says which machines count for their spread.
	selectsNodes *nodeConstraint
	// why is set when the pods themselves are the reason that they go nowhere.
	why    model.Why
	detail string

	rank int // position among the classes
	size vec.Vec
	// lean is size without the volumes that its pods share, which are shared.
	lean   vec.Vec
	shared []mount
}

// turn says when a class is asked: the most important first, among these who went ahead.
type turn struct {
	priority    int32
	ahead, leap int // see order
}

// compare orders by whose turn it is first, as far as priority and having stayed before go.
func (t turn) compare(o turn) int {
	return cmp.Or(cmp.Compare(o.leap, t.leap), cmp.Compare(o.priority, t.priority), cmp.Compare(o.ahead, t.ahead))
}

func (g *podClass) first() *model.Pod { return g.pods[0] }

// newPodClasses sorts pods into groups: important ones first, then large ones (by cpu, then memory), then by the text of the class.
func newPodClasses(pods []*model.Pod, k *classer) []*podClass {
	if !slices.IsSortedFunc(pods, byAge) {
		pods = slices.Clone(pods)
		slices.SortStableFunc(pods, byAge)
	}
	byKey := make(map[string]int32, groupsAtOnce)
	var out []*podClass
	var spare []podClass
	seen := make(map[model.PodKey]bool, len(pods))
	var buf []byte
	at, counts := make([]int32, len(pods)), make([]int, 0, groupsAtOnce) // per pod 1 + its group, per group its pods
	for i, p := range pods {
		if seen[p.Key()] {
			continue
		}
		seen[p.Key()] = true
		buf = appendAmounts(buf[:0], p)
		from := len(buf)
		buf = k.appendTraits(buf, p)
		n, ok := byKey[string(buf)]
		if !ok {
			if len(spare) == 0 {
				spare = make([]podClass, groupsAtOnce)
			}
			g := &spare[0]
			spare = spare[1:]
			g.key, g.requests, g.tolerations, g.priority = string(buf), p.Requests, p.Tolerations, p.Priority
			g.traits = g.key[from:]
			n = int32(len(out))
			byKey[g.key] = n
			out, counts = append(out, g), append(counts, 0)
		}
		at[i] = 1 + n
		counts[n]++
	}
	flat := make([]*model.Pod, len(pods))
	for n, g := range out {
		g.pods, flat = flat[:0:counts[n]], flat[counts[n]:]
	}
	for i, p := range pods {
		if at[i] > 0 {
			g := out[at[i]-1]
			g.pods = append(g.pods, p)
		}
	}
	slices.SortFunc(out, func(a, b *podClass) int { return cmp.Or(bySize(a, b), strings.Compare(a.key, b.key)) })
	for i, g := range out {
		g.rank = i
	}
	return out
}

// bySize orders groups: important pods first, then large ones.
func bySize(a, b *podClass) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.requests.CPU, a.requests.CPU), cmp.Compare(b.requests.Memory, a.requests.Memory))
}

// groupsAtOnce is how many groups are allocated together.
const groupsAtOnce = 64

func pointers(list []model.Pod) []*model.Pod {
	out := make([]*model.Pod, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func byAge(a, b *model.Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.UID, b.UID))
}

// terms returns the alternatives of the pod's node selector and required node affinity that do not contradict
// themselves, or why there is none.
func terms(p *model.Pod) (out []require.Set, why model.Why, detail string) {
	if len(p.Needs) > 0 {
		return nil, p.Needs[0], needText(p.Needs[0])
	}
	for _, t := range p.Affinity {
		for _, q := range t {
			if !known(q.Op) {
				return nil, model.WhyBadSelector, fmt.Sprintf("label %s: unknown operator %q", q.Key, q.Op)
			}
		}
	}
	sel := require.Labels(p.NodeSelector)
	all := []require.Set{sel}
	if p.Affinity != nil {
		all = all[:0]
		for _, t := range p.Affinity {
			if len(t) > 0 {
				all = append(all, sel.And(require.New(t)))
			}
		}
	}
	for _, v := range p.Volumes {
		if v.Terms == nil {
			continue
		}
		var with []require.Set
		for _, s := range all {
			for _, t := range v.Terms {
				if len(t) > 0 { // one that says nothing matches nothing
					with = append(with, s.And(require.New(t)))
				}
			}
		}
		if len(all) > 0 && len(with) == 0 {
			return nil, model.WhyVolumes, "no label of a node says that its volume " + v.ID + " can be reached from there"
		}
		if all = with; len(all) > maxAlternatives {
			return nil, model.WhyVolumes, fmt.Sprintf("its volumes have more than %d alternatives", maxAlternatives)
		}
	}
	if len(all) == 0 {
		return nil, model.WhyMixedOSOrArch, "the required node affinity has no term that matches anything"
	}
	optOut := false
	for _, s := range all {
		if k := s.Impossible(); k != "" {
			detail = cmp.Or(detail, "label "+k+": the pod's own requirements exclude each other: "+parties(p, k))
			continue
		}
		if v, ok := s.Get(model.LabelPool); ok && !v.HasValues() {
			optOut = true
			continue
		}
		out = append(out, s)
	}
	switch {
	case len(out) > 0:
		return out, "", ""
	case optOut:
		return nil, model.WhyPoolOptOut, "the pod asks not to run on nodes of any pool"
	}
	return nil, model.WhyMixedOSOrArch, detail
}

// selected returns the alternatives of the pod's node selector and required node affinity, wherever its volumes are, as kube-scheduler
// reads them of any node, ours or not.
func selected(p *model.Pod) (out []require.Set) {
	sel := require.Labels(p.NodeSelector)
	if p.Affinity == nil {
		return []require.Set{sel}
	}
	for _, t := range p.Affinity {
		if s := sel.And(require.New(t)); len(t) > 0 && s.Impossible() == "" {
			out = append(out, s)
		}
	}
	return out
}

// maxAlternatives bounds how many combinations of volumes' and affinity's alternatives one pod may have.
const maxAlternatives = 256

func known(op model.Operator) bool {
	switch op {
	case model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt, model.Gte, model.Lte:
		return true
	}
	return false
}

// needText says in words what is not decided.
func needText(w model.Why) string {
	switch w {
	case model.WhyVolumes:
		return "the pod uses persistent volumes of which not all are known well enough to say where they can be reached"
	case model.WhyResourceClaims:
		return "the pod uses resource claims (dynamic resource allocation); which machine would have the devices is not known, so none is bought for it"
	case model.WhyMatchFields:
		return "the pod selects nodes by field, which can only name nodes that exist"
	}
	return "the pod needs " + string(w) + ", which is not decided"
}

// promote puts classes ahead of others.
func (d *problem) promote(classes []*podClass) {
	if len(d.ahead) == 0 {
		return
	}
	for _, g := range classes {
		if g.ahead = d.ahead[g.key]; d.leap {
			g.leap = g.ahead
		}
	}
	slices.SortStableFunc(classes, func(a, b *podClass) int { return a.compare(b.turn) })
	for i, g := range classes {
		g.rank = i
	}
}

// name is the first pod of the class, and how many are like it.
func (g *podClass) name() string {
	if len(g.pods) == 1 {
		return g.first().Key().String()
	}
	return fmt.Sprintf("%s and %d more", g.first().Key(), len(g.pods)-1)
}

// parties says who of a pod's asks what of a label.
func parties(p *model.Pod, key string) string {
	var out []string
	add := func(who string, q require.Set) {
		if _, asked := q.Get(key); asked {
			out = append(out, who+" "+requirement(q, key))
		}
	}
	add("its node selector", require.Labels(p.NodeSelector))
	for _, t := range p.Affinity {
		add("its node affinity", require.New(t))
	}
	for _, v := range p.Volumes {
		for _, t := range v.Terms {
			add("its volume (such as "+v.String()+")", require.New(t)) // of pods that are alike in this, each may have its own
		}
	}
	if most := len(out); most > saidValues {
		out = append(out[:saidValues:saidValues], fmt.Sprintf("%d more", most-saidValues))
	}
	return strings.Join(out, ", ")
}
