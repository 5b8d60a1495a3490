package worldtext

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

func (b *builder) class(f *fields) {
	c := readyClass(f.name)
	c.Conditions = ready(!f.flag("not-ready"))
	c.Deleting = f.flag("deleting")
	b.w.Classes = append(b.w.Classes, c)
}

func (b *builder) instanceType(f *fields) {
	class := f.one("class", "default")
	t := model.InstanceType{Name: f.name, Family: f.text("family", f.name[:min(1, len(f.name))])}
	t.Labels = f.labels(typeLabels(f.name))
	t.Either = f.either()
	t.Capacity, t.Allocatable = f.machine()
	t.AttachLimits = f.attach()
	soldOut := map[string]bool{}
	for _, s := range f.list("sold-out") {
		soldOut[s] = true
	}
	extra := f.under("olabel.")
	own, supply := f.under("price."), f.under("supply.")
	prices := map[string]string{model.OnDemand: f.one("price", ""), model.Spot: f.one("spot", "")}
	zones := unescapeAll(f.one("zones", "1"), ",")
	for i, z := range zones {
		if slices.Contains(zones[:i], z) {
			f.fail("zones: %q stands there twice", z)
			return
		}
		for _, ct := range []string{model.OnDemand, model.Spot, model.Reserved} {
			price := cmp.Or(own[at(z, ct)], prices[ct])
			if price == "" {
				continue
			}
			o := model.OfferingKey{Type: t.Name, Zone: z, CapacityType: ct}
			t.Offerings = append(t.Offerings, f.offering(o, price, soldOut, extra))
			if s, ok := supply[at(z, ct)]; ok {
				n, err := strconv.ParseInt(s, 10, 64)
				if err != nil {
					f.fail("supply.%s: %w", at(z, ct), err)
				}
				t.Offerings[len(t.Offerings)-1].Supply = &n
			}
		}
	}
	slices.SortFunc(t.Offerings, func(x, y model.Offering) int {
		return cmp.Or(cmp.Compare(x.Price, y.Price), strings.Compare(x.Zone, y.Zone), strings.Compare(x.CapacityType, y.CapacityType))
	})
	in, key := b.catalogs, class
	if pool := f.one("for", ""); pool != "" {
		in, key = b.ofPools, pool
	}
	if in[key] == nil {
		in[key] = &model.Catalog{Class: Ref(class), Epoch: 1}
	}
	in[key].Types = append(in[key].Types, t)
}

func (f *fields) offering(k model.OfferingKey, price string, soldOut map[string]bool, extra map[string]string) model.Offering {
	p, err := strconv.ParseFloat(price, 64)
	if err != nil {
		f.fail("price: %w", err)
	}
	where := at(k.Zone, k.CapacityType)
	o := model.Offering{Type: k.Type, Zone: k.Zone, CapacityType: k.CapacityType, Price: model.Dollars(p),
		Available: !soldOut[where] && !soldOut["all"],
		Labels:    map[string]string{model.LabelZone: k.Zone, model.LabelCapacityType: k.CapacityType}}
	if !o.Available {
		o.Unavailable = "sold out"
	}
	for k, v := range extra {
		if k, ok := strings.CutPrefix(k, unescape(where)+"."); ok {
			o.Labels[k] = v
		}
	}
	return o
}

// machine reads capacity and allocatable; what is not said of allocatable is the capacity.
func (f *fields) machine() (capacity, alloc model.Resources) {
	capacity = f.resources("")
	if !f.has(model.ResourcePods) {
		capacity.Pods = 110
	}
	if !f.has(model.ResourceEphemeral) {
		capacity.Ephemeral = 100 << 30
	}
	alloc = capacity
	less := f.resources("alloc.")
	for _, w := range f.words {
		if n, ok := strings.CutPrefix(w[0], "alloc."); ok {
			n = unescape(n)
			alloc = alloc.With(n, less.Get(n))
		}
	}
	return capacity, alloc
}

// typeLabels are the labels that every type has unless something else is said.
func typeLabels(name string) map[string]string {
	return map[string]string{model.LabelInstanceType: name, model.LabelArch: "amd64", model.LabelOS: "linux"}
}

// nodeLabels are the labels that every node has unless something else is said.
func nodeLabels(name string) map[string]string {
	return map[string]string{model.LabelHostname: name, model.LabelArch: "amd64", model.LabelOS: "linux"}
}

// claimLabels are the labels that every claim has unless something else is said.
func claimLabels(pool string) map[string]string {
	if pool == "" {
		return nil
	}
	return map[string]string{model.LabelPool: pool}
}

// either reads the labels that a buyer may choose. Its values are apart from each other before they are unescaped.
func (f *fields) either() map[string][]string {
	var out map[string][]string
	for i, w := range f.words {
		if k, ok := strings.CutPrefix(w[0], "either."); ok {
			f.used[i] = true
			if out == nil {
				out = map[string][]string{}
			}
			out[unescape(k)] = unescapeAll(w[1], ",")
		}
	}
	return out
}

func (b *builder) pool(f *fields) {
	p := model.Pool{
		Name: f.name, UID: "pool-" + f.name, Class: Ref(f.one("class", "default")), Weight: int(f.int("weight", 0)),
		Deleting: f.flag("deleting"), Conditions: ready(!f.flag("not-ready")),
		Labels: f.under("label."), NodeAnnotations: f.under("annotation."), Annotations: f.under("own."),
		Taints: f.taints("taint"), StartupTaints: f.taints("startup-taint"), Requirements: f.requirements(),
		ExpireAfter: f.duration("expire"), TerminationGracePeriod: f.duration("grace"),
		Policy:           model.ConsolidationPolicy(f.one("policy", string(model.WhenEmptyOrUnderutilized))),
		ConsolidateAfter: f.duration("consolidate-after"), Hash: f.text("hash", ""), HashVersion: f.text("hash-version", ""),
	}
	if s := f.one("replicas", ""); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			f.fail("replicas: %w", err)
		}
		p.Replicas = &n
	}
	for k, v := range f.under("limit.") {
		n, err := Quantity(k, v)
		if err != nil {
			f.fail("limit.%s: %w", k, err)
		}
		if p.Limits == nil {
			p.Limits = map[string]int64{}
		}
		p.Limits[k] = n
	}
	b.w.Pools = append(b.w.Pools, p)
}

func (b *builder) node(f *fields) {
	n := model.Node{Name: f.name, UID: "node-" + f.name, ProviderID: f.text("provider-id", "cloud:///"+f.name),
		Created: f.when("created"), Taints: f.taints("taint"), Cordoned: f.flag("cordoned"), Ready: model.True,
		Annotations: f.under("annotation."), Labels: f.labels(nodeLabels(f.name))}
	for field, label := range map[string]string{"pool": model.LabelPool, "type": model.LabelInstanceType, "zone": model.LabelZone,
		"capacity-type": model.LabelCapacityType} {
		if v := f.one(field, ""); v != "" {
			n.Labels[label] = v
		}
	}
	if f.flag("initialized") {
		n.Labels[model.LabelRegistered], n.Labels[model.LabelInitialized] = "true", "true"
	}
	if f.flag("deleting") {
		n.DeletedAt = Epoch()
	}
	if f.flag("not-ready") {
		n.Ready = model.False
	}
	if f.flag("interrupted") {
		n.Conditions = []model.Condition{{Type: model.PreemptionScheduled, Status: model.True, Since: Epoch()}}
	}
	n.Capacity, n.Allocatable = f.machine()
	n.AttachLimits = f.attach()
	b.w.Nodes = append(b.w.Nodes, n)
}

func (b *builder) claim(f *fields) {
	pool := f.one("pool", "")
	c := model.Claim{Name: f.name, UID: "claim-" + f.name, Pool: pool, Class: Ref(f.one("class", "default")),
		NodeName: f.one("node", ""), ProviderID: f.text("provider-id", ""), Requirements: f.requirements(),
		Requests: f.resources("requests."), Taints: f.taints("taint"), StartupTaints: f.taints("startup-taint"),
		Created: f.when("created"), LastPodEvent: f.when("pod-event"), Labels: f.labels(claimLabels(pool)), Annotations: f.under("annotation."),
		Finalizers: []string{model.Finalizer}, ExpireAfter: f.duration("expire"), TerminationGracePeriod: f.duration("grace")}
	if c.NodeName != "" && !f.has("provider-id") {
		c.ProviderID = "cloud:///" + c.NodeName
	}
	if c.Pool != "" {
		c.PoolUID = "pool-" + c.Pool
	}
	if f.flag("deleting") {
		c.DeletedAt = Epoch()
	}
	if f.has(model.ResourceCPU) || f.has(model.ResourceMemory) || f.has(model.ResourcePods) {
		c.Capacity, c.Allocatable = f.machine()
	}
	for _, t := range f.list("is") {
		c.Conditions = append(c.Conditions, model.Condition{Type: t, Status: model.True, Since: Epoch()})
	}
	b.w.Claims = append(b.w.Claims, c)
}

func (f *fields) has(key string) bool {
	return slices.ContainsFunc(f.words, func(w [2]string) bool { return w[0] == key })
}

func (b *builder) pods(f *fields) {
	n := 0
	for i, w := range f.words {
		if s, ok := strings.CutPrefix(w[0], "x"); ok && w[1] == "" {
			if v, err := strconv.Atoi(s); err == nil {
				n, f.used[i] = v, true
			}
		}
	}
	if n > maxReplicas {
		f.fail("x%d is more than %d", n, maxReplicas)
		return
	}
	if n == 0 {
		b.w.Pods = append(b.w.Pods, f.pod(f.name, "default"))
		return
	}
	for i := range n {
		b.w.Pods = append(b.w.Pods, f.pod(fmt.Sprintf("%s-%d", f.name, i), "default"))
	}
}

func (f *fields) pod(name, ns string) model.Pod {
	p := model.Pod{Name: name, Namespace: cmp.Or(f.one("ns", ""), ns), Node: f.one("node", ""), Created: f.when("created"), Labels: f.under("label."),
		Requests: f.resources(""), NodeSelector: f.under("select."), Gated: f.flag("gated"), Terminal: f.flag("terminal"),
		Mirror: f.flag("mirror"), DaemonSet: f.flag("daemon"), StatefulSet: f.flag("stateful"), Revision: f.text("revision", ""), Critical: f.flag("critical"), Priority: int32(f.int("priority", 0)),
		DoNotDisrupt: f.text("do-not-disrupt", ""), GraceSeconds: f.int("grace-seconds", 30), PodReady: !f.flag("not-ready")}
	p.UID = "pod-" + p.Namespace + "-" + p.Name
	if p.Requests.Pods == 0 {
		p.Requests.Pods = 1
	}
	for _, a := range f.take("affinity") {
		p.Affinity = append(p.Affinity, f.term(a))
	}
	for _, s := range f.take("tolerate") {
		p.Tolerations = append(p.Tolerations, toleration(s))
	}
	f.rules(&p)
	for _, s := range f.list("needs") {
		p.Needs = append(p.Needs, model.Why(s))
	}
	if f.flag("terminating") {
		p.DeletedAt = Epoch()
	}
	p.Nominated, p.Promised, p.Virtual = f.one("nominated", ""), f.one("promised", ""), f.flag("virtual")
	p.Unschedulable = f.flag("waiting") || asksForNode(p)
	if f.flag("unjudged") {
		p.Unschedulable = false
	}
	return p
}

func (b *builder) pdb(f *fields) {
	d := model.PDB{Namespace: f.one("ns", "default"), Name: f.name, Allowed: int32(f.int("allowed", 0)),
		AlwaysAllowUnready: f.flag("always-allow-unready")}
	for _, s := range f.list("pods") {
		ns, name, ok := strings.Cut(s, "/")
		if !ok {
			f.fail("pods: want namespace/name, have %q", s)
		}
		d.Pods = append(d.Pods, model.PodKey{Namespace: ns, Name: name})
	}
	b.w.PDBs = append(b.w.PDBs, d)
}

func (f *fields) requirements() []model.Requirement {
	var out []model.Requirement
	for _, s := range f.take("req") {
		out = append(out, f.requirement(s))
	}
	return out
}

// requirement reads key:Op[:a,b[:min]].
func (f *fields) requirement(s string) model.Requirement {
	parts := strings.Split(s, ":")
	if len(parts) < 2 {
		f.fail("requirement %q: want key:Operator[:values[:min]]", s)
		return model.Requirement{}
	}
	r := model.Requirement{Key: unescape(parts[0]), Op: model.Operator(parts[1])}
	if len(parts) > 2 && parts[2] != "" {
		r.Values = unescapeAll(parts[2], ",")
	}
	if len(parts) > 3 {
		n, err := strconv.Atoi(parts[3])
		if err != nil {
			f.fail("requirement %q: %w", s, err)
		}
		r.MinValues = n
	}
	return r
}

func (f *fields) taints(key string) []model.Taint {
	var out []model.Taint
	for _, s := range f.take(key) {
		rest, effect, ok := cutLast(s, ":")
		if !ok {
			f.fail("%s %q: want key[=value]:Effect", key, s)
		}
		k, v, _ := strings.Cut(rest, "=")
		out = append(out, model.Taint{Key: unescape(k), Value: unescape(v), Effect: model.Effect(effect)})
	}
	return out
}

// toleration reads "key" or "key:Effect" (any value), "key=value" or "key=value:Effect", with "<" or ">" for numbers, and "*" in
// place of the key for every key.
func toleration(s string) model.Toleration {
	rest, effect, ok := cutLast(s, ":")
	if !ok {
		rest, effect = s, ""
	}
	t := model.Toleration{Key: rest, Op: "Exists", Effect: model.Effect(effect)}
	if i := strings.IndexAny(rest, "=<>"); i >= 0 {
		t.Key, t.Value = rest[:i], rest[i+1:]
		t.Op = map[byte]string{'=': "Equal", '<': "Lt", '>': "Gt"}[rest[i]]
	} else if rest == "*" {
		t.Key = ""
	}
	t.Key, t.Value = unescape(t.Key), unescape(t.Value)
	return t
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
