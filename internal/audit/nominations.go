package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// nominations checks that nodes and claims really hold, together, what is expected there. Where pods have a say about their neighbours, nodes
// and claims on which nothing is expected are looked at too: they are domains, and have pods.
func (a *audit) nominations(p place.Plan, nominated []*subject) {
	nodes, claims := map[string][]*subject{}, map[string][]*subject{}
	for i, n := range p.Existing {
		if (n.Node == "") == (n.Claim == "") {
			a.bad(Target, "pod %s: want a node or a claim, have %q and %q", n.Pod, n.Node, n.Claim)
			continue
		}
		pod := nominated[i]
		if pod == nil {
			continue
		}
		if n.Node != "" {
			nodes[n.Node] = append(nodes[n.Node], pod)
		} else {
			claims[n.Claim] = append(claims[n.Claim], pod)
		}
	}
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if pods := nodes[n.Name]; len(pods) > 0 || a.tied {
			a.node(n, pods)
			delete(nodes, n.Name)
		}
	}
	for i := range a.w.Claims {
		c := &a.w.Claims[i]
		pods := claims[c.Name]
		if len(pods) == 0 && !a.tied || c.Deleting() || c.NodeName != "" || a.w.Index.NodeBy(c.ProviderID) != nil && len(pods) == 0 {
			continue
		}
		a.claim(c, pods)
		delete(claims, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		a.bad(Target, "node %s takes no pods", name)
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		a.bad(Target, "claim %s takes no pods", name)
	}
}

func (a *audit) node(n *model.Node, pods []*subject) {
	if len(pods) > 0 && (n.Cordoned || n.HasTaint(model.TaintDisrupted) || a.leaving[n.Name]) {
		a.bad(Target, "node %s takes no pods", n.Name)
		return
	}
	f, alloc, young := a.nodeFace(n)
	if len(pods) > 0 && !young && n.Ready != model.True {
		a.bad(Target, "node %s is not ready", n.Name)
	}
	form := &form{faces: []*face{f}, suited: map[*kind]bool{}}
	m := &machine{name: "node " + n.Name, node: n.Name, form: form, planned: pods, leaving: a.leaving[n.Name]}
	a.machines = append(a.machines, m)
	if len(pods) == 0 {
		return
	}
	used := model.Resources{}
	for _, p := range a.w.Index.On(n.Name).Pods {
		if p.Terminal {
			continue
		}
		used = used.Add(p.Requests)
		if !a.moves[p] {
			m.running = append(m.running, p)
		}
	}
	for _, p := range pods {
		used = used.Add(p.Requests)
		for _, t := range untolerated(f.taints, p.Pod) {
			a.bad(Taints, "pod %s does not tolerate %s of node %s", p.Key(), t, n.Name)
		}
	}
	a.suit(m)
	if short := used.Short(alloc); short != "" {
		a.bad(Room, "node %s has too little %s: would hold %s, has %s", n.Name, short, used, alloc)
	}
	a.together(m)
}

// nodeFace is a node as pods see it once it is ready, what it gives, and whether it is on its way to being ready.
func (a *audit) nodeFace(n *model.Node) (f *face, alloc model.Resources, young bool) {
	f = &face{what: "node " + n.Name, labels: plain(n.Labels), attach: n.AttachLimits, accepted: map[*kind]bool{}}
	alloc = n.Allocatable
	var startup []model.Taint
	c := a.w.Index.ClaimOf(n)
	if c != nil && n.Labels[model.LabelInitialized] != "true" && !c.Is(model.Initialized) {
		young, startup = true, c.StartupTaints
		labels := maps.Clone(c.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, n.Labels)
		f.labels = plain(labels)
		if !c.Allocatable.IsZero() {
			alloc = c.Allocatable
		}
		f.attach = a.promised(c, f.labels[model.LabelInstanceType], n.AttachLimits)
	}
	for _, t := range n.Taints {
		if !(young && goesAway(t, startup)) {
			f.taints = append(f.taints, t)
		}
	}
	if young {
		a.starting(n.Name, f)
	}
	if n.Cordoned {
		f.taints = append(f.taints, model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule})
	}
	if a.leaving[n.Name] && n.Labels[model.LabelPool] != "" { // what happens first to nodes of ours that leave
		f.taints = append(f.taints, model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
	}
	return f, alloc, young
}

// starting notes the daemons that a node on its way will have and does not have yet.
func (a *audit) starting(node string, f *face) {
	for i := range a.w.Daemons {
		d := &a.w.Daemons[i]
		there := slices.ContainsFunc(a.w.Index.On(node).Pods, func(p *model.Pod) bool {
			if p.Terminal || p.Namespace != d.Namespace || !p.DaemonSet || p.Deleting() {
				return false
			}
			for k, v := range d.Pod.Labels {
				if p.Labels[k] != v {
					return false
				}
			}
			return true
		})
		if !there && len(untolerated(f.taints, &d.Pod)) == 0 && f.selected(&d.Pod) {
			f.crew = append(f.crew, d)
		}
	}
}

// promised is what a node that is still starting will be able to attach: what it says already, then what its type says.
func (a *audit) promised(c *model.Claim, typ string, says map[string]int64) map[string]int64 {
	t, _ := a.w.Catalogs[c.Class].Type(typ)
	out := maps.Clone(t.AttachLimits)
	if out == nil {
		return says
	}
	maps.Copy(out, says)
	return out
}

// plain gives labels the names they have today.
func plain(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels))
	for k, v := range labels {
		if canonical(k) == k {
			out[k] = v
		}
	}
	// What stands under today's name is what counts; the disk driver, for one, says nothing where there are no zones.
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if _, ok := out[canonical(k)]; ok {
			continue
		}
		if out[canonical(k)] = labels[k]; k == diskZone && labels[k] == "" {
			out[canonical(k)] = "0"
		}
	}
	return out
}

// goesAway reports whether a taint on a node that is not initialized yet is removed before pods need it gone.
func goesAway(t model.Taint, startup []model.Taint) bool {
	if strings.HasPrefix(t.Key, "readiness.k8s.io/") {
		return true
	}
	for _, s := range startup {
		if s.Key == t.Key && s.Effect == t.Effect {
			return true
		}
	}
	return slices.Contains([]string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
		"node.cloudprovider.kubernetes.io/uninitialized", model.TaintUnregistered}, t.Key)
}

// claim checks a claim in flight against everything that it may become.
func (a *audit) claim(c *model.Claim, pods []*subject) {
	var sum model.Resources
	for _, p := range pods {
		sum = sum.Add(p.Requests)
		for _, t := range untolerated(c.Taints, p.Pod) {
			a.bad(Taints, "pod %s does not tolerate %s of claim %s", p.Key(), t, c.Name)
		}
	}
	m := &machine{name: "claim " + c.Name, form: &form{faces: a.claimFaces(c), suited: map[*kind]bool{}}, planned: pods}
	for _, f := range m.form.faces {
		if len(pods) == 0 {
			break
		}
		need, alloc := sum.Add(f.daemons), f.typ.Allocatable
		if !c.Allocatable.IsZero() {
			alloc = c.Allocatable
		}
		if short := need.Short(alloc); short != "" {
			a.bad(Room, "claim %s as %s has too little %s", c.Name, f.what, short)
		}
	}
	a.suit(m)
	a.together(m)
	if len(m.form.faces) > 0 {
		a.machines = append(a.machines, m)
	}
}

// claimAsks is what a claim requires, its labels included.
func claimAsks(c *model.Claim) []model.Requirement {
	reqs := slices.Clone(c.Requirements)
	for _, k := range slices.Sorted(maps.Keys(c.Labels)) {
		reqs = append(reqs, model.Requirement{Key: k, Op: model.In, Values: []string{c.Labels[k]}})
	}
	return reqs
}

// claimFaces is everything that a claim may become.
func (a *audit) claimFaces(c *model.Claim) []*face {
	reqs := claimAsks(c)
	asks := "claim " + requirementText(reqs)
	for _, t := range c.Taints {
		asks += t.String()
	}
	pool := &model.Pool{Name: c.Pool, Class: c.Class, Labels: c.Labels, Taints: c.Taints, Requirements: reqs}
	var out []*face
	for _, t := range a.w.Catalog(c.Pool, c.Class).Types {
		if !c.Requests.FitsIn(t.Allocatable) {
			continue
		}
		for _, o := range t.Offerings {
			if a.mayBecome(reqs, c.Class, offer{t, o}) {
				out = append(out, a.face(pool, reqs, asks, offer{t, o}))
			}
		}
	}
	if len(out) == 0 {
		f := &face{what: "what it says of itself", labels: plain(c.Labels), taints: c.Taints, accepted: map[*kind]bool{}}
		f.typ.Allocatable = c.Allocatable
		if !c.Allocatable.IsZero() {
			out = append(out, f)
		}
	}
	return out
}

// choiceText names a way that machines may turn out, for findings.
func choiceText(m *machine, f *face) string {
	if len(m.form.faces) == 1 {
		return m.name
	}
	return fmt.Sprintf("%s as %s", m.name, f.what)
}
