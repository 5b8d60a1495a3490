package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// group is pods that are alike for scheduling: same requests, same selectors, same tolerations.
type group struct {
	key         string
	pods        []model.Pod // by age, then name
	requests    model.Resources
	tolerations []model.Toleration
	// terms are the alternatives of what its machine must look like; at least one when why is empty.
	terms []require.Set
	// why is set when the pods themselves are the reason that they go nowhere.
	why    model.Why
	detail string

	size vec
	next int // pods[:next] have a place
	// lots says, per seller (by index), what it can offer to the group.
	lots []*lot
}

func (g *group) waiting() int { return len(g.pods) - g.next }

// take hands out the next n pods of the group, who have a place from now on.
func (g *group) take(n int) []model.Pod {
	out := g.pods[g.next : g.next+n]
	g.next += n
	return out
}

// newGroups sorts pods into groups, large ones first: by cpu, then memory, then the text of the class.
func newGroups(pods []model.Pod) []*group {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b model.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
			strings.Compare(a.UID, b.UID))
	})
	byKey := map[string]*group{}
	var out []*group
	seen := make(map[model.PodKey]bool, len(pods))
	var buf []byte
	for _, p := range pods {
		if seen[p.Key()] {
			continue
		}
		seen[p.Key()] = true
		buf = appendClass(buf[:0], p)
		g := byKey[string(buf)]
		if g == nil {
			g = newGroup(string(buf), p)
			byKey[g.key] = g
			out = append(out, g)
		}
		g.pods = append(g.pods, p)
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.requests.CPU, a.requests.CPU), cmp.Compare(b.requests.Memory, a.requests.Memory), strings.Compare(a.key, b.key))
	})
	return out
}

// appendClass writes everything about the pod that scheduling looks at. Lengths are written before texts, so that no two
// different pods write the same.
func appendClass(b []byte, p model.Pod) []byte {
	text := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(append(b, ':'), s...)
	}
	num := func(n int64) { b = append(strconv.AppendInt(b, n, 10), ' ') }
	r := p.Requests
	num(r.CPU)
	num(r.Memory)
	num(r.Ephemeral)
	num(r.Pods)
	if len(r.Extended) > 0 {
		for _, k := range slices.Sorted(maps.Keys(r.Extended)) {
			text(k)
			num(r.Extended[k])
		}
	}
	b = append(b, '|')
	if len(p.NodeSelector) > 0 {
		for _, k := range slices.Sorted(maps.Keys(p.NodeSelector)) {
			text(k)
			text(p.NodeSelector[k])
		}
	}
	for _, t := range p.Affinity {
		b = append(b, '/')
		for _, q := range t {
			text(q.Key)
			text(string(q.Op))
			num(int64(len(q.Values)))
			for _, v := range q.Values {
				text(v)
			}
		}
	}
	b = append(b, '|')
	for _, t := range p.Tolerations {
		text(t.Key)
		text(t.Op)
		text(t.Value)
		text(string(t.Effect))
	}
	b = append(b, '|')
	for _, n := range p.Needs {
		text(string(n))
	}
	return b
}

func newGroup(key string, p model.Pod) *group {
	g := &group{key: key, requests: p.Requests, tolerations: p.Tolerations}
	g.terms, g.why, g.detail = terms(p)
	return g
}

// terms returns the alternatives of the pod's node selector and required node affinity that do not contradict
// themselves, or why there is none.
func terms(p model.Pod) (out []require.Set, why model.Why, detail string) {
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
	if len(all) == 0 {
		return nil, model.WhyMixedOSOrArch, "the required node affinity has no term that matches anything"
	}
	optOut := false
	for _, s := range all {
		if k := s.Impossible(); k != "" {
			detail = cmp.Or(detail, "label "+k+": the pod's own requirements exclude each other")
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

func known(op model.Operator) bool {
	switch op {
	case model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt, model.Gte, model.Lte:
		return true
	}
	return false
}

// needText says in words what the engine does not decide yet.
func needText(w model.Why) string {
	switch w {
	case model.WhyTopologySpread:
		return "the pod requires topology spread, which is not decided yet"
	case model.WhyPodAffinity:
		return "the pod requires pod affinity or anti-affinity, which is not decided yet"
	case model.WhyVolumes:
		return "the pod uses persistent volumes, which are not decided yet"
	case model.WhyHostPorts:
		return "the pod uses host ports, which are not decided yet"
	case model.WhyResourceClaims:
		return "the pod uses resource claims, which are not supported"
	case model.WhyMatchFields:
		return "the pod selects nodes by field, which can only name nodes that exist"
	}
	return "the pod needs " + string(w)
}
