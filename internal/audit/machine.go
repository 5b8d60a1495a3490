package audit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/outage"
	"github.com/karpenter-aks/karpenter/model"
)

// audit is one look at one plan.
type audit struct {
	w        model.World                        // with an index
	leaving  map[string]bool                    // nodes on their way out
	shut     map[model.PodKey][]bool            // per pod and budget that lets nobody go, whether unready pods may; see held
	own      map[model.ClassRef]map[string]bool // labels that machines of the class bring
	faces    map[shop]map[model.OfferingKey]*face
	forms    map[terms][]*form // of purchases
	bought   []*form           // the same, in the plan's order
	kinds    map[string]*kind
	sayings  map[string]int
	named    map[model.PodKey]*subject // nil where there is no such pod
	subjects []subject                 // those that there are, and others that wait
	moves    map[*model.Pod]bool       // pods that will not be where they run now, placed or not
	sells    map[alone]bool
	machines []*machine
	order    []model.PodKey // in which the plan says that pods can be bound
	asked    []string       // labels that terms of pods ask of others; see hear
	tied     bool           // somebody has a say about neighbours
	ties     *tallies       // nil when nobody has a say about neighbours
	out      []Finding
	text     []byte   // scratch of kind
	labels   []string // scratch of kind
}

// subject is a pod that the plan speaks of, or could.
type subject struct {
	*model.Pod
	kind   *kind // nil when nodes' labels do not matter to it
	says   int   // what it requires of its neighbours, by number; 0 = nothing
	plain  bool  // it waits, and nothing that it needs is undecided
	told   bool  // the plan mentions it
	seated bool  // it is on a machine of the plan
	placed bool  // the plan gives it a place that it may have
	kin    *kin  // when somebody has a say about neighbours
	unit   *unit // when it has, or others have one about it
}

// kind is pods to whom nodes' labels matter in the same way.
type kind struct{ id int }

// machine is a node, a claim in flight or a purchase, with everything that it may turn out to be and the pods of the plan on it.
type machine struct {
	name    string
	node    string // its name, "" when there is none yet
	form    *form
	planned []*subject
	running []*model.Pod // beside planned ones; not listed where there are none
	leaving bool
	host    int // the number of its name as a domain, where that is not known yet
}

// face is one thing that a machine may turn out to be.
type face struct {
	what   string
	labels map[string]string
	// either lists, for labels that the buyer may choose, what the claim still allows.
	either map[string][]string
	taints []model.Taint // lasting ones
	attach map[string]int64
	typ    model.InstanceType
	sold   model.Offering // what is sold as this
	// crew are the daemons that will run here and do not yet, and daemons is what they need.
	crew     []*model.Daemon
	daemons  model.Resources
	accepted map[*kind]bool
	values   []int // by the tallies' keys; see labelled
}

// shop is where machines with the same requirements are bought.
type shop struct {
	pool  string
	class model.ClassRef
	asks  string
}

type offer struct {
	t model.InstanceType
	o model.Offering
}

func newAudit(w model.World) *audit {
	w = w.Indexed()
	w.Daemons = joining(w.Daemons)
	return &audit{w: w, leaving: departing(&w), own: map[model.ClassRef]map[string]bool{},
		faces: map[shop]map[model.OfferingKey]*face{}, forms: map[terms][]*form{}, kinds: map[string]*kind{}, sayings: map[string]int{}, moves: map[*model.Pod]bool{}, sells: map[alone]bool{}}
}

// departing lists the nodes on their way out: they, or their claims, are being deleted.
func departing(w *model.World) map[string]bool {
	out := map[string]bool{}
	for i := range w.Claims {
		c := &w.Claims[i]
		if !c.Deleting() {
			continue
		}
		if c.NodeName != "" {
			out[c.NodeName] = true
		}
		if n := w.Index.NodeBy(c.ProviderID); n != nil {
			out[n.Name] = true
		}
	}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Deleting() {
			out[n.Name] = true
		}
	}
	return out
}

// held reports whether nobody may move the pod although its node leaves: it forbids that, or a disruption budget lets nobody go. One
// that goes already does so whoever forbade it, and all go whose machine the cloud takes away.
func (a *audit) held(p *model.Pod) bool {
	if p.Deleting() {
		return false
	}
	n := a.w.Index.Node(p.Node)
	if n != nil && outage.Interrupted(n) { // all of its pods go, whatever protects them
		return false
	}
	if a.shut == nil {
		a.shut = map[model.PodKey][]bool{}
		for _, b := range a.w.PDBs {
			if b.Allowed != 0 {
				continue
			}
			for _, k := range b.Pods {
				a.shut[k] = append(a.shut[k], b.AlwaysAllowUnready)
			}
		}
	}
	return p.DoNotDisrupt == "true" || slices.ContainsFunc(a.shut[p.Key()], func(unreadyMayGo bool) bool { return !unreadyMayGo || p.PodReady })
}

// offering finds what a key names. The types should be in the order of their names; where they are not, all are looked at.
func (a *audit) offering(pool string, class model.ClassRef, k model.OfferingKey) (offer, bool) {
	types := a.w.Catalog(pool, class).Types
	i, ok := slices.BinarySearchFunc(types, k.Type, func(t model.InstanceType, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		i = slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == k.Type })
	}
	if i < 0 {
		return offer{}, false
	}
	o, ok := find(types[i].Offerings, func(o model.Offering) bool { return o.Key() == k })
	return offer{types[i], o}, ok
}

// face is what a machine of the pool with these requirements is as one offering. asks is the requirements' text: equal
// questions get the same answer.
func (a *audit) face(pool *model.Pool, reqs []model.Requirement, asks string, x offer) *face {
	known, key := a.known(pool, asks), x.o.Key()
	if f := known[key]; f != nil {
		return f
	}
	f := &face{what: key.String(), sold: x.o, labels: a.nodeLabels(pool, reqs, x), taints: pool.Taints, attach: x.t.AttachLimits, typ: x.t,
		either: map[string][]string{}, accepted: map[*kind]bool{}}
	for k := range x.t.Either {
		values := x.t.Choices(x.o, k)
		if values == nil {
			continue
		}
		k = canonical(k)
		f.either[k] = slices.DeleteFunc(slices.Clone(values), func(v string) bool {
			return slices.ContainsFunc(reqs, func(r model.Requirement) bool { return canonical(r.Key) == k && !value(r, v, true) })
		})
	}
	for i := range a.w.Daemons {
		if d := &a.w.Daemons[i]; f.runs(&d.Pod) {
			f.daemons = f.daemons.Add(d.Pod.Requests)
			f.crew = append(f.crew, d)
		}
	}
	known[key] = f
	return f
}

// known is the faces that were made already for machines of the pool with requirements of such a text.
func (a *audit) known(pool *model.Pool, asks string) map[model.OfferingKey]*face {
	at := shop{pool.Name, pool.Class, asks}
	if a.faces[at] == nil {
		a.faces[at] = map[model.OfferingKey]*face{}
	}
	return a.faces[at]
}

// joining returns the daemons without what they ask of labels that our nodes get as they join. Machines that come are judged by how they
// end, and those that are there have their daemons already.
func joining(list []model.Daemon) []model.Daemon {
	comes := func(key string) bool { return key == model.LabelRegistered || key == model.LabelInitialized }
	out := slices.Clone(list)
	for i := range out {
		pod := &out[i].Pod
		pod.NodeSelector = maps.Clone(pod.NodeSelector)
		maps.DeleteFunc(pod.NodeSelector, func(k, v string) bool { return comes(k) && v == "true" })
		pod.Affinity = slices.Clone(pod.Affinity)
		for j, term := range pod.Affinity {
			pod.Affinity[j] = slices.DeleteFunc(slices.Clone(term), func(r model.Requirement) bool {
				return comes(r.Key) && (r.Op == model.Exists || r.Op == model.In && slices.Contains(r.Values, "true"))
			})
			if len(term) > 0 && len(pod.Affinity[j]) == 0 {
				pod.Affinity = nil // one of its alternatives asks for nothing else
				break
			}
		}
	}
	return out
}

// runs reports whether a daemon runs there.
func (f *face) runs(d *model.Pod) bool {
	for name, n := range d.Requests.Extended {
		if f.typ.Allocatable.Extended[name] < n {
			return false
		}
	}
	return len(untolerated(f.taints, d)) == 0 && f.selected(d)
}

// untolerated lists the taints that keep the pod away.
func untolerated(taints []model.Taint, p *model.Pod) []model.Taint {
	var out []model.Taint
	for _, t := range taints {
		if t.Effect != model.PreferNoSchedule && !tolerated(t, p.Tolerations) {
			out = append(out, t)
		}
	}
	return out
}

// requirementText tells requirements apart as far as labels of a machine depend on them.
func requirementText(reqs []model.Requirement) string {
	var b strings.Builder
	for _, r := range reqs {
		switch r.Key {
		case model.LabelInstanceType, model.LabelZone, model.LabelCapacityType: // the offering says these
			continue
		}
		b.WriteString(r.Key + " " + string(r.Op) + " " + strings.Join(r.Values, ",") + ";")
	}
	return b.String()
}

// nodeLabels is what the new node will be labelled with: what the pool hands out, what the claim settled of it, what the
// machine is. A claim cannot settle what its pool says nothing about, nor can a pool hand out what only machines bring.
func (a *audit) nodeLabels(pool *model.Pool, reqs []model.Requirement, x offer) map[string]string {
	labels := make(map[string]string, len(pool.Labels)+len(x.t.Labels)+len(x.o.Labels)+8)
	for _, r := range reqs {
		if r.Op == model.In && len(r.Values) == 1 && !a.machineLabel(pool.Class, canonical(r.Key)) &&
			slices.ContainsFunc(pool.Requirements, func(q model.Requirement) bool { return canonical(q.Key) == canonical(r.Key) }) {
			labels[canonical(r.Key)] = r.Values[0]
		}
	}
	for _, m := range []map[string]string{pool.Labels, x.t.Labels, x.o.Labels} {
		for k, v := range m {
			labels[canonical(k)] = v
		}
	}
	labels[model.LabelInstanceType], labels[model.LabelZone], labels[model.LabelCapacityType] = x.o.Type, x.o.Zone, x.o.CapacityType
	labels[model.LabelPool] = pool.Name
	labels[pool.Class.Group+"/"+strings.ToLower(pool.Class.Kind)] = pool.Class.Name
	return labels
}

// kind tells pods apart as far as nodes' labels matter to them: selector, affinity and volumes. nil when they do not.
func (a *audit) kind(p *model.Pod) *kind {
	if len(p.NodeSelector) == 0 && p.Affinity == nil && len(p.Volumes) == 0 {
		return nil
	}
	b := a.text[:0]
	a.labels = slices.AppendSeq(a.labels[:0], maps.Keys(p.NodeSelector))
	slices.Sort(a.labels)
	for _, k := range a.labels {
		b = quoted(quoted(b, k), p.NodeSelector[k])
	}
	if p.Affinity != nil {
		b = appendTerms(append(b, "affinity"...), p.Affinity)
	}
	for _, v := range p.Volumes {
		if v.Terms != nil {
			b = appendTerms(quoted(append(b, "volume"...), v.ID), v.Terms)
		}
	}
	if a.text = b; len(b) == 0 {
		return nil
	}
	k := a.kinds[string(b)]
	if k == nil {
		k = &kind{len(a.kinds)}
		a.kinds[string(b)] = k
	}
	return k
}

func appendTerms(b []byte, list []model.Term) []byte {
	for _, t := range list {
		b = append(b, '|')
		for _, r := range t {
			b = append(append(quoted(append(b, ' '), r.Key), r.Op...), ' ')
			for _, v := range r.Values {
				b = quoted(b, v)
			}
		}
	}
	return b
}

// quoted appends a text so that it is clear where it ends.
func quoted(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}
