package drain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// The patience of a drain.
const (
	// MinDrain is how long a node is kept after its deletion however empty it looks: kube-scheduler may have bound a
	// pod before it saw the taint.
	MinDrain = 5 * time.Second
	// StuckAfter is how long after the end of its own grace a terminating pod still holds the node: then nobody on the
	// machine is going to end it any more.
	StuckAfter = time.Minute
	// GraceSlack is how long after the end of the node's grace pods that were deleted by force may still hold it.
	GraceSlack = 10 * time.Second
	// AskAgain is how soon an eviction is asked for again when nothing came of it: the API may have refused it.
	AskAgain = 10 * time.Second
	// MinGrace is the least grace a pod is given when the node's own is about to end.
	MinGrace = time.Second
)

// Next names the next step for the leaving node. Doing the same step twice is harmless.
//
//	Prepare (taint, label) ─▶ Remove: plain pods ─▶ plain daemons ─▶ critical pods ─▶ critical daemons ─▶ Drained ─▶ Detached
//
// A group begins when the one before has left. When the node's grace is about to end (the claim's termination time), pods
// of every group are deleted with what is left of it, whatever protects them, and at its end volumes no longer count.
func Next(v View) Step {
	if v.InstanceGone {
		return Step{Drained: true, Detached: true, Why: model.WhyInstanceGone}
	}
	if !prepared(v.Node) {
		return Step{Prepare: true, Why: model.WhyDraining}
	}
	d := &sight{View: v}
	d.end, d.bounded = graceEnd(v.Claim)
	d.groups()
	if !d.over(GraceSlack) {
		d.urgent()
		d.patient()
	}
	return d.step()
}

// sight is the view sorted out, and the step as it grows.
type sight struct {
	View
	end     time.Time // end of the node's grace
	bounded bool
	group   [4][]model.Pod
	asked   map[model.PodKey]bool
	out     Step
}

// prepared reports whether new pods and new connections are kept away already.
func prepared(n model.Node) bool {
	return slices.Contains(n.Taints, Taint()) && n.Labels[model.LabelExcludeLB] != ""
}

// graceEnd returns when the node's grace ends: what was written on the claim, else what the claim's spec says. A time
// that cannot be read counts as none, because ending a pod too early cannot be undone.
func graceEnd(c *model.Claim) (time.Time, bool) {
	if c == nil {
		return time.Time{}, false
	}
	if s := c.Annotations[model.AnnotationTerminationTime]; s != "" {
		t, err := time.Parse(time.RFC3339, s)
		return t, err == nil
	}
	if c.Deleting() && c.TerminationGracePeriod != nil {
		return c.DeletedAt.Add(*c.TerminationGracePeriod), true
	}
	return time.Time{}, false
}

// over reports whether the node's grace ended at least d ago.
func (d *sight) over(slack time.Duration) bool {
	return d.bounded && !d.end.Add(slack).After(d.Now)
}

func (d *sight) timer(at time.Time) {
	if left := at.Sub(d.Now); left > 0 && (d.out.After == 0 || left < d.out.After) {
		d.out.After = left
	}
}

// holds reports whether the pod must be seen off before the node may go. Static pods' mirrors and pods that tolerate the
// taint live and die with the node; finished pods hold nothing; a pod stuck in termination never ends.
func (d *sight) holds(p model.Pod) bool {
	if p.Mirror || p.Terminal {
		return false
	}
	if _, kept := model.Untolerated([]model.Taint{Taint()}, p.Tolerations); !kept {
		return false
	}
	if p.Deleting() {
		// DeletedAt is the end of the pod's own grace, as the API server computed it.
		d.timer(p.DeletedAt.Add(StuckAfter))
		return p.DeletedAt.Add(StuckAfter).After(d.Now)
	}
	return true
}

// groups sorts the pods that hold the node by when their turn comes. In a group the large ones come first: those that follow them are made, and tried by
// kube-scheduler, in that order, and large pods find room before small ones have taken a part of it everywhere.
func (d *sight) groups() {
	pods := slices.Clone(d.Pods)
	slices.SortFunc(pods, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(b.Requests.CPU, a.Requests.CPU), cmp.Compare(b.Requests.Memory, a.Requests.Memory), cmp.Compare(b.GraceSeconds, a.GraceSeconds), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range pods {
		if d.holds(p) {
			g := 0
			if p.DaemonSet {
				g++
			}
			if p.Critical {
				g += 2
			}
			d.group[g] = append(d.group[g], p)
		}
	}
}

// urgent deletes every pod, of any group, whose own grace would outlast the node's.
func (d *sight) urgent() {
	d.asked = map[model.PodKey]bool{}
	if !d.bounded {
		return
	}
	d.timer(d.end)
	left := max(d.end.Sub(d.Now).Truncate(time.Second), MinGrace)
	seconds := int64(left / time.Second)
	for _, g := range d.group {
		for _, p := range g {
			begin := d.end.Add(-max(time.Duration(p.GraceSeconds)*time.Second, MinGrace))
			switch {
			case p.Deleting() && !p.DeletedAt.After(later(d.end, d.Now.Add(left))):
				continue // ends in time by itself
			case !p.Deleting() && begin.After(d.Now):
				d.timer(begin)
				continue
			}
			d.asked[p.Key()] = true
			d.out.Remove = append(d.out.Remove, Removal{Pod: p.Key(), UID: p.UID, Force: true, GraceSeconds: &seconds, Own: p.GraceSeconds, End: d.end, Why: model.WhyGraceOver})
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// patient asks the pods of the first group that is left to leave, as far as their owners allow.
func (d *sight) patient() {
	first := slices.IndexFunc(d.group[:], func(g []model.Pod) bool { return len(g) > 0 })
	room := d.rooms()
	for i := max(first, 0); i < len(d.group); i++ {
		for _, p := range d.group[i] {
			switch {
			case d.asked[p.Key()]:
			case p.Deleting():
				d.wait(p, model.WhyGrace, "terminating until "+p.DeletedAt.UTC().Format(time.RFC3339))
			case i > first:
				d.wait(p, model.WhyEarlierGroup, "")
			default:
				d.ask(p, room)
			}
		}
	}
}

func (d *sight) wait(p model.Pod, why model.Why, detail string) {
	d.out.Waiting = append(d.out.Waiting, Waiting{Pod: p.Key(), Why: why, Detail: detail})
}

// ask adds the pod to those to be evicted, unless we know that it must not be or cannot be.
func (d *sight) ask(p model.Pod, room map[model.PodKey]*budgets) {
	if until, forever, _ := p.Protected(); forever || until.After(d.Now) {
		detail := "for ever"
		if !forever {
			d.timer(until)
			detail = "until " + until.UTC().Format(time.RFC3339)
		}
		d.wait(p, model.WhyDoNotDisrupt, "annotated "+model.AnnotationDoNotDisrupt+" "+detail)
		return
	}
	if b := room[p.Key()]; b != nil {
		if why := b.refuse(p); why != "" {
			d.wait(p, model.WhyPDB, why)
			return
		}
	}
	d.out.Remove = append(d.out.Remove, Removal{Pod: p.Key(), UID: p.UID, Why: model.WhyDraining})
	d.timer(d.Now.Add(AskAgain))
}

// budget is one disruption budget and how many more evictions it bears in this step.
type budget struct {
	name string
	left int32
}

// budgets are those that cover one pod.
type budgets struct{ list []*budget }

// rooms maps the pods on the node to the budgets that cover them.
func (d *sight) rooms() map[model.PodKey]*budgets {
	here := map[model.PodKey]*budgets{}
	for _, p := range d.Pods {
		here[p.Key()] = &budgets{}
	}
	for _, x := range d.PDBs {
		b := &budget{name: x.Namespace + "/" + x.Name, left: x.Allowed}
		for _, k := range x.Pods {
			if r := here[k]; r != nil {
				r.list = append(r.list, b)
			}
		}
	}
	return here
}

// refuse says why no budget would let the pod go, or counts it and returns "". The eviction API has the last word: we
// only keep back what it would refuse for certain. Pods that are not ready may often go although a budget is spent, which
// only the API can judge.
func (r *budgets) refuse(p model.Pod) string {
	if len(r.list) > 1 {
		return fmt.Sprintf("covered by more than one budget (%s, %s): the eviction API refuses such pods", r.list[0].name, r.list[1].name)
	}
	if len(r.list) == 0 || !p.PodReady {
		return ""
	}
	b := r.list[0]
	if b.left <= 0 {
		return "budget " + b.name + " allows no further disruption now"
	}
	b.left--
	return ""
}

// step draws the conclusion.
func (d *sight) step() Step {
	s := d.out
	pods := 0
	if !d.over(GraceSlack) {
		for _, g := range d.group {
			pods += len(g)
		}
		if d.bounded && pods > 0 {
			d.timer(d.end.Add(GraceSlack))
		}
	}
	settled := !d.Node.Deleting() || !d.Node.DeletedAt.Add(MinDrain).After(d.Now) || d.over(0)
	if !settled {
		d.timer(d.Node.DeletedAt.Add(MinDrain))
	}
	s.After = d.out.After
	switch {
	case pods > 0 || !settled:
		s.Why = model.WhyDraining
		return s
	}
	volumes := d.attached()
	switch {
	case len(volumes) == 0:
		return Step{Drained: true, Detached: true, Why: model.WhySettled}
	case d.over(0):
		return Step{Drained: true, Detached: true, Volumes: volumes, Why: model.WhyGraceOver}
	}
	s.Drained, s.Volumes, s.Why = true, volumes, model.WhyVolumesAttached
	return s
}

// attached lists the volumes that still hold the node, by name: all but those used only by pods that stay with the node.
func (d *sight) attached() (out []string) {
	stays := map[model.PodKey]bool{}
	for _, p := range d.Pods {
		if !d.holds(p) {
			stays[p.Key()] = true
		}
	}
	for _, a := range d.Attachments {
		if len(a.Pods) == 0 || slices.ContainsFunc(a.Pods, func(k model.PodKey) bool { return !stays[k] }) {
			out = append(out, a.Name)
		}
	}
	slices.Sort(out)
	return out
}
