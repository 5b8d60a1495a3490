package ready

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// JoinsKept is by how many of a pool's last machines it is judged; two failures among them are too many. Both are as users
// know them.
const (
	JoinsKept   = 4
	joinsFailed = 2
)

// Join is what became of one machine of a pool: a node, or nothing.
type Join struct {
	Made time.Time // when its claim was
	// Reason and Message say why there is no node; Reason is "" when there is one.
	Reason, Message string
}

// Joins are what became of a pool's last machines, oldest first. They stand in memory only: what was written of them says
// enough after a restart.
type Joins struct {
	since time.Time
	list  []Join
}

// Anew forgets all, and all that is to come of claims that were made before.
func (j *Joins) Anew(now time.Time) { *j = Joins{since: now} }

// Add takes in one more.
func (j *Joins) Add(x Join) {
	if x.Made.Before(j.since.Truncate(time.Second)) {
		return // claims know when they were made to the second
	}
	if len(j.list) == JoinsKept {
		j.list = append(j.list[:0:0], j.list[1:]...)
	}
	j.list = append(j.list, x)
}

// Changed reports whether the pool or its class is another one than that which its condition NodeRegistrationHealthy is
// about: then nothing is known. A class generation that nobody wrote down is none to differ from.
func Changed(p model.Pool, class *model.Class) bool {
	was, had := model.FindCondition(p.Conditions, model.NodeRegistrationHealth)
	return !had || was.ObservedGeneration != p.Generation ||
		class != nil && p.ClassGeneration != 0 && p.ClassGeneration != class.Generation
}

// Registration says on a pool whether machines that are bought for it become nodes. It is no part of Ready: a pool that
// buys in vain goes on, and is to be looked at.
//
//	          a node                       two of the last four failed
//	Unknown ─────────▶ True  ◀──────────────────────────────────────────────▶ False
//	   │                             fewer of the last four did                  ▲
//	   └──────────────────── two failed ─────────────────────────────────────────┘
//	any ── pool or class changed ──▶ Unknown
func Registration(p model.Pool, class *model.Class, lately Joins) model.Condition {
	was, _ := model.FindCondition(p.Conditions, model.NodeRegistrationHealth)
	is := model.Condition{Type: model.NodeRegistrationHealth, ObservedGeneration: p.Generation}
	if Changed(p, class) {
		is.Status, is.Reason = model.Unknown, "AwaitingReconciliation"
		is.Message = "no machine was bought since the NodePool or its class changed"
		return is
	}
	list := lately.list
	if was.Status == model.False {
		// What it was said for may be forgotten.
		seed := Join{Reason: was.Reason, Message: was.Message}
		list = append([]Join{seed, seed}, list...)
		list = list[max(0, len(list)-JoinsKept):]
	}
	failed, last := 0, Join{}
	for _, x := range list {
		if x.Reason != "" {
			failed, last = failed+1, x
		}
	}
	switch {
	case failed >= joinsFailed:
		is.Status, is.Reason, is.Message = model.False, last.Reason, last.Message
	case failed < len(list):
		is.Status, is.Reason = model.True, model.NodeRegistrationHealth
	default:
		return was
	}
	return is
}
