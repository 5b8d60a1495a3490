package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// ConsistencyEvery is how long a verdict about a node's shape stands before it may become another one, and how long a new
// node may lack something before it is told of: device plugins come up after the kubelet. It is the distance of looks that
// users of Karpenter know, and bounds what is written of a node that comes and goes.
const ConsistencyEvery = 10 * time.Minute

const reasonInconsistent = "ConsistencyCheckFailed"

// Shortfalls says of which resources a node has less than nine tenths of what was bought, in words for people; nil when of
// none. What is a little less is no news: what a kubelet sees of a machine's memory is known before only about.
func Shortfalls(bought, found model.Resources) (out []string) {
	if !shrunk(bought, found) {
		return nil
	}
	for _, name := range bought.Names() {
		want, have := bought.Get(name), found.Get(name)
		if !less(want, have) {
			continue
		}
		q := model.FormatQuantities(name, want, have)
		out = append(out, fmt.Sprintf("expected %s of resource %s, found %s (%.1f%%)",
			q[0], name, q[1], float64(have)/float64(want)*100))
	}
	return out
}

// shrunk reports whether there is a shortfall. It makes no garbage: every claim is asked in every pass.
func shrunk(bought, found model.Resources) bool {
	for name, want := range bought.Extended {
		if less(want, found.Extended[name]) {
			return true
		}
	}
	return less(bought.CPU, found.CPU) || less(bought.Memory, found.Memory) ||
		less(bought.Ephemeral, found.Ephemeral) || less(bought.Pods, found.Pods)
}

func less(want, have int64) bool { return float64(have) < 0.9*float64(want) }

// consistent is the condition that says whether the node has what was bought; false where there is nothing to be said yet,
// or nobody knows what was bought.
//
//	         no shortfall                 shortfall, and 10 min since
//	(none) ───────────────▶ True  ◀──────────────────────────────────▶  False
//	   └───── shortfall, and 10 min since Initialized ────────────────▶
func (c *casebook) consistent(n model.Node) (model.Condition, bool) {
	if c.Claim.Capacity.IsZero() {
		return model.Condition{}, false
	}
	is := model.Condition{Type: model.ConsistentStateFound, Status: model.True, Reason: model.ConsistentStateFound}
	if list := Shortfalls(c.Claim.Capacity, n.Capacity); len(list) > 0 {
		is.Status, is.Reason, is.Message = model.False, reasonInconsistent, strings.Join(list, "; ")
	}
	was, had := model.FindCondition(c.Claim.Conditions, model.ConsistentStateFound)
	if is.Status == was.Status || !had && is.Status == model.True {
		return is, true
	}
	end := was.Since.Add(ConsistencyEvery)
	if !had {
		end = c.since(model.Initialized).Add(ConsistencyEvery)
	}
	if end.After(c.Now) {
		c.timer(end)
		return was, had
	}
	return is, true
}
