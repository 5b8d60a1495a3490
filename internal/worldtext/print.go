package worldtext

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// Print writes w as lines that Parse reads back: everything that decides where pods go, exactly. What does not is lost: conditions'
// texts, instances, budgets of pools, overlays and buffers as objects (their effects are in the types and pods).
func Print(w model.World) string {
	w = w.Flat()
	var b strings.Builder
	for _, c := range w.Classes {
		l := newLine("class", c.Ref.Name)
		l.flag("not-ready", !model.IsTrue(c.Conditions, model.Ready)).flag("deleting", c.Deleting)
		l.to(&b)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(w.Catalogs), byName) {
		for _, t := range w.Catalogs[ref].Types {
			printType(&b, ref.Name, "", t)
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(w.PoolCatalogs)) {
		c := w.PoolCatalogs[pool]
		for _, t := range c.Types {
			printType(&b, c.Class.Name, pool, t)
		}
	}
	for _, p := range w.Pools {
		printPool(&b, p)
	}
	for _, n := range w.Namespaces {
		newLine("namespace", n.Name).sorted("label.", n.Labels).to(&b)
	}
	for _, n := range w.Nodes {
		printNode(&b, n)
	}
	for _, c := range w.Claims {
		printClaim(&b, c)
	}
	for _, d := range w.Daemons {
		p := d.Pod
		p.Namespace, p.Name = d.Namespace, d.Name
		printPod(&b, "daemon", p)
	}
	for _, p := range w.Pods {
		printPod(&b, "pod", p)
	}
	for _, d := range w.PDBs {
		l := newLine("pdb", d.Name).field("ns", d.Namespace).field("allowed", strconv.Itoa(int(d.Allowed)))
		var keys []string
		for _, k := range d.Pods {
			keys = append(keys, k.String())
		}
		l.field("pods", strings.Join(keys, ",")).flag("always-allow-unready", d.AlwaysAllowUnready).to(&b)
	}
	return b.String()
}

func byName(a, b model.ClassRef) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group))
}

type line struct{ words []string }

func newLine(noun, name string) *line { return &line{[]string{noun, word(name, "")}} }

func (l *line) flag(name string, yes bool) *line {
	if yes {
		l.words = append(l.words, name)
	}
	return l
}

func (l *line) field(key, value string) *line {
	if value != "" {
		l.words = append(l.words, key+"="+value)
	}
	return l
}

// text is field for a value that may be any text.
func (l *line) text(key, value string) *line { return l.field(key, escape(value, "")) }

// labels writes labels without those that hold anyway.
func (l *line) labels(m, defaults map[string]string) *line {
	var skip, without []string
	for _, k := range slices.Sorted(maps.Keys(defaults)) {
		switch v, ok := m[k]; {
		case !ok:
			without = append(without, k)
		case v == defaults[k] && (k == model.LabelHostname || k == model.LabelInstanceType || k == model.LabelPool):
			skip = append(skip, k)
		}
	}
	return l.sorted("label.", m, skip...).field("no-label", strings.Join(without, ","))
}

// machine writes what fields.machine reads: it takes what is not said for granted, so that nothing must be said too.
func (l *line) machine(capacity, alloc model.Resources) *line {
	l.resources("", capacity)
	for _, n := range []string{model.ResourcePods, model.ResourceEphemeral} {
		l.field(n, zeroText(n, capacity.Get(n) == 0))
	}
	l.resources("alloc.", alloc)
	for _, n := range capacity.Names() {
		l.field("alloc."+resourceName(n), zeroText(n, alloc.Get(n) == 0))
	}
	return l
}

func zeroText(name string, yes bool) string {
	if !yes {
		return ""
	}
	return model.FormatQuantity(name, 0)
}

func (l *line) sorted(prefix string, m map[string]string, skip ...string) *line {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(skip, k) {
			l.words = append(l.words, prefix+escape(k, "=")+"="+escape(m[k], ""))
		}
	}
	return l
}

func (l *line) resources(prefix string, r model.Resources) *line {
	for _, n := range r.Names() {
		l.field(prefix+resourceName(n), model.FormatQuantity(n, r.Get(n)))
	}
	return l
}

// resourceName writes a resource's name so that it is read as one.
func resourceName(n string) string {
	switch n {
	case model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods:
		return n
	}
	if isResource(n) {
		return escape(n, inNames)
	}
	return inStead(n)
}

func (l *line) taints(key string, list []model.Taint) *line {
	for _, t := range list {
		l.field(key, taintText(t))
	}
	return l
}

func (l *line) requirements(list []model.Requirement) *line {
	for _, r := range list {
		l.field("req", requirementText(r))
	}
	return l
}

func (l *line) duration(key string, d *time.Duration) *line {
	if d != nil {
		l.field(key, d.String())
	}
	return l
}

func (l *line) when(key string, t time.Time) *line {
	if !t.IsZero() {
		l.field(key, t.Sub(Epoch()).String())
	}
	return l
}

func (l *line) to(b *strings.Builder) { b.WriteString(strings.Join(l.words, " ") + "\n") }

func taintText(t model.Taint) string {
	t.Key, t.Value = escape(t.Key, inNames), escape(t.Value, inNames)
	return t.String()
}

func requirementText(r model.Requirement) string {
	s := escape(r.Key, inValues) + ":" + string(r.Op)
	if len(r.Values) > 0 || r.MinValues > 0 {
		s += ":" + escapeAll(r.Values, ",")
	}
	if r.MinValues > 0 {
		s += ":" + strconv.Itoa(r.MinValues)
	}
	return s
}

func printType(b *strings.Builder, class, pool string, t model.InstanceType) {
	l := newLine("type", t.Name).field("class", class).field("for", pool).field("family", word(t.Family, ""))
	l.machine(t.Capacity, t.Allocatable).attach(t.AttachLimits).labels(t.Labels, typeLabels(t.Name))
	for _, k := range slices.Sorted(maps.Keys(t.Either)) {
		l.field("either."+escape(k, "="), escapeAll(t.Either[k], ","))
	}
	zones, sold, price, supply := map[string]bool{}, []string{}, map[string]string{}, map[string]string{}
	for _, o := range t.Offerings {
		zones[o.Zone] = true
		at := at(o.Zone, o.CapacityType)
		if !o.Available {
			sold = append(sold, at)
		}
		if o.Supply != nil {
			supply["supply."+at] = strconv.FormatInt(*o.Supply, 10)
		}
		price["price."+at] = strconv.FormatFloat(o.Price.Float(), 'f', -1, 64)
	}
	slices.Sort(sold)
	l.field("zones", escapeAll(slices.Sorted(maps.Keys(zones)), ","))
	l.sorted("", price).sorted("", supply).field("sold-out", strings.Join(sold, ","))
	for _, o := range t.Offerings {
		l.sorted("olabel."+at(o.Zone, o.CapacityType)+".", o.Labels, model.LabelZone, model.LabelCapacityType)
	}
	l.to(b)
}

func printPool(b *strings.Builder, p model.Pool) {
	l := newLine("pool", p.Name).field("class", p.Class.Name)
	if p.Weight != 0 {
		l.field("weight", strconv.Itoa(p.Weight))
	}
	for _, k := range slices.Sorted(maps.Keys(p.Limits)) {
		l.field("limit."+escape(k, "="), model.FormatQuantity(k, p.Limits[k]))
	}
	if p.Replicas != nil {
		l.field("replicas", fmt.Sprint(*p.Replicas))
	}
	l.sorted("label.", p.Labels).sorted("annotation.", p.NodeAnnotations).sorted("own.", p.Annotations).taints("taint", p.Taints).taints("startup-taint", p.StartupTaints)
	l.requirements(p.Requirements).flag("not-ready", !model.IsTrue(p.Conditions, model.Ready)).flag("deleting", p.Deleting)
	l.duration("expire", p.ExpireAfter).duration("grace", p.TerminationGracePeriod).duration("consolidate-after", p.ConsolidateAfter)
	l.field("policy", string(p.Policy)).text("hash", p.Hash).text("hash-version", p.HashVersion).to(b)
}

func printNode(b *strings.Builder, n model.Node) {
	l := newLine("node", n.Name).field("provider-id", word(n.ProviderID, "")).machine(n.Capacity, n.Allocatable).attach(n.AttachLimits)
	l.labels(n.Labels, nodeLabels(n.Name)).sorted("annotation.", n.Annotations).taints("taint", n.Taints)
	l.flag("cordoned", n.Cordoned).flag("deleting", n.Deleting()).flag("not-ready", n.Ready != model.True).
		flag("interrupted", outage.Interrupted(&n)).when("created", n.Created).to(b)
}

func printClaim(b *strings.Builder, c model.Claim) {
	l := newLine("claim", c.Name).field("pool", c.Pool).field("class", c.Class.Name).field("node", c.NodeName)
	if c.NodeName != "" || c.ProviderID != "" {
		l.field("provider-id", word(c.ProviderID, ""))
	}
	l.requirements(c.Requirements).resources("requests.", c.Requests)
	if !c.Capacity.IsZero() || !c.Allocatable.IsZero() {
		l.machine(c.Capacity, c.Allocatable)
	}
	l.labels(c.Labels, claimLabels(c.Pool)).sorted("annotation.", c.Annotations).taints("taint", c.Taints)
	l.taints("startup-taint", c.StartupTaints).duration("expire", c.ExpireAfter).duration("grace", c.TerminationGracePeriod)
	var is []string
	for _, x := range c.Conditions {
		if x.Status == model.True {
			is = append(is, x.Type)
		}
	}
	l.field("is", strings.Join(is, ",")).flag("deleting", c.Deleting()).when("created", c.Created).when("pod-event", c.LastPodEvent).to(b)
}

func printPod(b *strings.Builder, noun string, p model.Pod) {
	l := newLine(noun, p.Name).field("ns", p.Namespace).resources("", p.Requests).sorted("select.", p.NodeSelector)
	for _, t := range p.Affinity {
		l.words = append(l.words, "affinity="+termText(t))
	}
	for _, t := range p.Tolerations {
		l.field("tolerate", tolerationText(t))
	}
	l.rules(p)
	var needs []string
	for _, n := range p.Needs {
		needs = append(needs, string(n))
	}
	l.field("needs", strings.Join(needs, ",")).field("node", p.Node).field("nominated", p.Nominated).field("promised", p.Promised)
	l.flag("waiting", p.Unschedulable && !asksForNode(p)).flag("unjudged", !p.Unschedulable && asksForNode(p)).flag("virtual", p.Virtual)
	l.flag("gated", p.Gated).flag("terminal", p.Terminal).flag("terminating", p.Deleting()).flag("mirror", p.Mirror)
	l.flag("daemon", p.DaemonSet).flag("stateful", p.StatefulSet).flag("critical", p.Critical).flag("not-ready", !p.PodReady)
	if p.Priority != 0 {
		l.field("priority", strconv.Itoa(int(p.Priority)))
	}
	if p.GraceSeconds != 30 {
		l.field("grace-seconds", strconv.FormatInt(p.GraceSeconds, 10))
	}
	l.text("do-not-disrupt", p.DoNotDisrupt).text("revision", p.Revision).sorted("label.", p.Labels).when("created", p.Created).to(b)
}

// asksForNode reports whether a pod counts as waiting when nothing is said.
func asksForNode(p model.Pod) bool { return p.Node == "" && !p.Gated && !p.Terminal }

func tolerationText(t model.Toleration) string {
	s := escape(t.Key, "*"+inNames)
	t.Value = escape(t.Value, inNames)
	switch t.Op {
	case "Exists":
		if s == "" {
			s = "*"
		}
	case "Lt":
		s += "<" + t.Value
	case "Gt":
		s += ">" + t.Value
	default:
		s += "=" + t.Value
	}
	if t.Effect != "" {
		s += ":" + string(t.Effect)
	}
	return s
}
