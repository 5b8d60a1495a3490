package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/alike"
	"github.com/karpenter-aks/karpenter/internal/plan/vec"
	"github.com/karpenter-aks/karpenter/model"
)

// PodClass is pods that are alike for scheduling: same requests, same selectors, same tolerations, same ties to others.
type PodClass struct {
	Key string
	// the part of key that says what the pods ask for, amounts and priority aside
	traits string
	// a class with the same traits, whose constraint and ties it shares; nil when it has its own
	Like        *PodClass
	Pods        []*model.Pod // by age, then name
	Requests    model.Resources
	Tolerations []model.Toleration
	Turn
	// Constraint is what its machine must look like; nil when why is set.
	Constraint *NodeConstraint
	// SelectsNodes is the constraint by the pods' node selector and affinity alone: it says which machines count for their spread.
	SelectsNodes *NodeConstraint
	// Why is set when the pods themselves are the reason that they go nowhere.
	Why    model.Why
	Detail string

	Rank int // position among the classes
	Size vec.Vec
	// Lean is size without the volumes that its pods share, which are shared.
	Lean   vec.Vec
	Shared []Mount
}

// Turn says when a class is asked: the most important first, among these who went ahead.
type Turn struct {
	Priority    int32
	Ahead, Leap int // see order
}

// Compare orders by whose turn it is first, as far as priority and having stayed before go.
func (t Turn) Compare(o Turn) int {
	return cmp.Or(cmp.Compare(o.Leap, t.Leap), cmp.Compare(o.Priority, t.Priority),
		cmp.Compare(o.Ahead, t.Ahead))
}

// First stands for all pods of the class.
func (g *PodClass) First() *model.Pod { return g.Pods[0] }

// newPodClasses sorts pods into classes: important ones first, then large ones (by cpu, then memory), then by the text of the class.
func newPodClasses(pods []*model.Pod, k *alike.Classer) []*PodClass {
	var seen map[model.PodKey]bool // nil where nobody can be listed twice, as out of a picture
	if !byName(pods) {
		seen = make(map[model.PodKey]bool, len(pods))
	}
	if !slices.IsSortedFunc(pods, byAge) {
		pods = slices.Clone(pods)
		slices.SortStableFunc(pods, byAge)
	}
	byKey := make(map[string]int32, GroupsAtOnce)
	var out []*PodClass
	var spare []PodClass
	var buf []byte
	// Per pod, 1 + its class; per class, how many pods it has.
	at, counts := make([]int32, len(pods)), make([]int, 0, GroupsAtOnce)
	for i, p := range pods {
		if seen != nil {
			if seen[p.Key()] {
				continue
			}
			seen[p.Key()] = true
		}
		buf = alike.AppendAmounts(buf[:0], p)
		from := len(buf)
		buf = k.AppendTraits(buf, p)
		n, ok := byKey[string(buf)]
		if !ok {
			if len(spare) == 0 {
				spare = make([]PodClass, GroupsAtOnce)
			}
			g := &spare[0]
			spare = spare[1:]
			g.Key, g.Requests = string(buf), p.Requests
			g.Tolerations, g.Priority = p.Tolerations, p.Priority
			g.traits = g.Key[from:]
			n = int32(len(out))
			byKey[g.Key] = n
			out, counts = append(out, g), append(counts, 0)
		}
		at[i] = 1 + n
		counts[n]++
	}
	flat := make([]*model.Pod, len(pods))
	for n, g := range out {
		g.Pods, flat = flat[:0:counts[n]], flat[counts[n]:]
	}
	for i, p := range pods {
		if at[i] > 0 {
			g := out[at[i]-1]
			g.Pods = append(g.Pods, p)
		}
	}
	slices.SortFunc(out, func(a, b *PodClass) int {
		return cmp.Or(bySize(a, b), strings.Compare(a.Key, b.Key))
	})
	for i, g := range out {
		g.Rank = i
	}
	return out
}

// byName reports whether pods are listed by namespace and name, each once.
func byName(pods []*model.Pod) bool {
	for i, p := range pods[:max(len(pods)-1, 0)] {
		if model.ComparePods(p, pods[i+1]) >= 0 {
			return false
		}
	}
	return true
}

// bySize orders classes: important pods first, then large ones.
func bySize(a, b *PodClass) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.Requests.CPU, a.Requests.CPU),
		cmp.Compare(b.Requests.Memory, a.Requests.Memory))
}

// GroupsAtOnce is how many groups are allocated together.
const GroupsAtOnce = 64

func byAge(a, b *model.Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

// promote puts classes ahead of others.
func (d *Problem) promote(classes []*PodClass) {
	if len(d.Ahead) == 0 {
		return
	}
	for _, g := range classes {
		if g.Ahead = d.Ahead[g.Key]; d.Leap {
			g.Leap = g.Ahead
		}
	}
	slices.SortStableFunc(classes, func(a, b *PodClass) int { return a.Compare(b.Turn) })
	for i, g := range classes {
		g.Rank = i
	}
}

// Name is the first pod of the class, and how many are like it.
func (g *PodClass) Name() string {
	if len(g.Pods) == 1 {
		return g.First().Key().String()
	}
	return fmt.Sprintf("%s and %d more", g.First().Key(), len(g.Pods)-1)
}
