package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// verb is one kind of act.
type verb struct {
	do func(p *player, a Act)
	// upsets is set when pods may lose their place, or the room that is meant for them, by the act itself.
	upsets bool
}

// verbs are all kinds of acts, by name. Acts about "the n-th node" count the nodes that there are at the time, by name.
func verbs() map[string]verb {
	return map[string]verb{
		// What users do.
		"pool":        {do: (*player).pool, upsets: true},
		"unpool":      {do: func(p *player, a Act) { p.s.Store.DeletePool(a.word(0)) }, upsets: true},
		"class":       {do: (*player).class},
		"app":         {do: (*player).app, upsets: true},
		"set":         {do: (*player).set, upsets: true},
		"scale":       {do: (*player).scale, upsets: true},
		"pdb":         {do: (*player).pdb},
		"unpdb":       {do: func(p *player, a Act) { p.s.unguard(a.word(0)) }},
		"end-pod":     {do: (*player).endPod, upsets: true},
		"delete-node": {do: (*player).deleteNode, upsets: true},
		"delete-claim": {do: func(p *player, a Act) {
			p.onClaim(a, func(c model.Claim) { p.s.Store.Delete(c) })
		}, upsets: true},
		"cordon":   {do: func(p *player, a Act) { p.onNode(a, func(n *model.Node) { n.Cordoned = true }) }, upsets: true},
		"uncordon": {do: func(p *player, a Act) { p.onNode(a, func(n *model.Node) { n.Cordoned = false }) }},
		"protect":  {do: (*player).protect},
		"hold":     {do: (*player).hold, upsets: true},
		// What the cloud does.
		"throttle":     {do: (*player).throttle},
		"cloud-down":   {do: (*player).cloudDown, upsets: true},
		"sold-out":     {do: (*player).soldOut, upsets: true},
		"lose-replies": {do: func(p *player, a Act) { p.s.Cloud.LoseReplies(number(a.word(0))) }},
		"evict":        {do: func(p *player, a Act) { p.onMachine(a, func(id string) { p.s.Cloud.Evict(id) }) }, upsets: true},
		"switch-off":   {do: func(p *player, a Act) { p.onMachine(a, func(id string) { p.s.Cloud.SwitchOff(id) }) }, upsets: true},
		"mute":         {do: func(p *player, a Act) { p.s.mute(number(a.word(0))) }, upsets: true},
		"sick":         {do: (*player).sick, upsets: true},
		"ill":          {do: (*player).ill, upsets: true},
		"notice":       {do: (*player).notice, upsets: true},
		// What the API server does.
		"api-down":    {do: (*player).apiDown, upsets: true},
		"cut-watch":   {do: func(p *player, _ Act) { p.s.Store.CutWatch() }},
		"hold-watch":  {do: (*player).holdWatch, upsets: true},
		"fail":        {do: (*player).fail, upsets: true},
		"lose-answer": {do: (*player).loseAnswer, upsets: true},
		// What happens to the controller.
		"kill":  {do: func(p *player, a Act) { p.s.KillAt(control.Point(a.word(0))) }, upsets: true},
		"away":  {do: (*player).away, upsets: true},
		"clock": {do: func(p *player, a Act) { p.s.clock.Store(int64(span(a.word(0)))) }, upsets: true},
	}
}

// player plays a story's acts. It is used by the story's own goroutine.
type player struct {
	s      *Sim
	began  time.Time
	queue  []step
	serial int
}

// step is something that is due: an act, or the end of one.
type step struct {
	at     time.Time
	serial int
	do     func()
}

// at puts a step where its time is.
func (p *player) at(t time.Time, do func()) {
	p.serial++
	p.queue = append(p.queue, step{t, p.serial, do})
	slices.SortFunc(p.queue, func(a, b step) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial))
	})
}

// in has what an act began ended after a while, which counts as an act of that kind: the judge, who may look at that very moment, knows of it before.
func (p *player) in(d time.Duration, a Act, do func()) {
	p.s.judge.goesOn(a.Verb, true)
	p.at(time.Now().Add(d), func() {
		p.s.judge.acted(a)
		p.s.judge.goesOn(a.Verb, false)
		do()
	})
}

// play does what is due until nothing is left.
func (p *player) play(st Story) {
	for _, a := range st.Acts {
		p.at(p.began.Add(a.At), func() {
			p.s.judge.acted(a)
			verbs()[a.Verb].do(p, a)
		})
	}
	for len(p.queue) > 0 {
		next := p.queue[0]
		p.queue = p.queue[1:]
		time.Sleep(time.Until(next.at))
		next.do()
	}
}

// recover ends what has no end of its own, so that the cluster can come to rest.
func (p *player) recover() {
	s := p.s
	s.KillAt("")
	s.mute(0)
	s.Cloud.LoseReplies(0)
	s.clock.Store(0)
	s.Store.NoFaults()
	for _, x := range s.Store.Objects().Pools {
		if x.ExpireAfter != nil { // who expires for ever never rests
			x.Generation++
			x.ExpireAfter = nil
			s.Store.Put(x)
		}
	}
	s.judge.acted(Act{Verb: "pool"})
}

func (p *player) pool(a Act) {
	x := pool()
	x.Name, x.UID, x.Created = a.word(0), "", time.Time{}
	for _, old := range p.s.Store.Objects().Pools {
		if old.Name == x.Name {
			x = old
			x.Generation++
		}
	}
	if v := a.value("capacity"); v != "" {
		kinds := strings.Split(v, ",")
		x.Requirements = slices.Clone(x.Requirements)
		x.Requirements[1] = model.Requirement{Key: model.LabelCapacityType, Op: model.In, Values: kinds}
	}
	if v := a.value("after"); v != "" {
		d := span(v)
		if x.ConsolidateAfter = &d; v == "never" {
			x.ConsolidateAfter = nil
		}
	}
	switch a.value("policy") {
	case "empty":
		x.Policy = model.WhenEmpty
	case "under":
		x.Policy = model.WhenEmptyOrUnderutilized
	case "balanced":
		x.Policy = model.Balanced
	}
	if v := a.value("budget"); v != "" {
		x.Budgets = []model.DisruptionBudget{{Nodes: v}}
	}
	if v := a.value("cores"); v != "" {
		x.Limits = map[string]int64{model.ResourceCPU: int64(number(v)) * 1000}
	}
	if v := a.value("nodes"); v != "" {
		x.Limits = map[string]int64{model.ResourceNodes: int64(number(v))}
	}
	if v := a.value("replicas"); v != "" {
		n := int64(number(v))
		x.Replicas, x.Limits = &n, nil
	}
	if v := a.value("expire"); v != "" {
		d := span(v)
		x.ExpireAfter = &d
	}
	if v := a.value("grace"); v != "" {
		d := span(v)
		x.TerminationGracePeriod = &d
	}
	if v := a.value("weight"); v != "" {
		x.Weight = number(v)
	}
	if v := a.value("hash"); v != "" {
		x.Hash = v
	}
	p.s.Store.Put(x)
}

func (p *player) class(a Act) {
	x := class()
	for _, old := range p.s.Store.Objects().Classes {
		x = old
		x.Generation++
	}
	if v := a.value("hash"); v != "" {
		x.Hash = v
	}
	p.s.Store.Put(x)
}

// app makes a deployment, or changes what its next pods are like.
func (p *player) app(a Act) {
	p.s.Scale(a.word(0), number(a.word(1)), p.like(a))
	p.guarded(a)
}

// guarded has a budget of the act's pods, where it names one.
func (p *player) guarded(a Act) {
	if a.value("pdb-max") != "" || a.value("pdb-min") != "" {
		p.s.guard(guard{name: a.word(0), app: a.word(0), most: a.value("pdb-max"), least: a.value("pdb-min")})
	}
}

// like is a pod as the act describes it.
func (p *player) like(a Act) model.Pod {
	name := a.word(0)
	x := model.Pod{Labels: map[string]string{"app": name}, GraceSeconds: 30,
		Requests: model.Resources{CPU: int64(max(number(a.value("cpu")), 10)), Memory: int64(max(number(a.value("mem")), 16)) << 20, Pods: 1}}
	if v := a.value("grace"); v != "" {
		x.GraceSeconds = int64(number(v))
	}
	mine := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{name}}}}
	switch a.value("spread") {
	case "zone":
		x.Spread = []model.Spread{{Key: model.LabelZone, MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: mine}}
	case "host":
		x.Spread = []model.Spread{{Key: model.LabelHostname, MaxSkew: 2, Hard: true, HonorAffinity: true, Selector: mine}}
	}
	switch a.value("with") {
	case "nobody":
		x.PodAntiAffinity = []model.PodTerm{{Key: model.LabelHostname, Namespaces: []string{"default"}, Selector: mine}}
	case "zone":
		x.PodAffinity = []model.PodTerm{{Key: model.LabelZone, Namespaces: []string{"default"}, Selector: mine}}
	}
	if v := a.value("zone"); v != "" {
		x.NodeSelector = map[string]string{model.LabelZone: v}
	}
	if v := a.value("priority"); v != "" {
		x.Priority = int32(number(v))
	}
	x.DoNotDisrupt = a.value("stay")
	return x
}

func (p *player) scale(a Act) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if d, ok := p.s.replicas[a.word(0)]; ok {
		d.want = number(a.word(1))
		p.s.replicas[a.word(0)] = d
	}
}

func (p *player) pdb(a Act) {
	p.s.guard(guard{name: a.word(0), app: a.word(1), most: a.value("max"), least: a.value("min"), always: a.value("unready") == "always"})
}

func (p *player) endPod(a Act) {
	pods := p.s.Pods(a.word(0))
	if len(pods) > 0 {
		p.s.Store.DeletePod(pods[number(a.word(1))%len(pods)].Key())
	}
}

// nodes are the managed nodes that do not leave.
func (p *player) nodes() []model.Node {
	return slices.DeleteFunc(p.s.Store.Objects().Nodes, func(n model.Node) bool { return n.Deleting() || !n.Managed() })
}

func (p *player) onNode(a Act, edit func(*model.Node)) {
	nodes := p.nodes()
	if len(nodes) > 0 {
		p.s.Store.EditNode(nodes[number(a.word(0))%len(nodes)].Name, edit)
	}
}

func (p *player) onClaim(a Act, do func(model.Claim)) {
	claims := slices.DeleteFunc(p.s.Store.Objects().Claims, func(c model.Claim) bool { return c.Deleting() })
	if len(claims) > 0 {
		do(claims[number(a.word(0))%len(claims)])
	}
}

func (p *player) onMachine(a Act, do func(id string)) {
	machines := slices.DeleteFunc(p.s.Cloud.Machines(), func(m model.Instance) bool { return m.State != model.Running })
	if len(machines) > 0 {
		do(machines[number(a.word(0))%len(machines)].ID)
	}
}

func (p *player) deleteNode(a Act) {
	nodes := p.nodes()
	if len(nodes) > 0 {
		p.s.Store.Delete(nodes[number(a.word(0))%len(nodes)])
	}
}

// protect has a person ask that a node is left alone for a while.
func (p *player) protect(a Act) {
	nodes := p.nodes()
	if len(nodes) == 0 {
		return
	}
	name := nodes[number(a.word(0))%len(nodes)].Name
	set := func(v string) {
		p.s.Store.EditNode(name, func(n *model.Node) {
			notes := map[string]string{}
			for k, old := range n.Annotations {
				notes[k] = old
			}
			if notes[model.AnnotationDoNotDisrupt] = v; v == "" {
				delete(notes, model.AnnotationDoNotDisrupt)
			}
			n.Annotations = notes
		})
	}
	set("true")
	p.in(span(a.word(1)), a, func() { set("") })
}

// hold has a person put something of a pool on hold for a while, or have it only observed.
func (p *player) hold(a Act) {
	key, value := model.AnnotationPause, a.word(1)
	if value == model.DisruptionObserve {
		key = model.AnnotationDisruptionMode
	}
	set := func(v string) {
		for _, x := range p.s.Store.Objects().Pools {
			if x.Name != a.word(0) {
				continue
			}
			x.Annotations = maps.Clone(x.Annotations)
			if x.Annotations == nil {
				x.Annotations = map[string]string{}
			}
			if x.Annotations[key] = v; v == "" {
				delete(x.Annotations, key)
			}
			p.s.Store.Put(x)
		}
	}
	set(value)
	p.in(span(a.word(2)), a, func() { set("") })
}

func (p *player) throttle(a Act) {
	p.s.Cloud.Throttle(span(a.word(0)))
	p.in(span(a.word(1)), a, func() { p.s.Cloud.Throttle(0) })
}

func (p *player) cloudDown(a Act) {
	p.s.Cloud.Down(true)
	p.in(span(a.word(0)), a, func() { p.s.Cloud.Down(false) })
}

func (p *player) soldOut(a Act) {
	when := memcloud.AtOnce
	if a.word(1) == "later" {
		when = memcloud.Later
	}
	p.s.Cloud.SellOutType(a.word(0), when)
	p.in(span(a.word(2)), a, func() { p.s.Cloud.RestockType(a.word(0)) })
}

// sick plays a kubelet that falls silent for a while.
func (p *player) sick(a Act) {
	nodes := p.nodes()
	if len(nodes) == 0 {
		return
	}
	name := nodes[number(a.word(0))%len(nodes)].Name
	p.s.Store.SetNodeReady(name, model.Unknown)
	p.in(span(a.word(1)), a, func() {
		if slices.ContainsFunc(p.s.Cloud.Machines(), func(m model.Instance) bool { return m.Name == name && m.State == model.Running }) {
			p.s.Store.SetNodeReady(name, model.True)
		}
	})
}

func (p *player) apiDown(a Act) {
	p.s.Store.SetDown(true)
	p.in(span(a.word(0)), a, func() { p.s.Store.SetDown(false) })
}

func (p *player) holdWatch(a Act) {
	p.s.Store.HoldWatch(true)
	p.in(span(a.word(0)), a, func() { p.s.Store.HoldWatch(false) })
}

func (p *player) fail(a Act) {
	p.s.Store.Fail(memkube.Op(a.word(0)), number(a.word(2)), kube.Code(a.word(1)))
}

func (p *player) loseAnswer(a Act) {
	p.s.Store.LoseAnswer(memkube.Op(a.word(0)), number(a.word(1)))
}

func (p *player) away(a Act) {
	p.s.Stop()
	p.in(span(a.word(0)), a, p.s.Start)
}
