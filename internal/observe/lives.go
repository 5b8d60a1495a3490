package observe

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/model"
)

// Limits of what is remembered and told of pods that wait.
const (
	mostWaits     = 1 << 17 // remembered; of more nothing is timed
	mostWaitsTold = 100     // whose age is told, the oldest
)

// lives follows conditions and deletions of objects, and pods from when they wait for a node until they are ready. It hears every change,
// in followers, too, so that who begins to lead knows what was; only who leads tells.
type lives struct {
	set   *meter.Set
	told  *Metrics
	now   func() time.Time // of collections
	waits map[string]*prometheus.Desc
	ends  map[string]*prometheus.Desc // by word of the kind

	// mu guards the fields below.
	mu      sync.Mutex
	leads   bool
	began   time.Time // when the first change was heard
	follow  int
	objects map[string]*life // by kind and name
	pods    map[model.PodKey]*wait
}

// life is what was heard last of an object.
type life struct {
	uid, pool  string
	subject    meter.Subject
	conditions []model.Condition
	finalizers []string
	deleted    time.Time // zero = is not
	follow     int
}

// wait is a pod that had to wait for a node.
type wait struct {
	uid                                  string
	created, seen, decided, placed, node time.Time // zero = not yet
	follow                               int
}

func newLives(m *Metrics) *lives {
	l := &lives{set: m.set, told: m, now: time.Now, waits: map[string]*prometheus.Desc{}, ends: map[string]*prometheus.Desc{},
		objects: map[string]*life{}, pods: map[model.PodKey]*wait{}}
	for _, name := range []string{"unstarted", "unbound", "provisioning_unstarted", "provisioning_unbound", "provisioning_scheduling_undecided"} {
		l.describe(l.waits, name, "karpenter_pods_"+name+"_time_seconds")
	}
	l.describe(l.ends, "", "operator_termination_current_time_seconds")
	for _, k := range meter.Kinds() {
		l.describe(l.ends, k.Word, "operator_"+k.Word+"_termination_current_time_seconds")
	}
	m.set.Register(l)
	return l
}

func (l *lives) describe(into map[string]*prometheus.Desc, key, name string) {
	d := l.set.Desc(name)
	if l.set.Serves(name) {
		into[key] = d
	}
}

// kindKey names an object among those that are followed.
func kindKey(o model.Object) string { return KindOf(o) + "/" + o.ObjectKey() }

// change is a condition that became another one.
type change struct {
	about   model.Object
	old, is model.Condition
}

// begin notes when the first change was heard.
func (l *lives) begin(now time.Time) {
	if l.began.IsZero() {
		l.began = now
	}
}

// hearPod is hear of a pod as it is now, of which nothing is said.
func (l *lives) hearPod(p *model.Pod, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(now)
	l.pod(p, false, now)
}

// hear takes in a change of the cluster, and returns what is to be said of it.
func (l *lives) hear(c model.Change, now time.Time) (changes []change, dropped []finalized) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(now)
	p, ok := c.Object.(model.Pod)
	if ok {
		l.pod(&p, c.Gone, now)
		return nil, nil
	}
	s, ok := meter.SubjectOf(c.Object)
	if !ok {
		return nil, nil
	}
	key := kindKey(c.Object)
	was := l.objects[key]
	if c.Gone {
		if was != nil {
			delete(l.objects, key)
			l.ended(was, now)
			dropped = l.dropped(was, nil, named(c.Object, was.uid))
		}
		return nil, dropped
	}
	is := &life{uid: uidOf(c.Object), subject: s, conditions: s.Conditions, finalizers: finalizersOf(c.Object), deleted: s.Deleted, follow: l.follow}
	if was != nil && was.uid != is.uid {
		l.ended(was, now)
		was = nil
	}
	if is.deleted.IsZero() && deleting(c.Object) {
		is.deleted = now
		if was != nil && !was.deleted.IsZero() {
			is.deleted = was.deleted
		}
	}
	claim, ok := c.Object.(model.Claim)
	if ok {
		is.pool = claim.Pool
	}
	l.objects[key] = is
	if !l.leads {
		return nil, nil
	}
	if was != nil {
		dropped = l.dropped(was, is.finalizers, c.Object)
	}
	return l.changed(c.Object, was, is), dropped
}

// finalized is a finalizer that an object on its way out has no more.
type finalized struct {
	about     model.Object
	finalizer string
}

// dropped lists our finalizers that an object had and has no more.
func (l *lives) dropped(was *life, left []string, about model.Object) (out []finalized) {
	if !l.leads || was.deleted.IsZero() {
		return nil
	}
	for _, f := range was.finalizers {
		if (f == model.Finalizer || f == model.ClassFinalizer) && !slices.Contains(left, f) {
			out = append(out, finalized{about, f})
		}
	}
	return out
}

// named is an object of which only the names are known, with its UID.
func named(o model.Object, uid string) model.Object {
	switch o := o.(type) {
	case model.Claim:
		o.UID = uid
		return o
	case model.Node:
		o.UID = uid
		return o
	case model.Pool:
		o.UID = uid
		return o
	case model.Class:
		o.UID = uid
		return o
	}
	return o
}

// changed counts conditions that became others. At first sight a condition counts where it is younger than we are: all others are no news.
func (l *lives) changed(about model.Object, was, is *life) (out []change) {
	for _, c := range is.conditions {
		old, known := model.Condition{}, false
		if was != nil {
			old, known = model.FindCondition(was.conditions, c.Type)
		}
		if known && old.Status == c.Status || !known && c.Since.Before(l.began) {
			continue
		}
		s := &is.subject
		labels := append([]string{c.Type, string(c.Status), c.Reason}, s.Extra...)
		l.told.transitions[s.Kind.Word+"_"].WithLabelValues(labels...).Inc()
		if s.Kind.Twin != "" {
			l.told.transitions[""].WithLabelValues(s.Kind.Twin, s.Kind.Kind, c.Type, string(c.Status), c.Reason).Inc()
		}
		if !known {
			continue
		}
		took := max(0, c.Since.Sub(old.Since).Seconds())
		left := append([]string{c.Type, string(old.Status)}, s.Extra...)
		l.told.transitionSeconds[s.Kind.Word+"_"].WithLabelValues(left...).Observe(took)
		if s.Kind.Twin != "" {
			l.told.transitionSeconds[""].WithLabelValues(s.Kind.Twin, s.Kind.Kind, c.Type, string(old.Status)).Observe(took)
		}
		out = append(out, change{about, old, c})
	}
	return out
}

func (l *lives) ended(x *life, now time.Time) {
	if !l.leads || x.deleted.IsZero() {
		return
	}
	took := max(0, now.Sub(x.deleted).Seconds())
	s := &x.subject
	l.told.terminations[s.Kind.Word+"_"].WithLabelValues(s.Extra...).Observe(took)
	if s.Kind.Twin != "" {
		l.told.terminations[""].WithLabelValues(s.Kind.Twin, s.Kind.Kind).Observe(took)
	}
}

// pod follows a pod that was seen without a node.
func (l *lives) pod(p *model.Pod, gone bool, now time.Time) {
	w := l.pods[p.Key()]
	switch {
	case w != nil && (gone || p.UID != w.uid || p.Terminal || p.Deleting()):
		delete(l.pods, p.Key())
	case gone || p.Terminal || p.Virtual || p.DaemonSet || p.Mirror:
	case w == nil && p.Node == "" && len(l.pods) < mostWaits:
		l.pods[p.Key()] = &wait{uid: p.UID, created: p.Created, seen: now, follow: l.follow}
	case w != nil:
		l.goesOn(w, p, now)
	}
}

func (l *lives) goesOn(w *wait, p *model.Pod, now time.Time) {
	w.follow = l.follow
	if w.node.IsZero() && p.Node != "" {
		w.node = now
		l.observe(l.told.bound, w.created, now)
		l.observe(l.told.provisionedBound, w.placed, now)
	}
	if p.PodReady {
		l.observe(l.told.startup, w.created, now)
		l.observe(l.told.provisionedStartup, w.placed, now)
		delete(l.pods, p.Key())
	}
}

func (l *lives) observe(o prometheus.Observer, since, now time.Time) {
	if l.leads && !since.IsZero() {
		o.Observe(max(0, now.Sub(since).Seconds()))
	}
}

// decide notes pods that a plan decided about, and of these the ones that it had a place for.
func (l *lives) decide(pods []model.PodKey, placed bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range pods {
		w := l.pods[k]
		if w == nil {
			continue
		}
		if w.decided.IsZero() {
			w.decided = now
			l.observe(l.told.decided, w.seen, now)
		}
		if placed && w.placed.IsZero() {
			w.placed = now
		}
	}
}

// settled forgets what a Follow that has told everything did not tell.
func (l *lives) settled(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, x := range l.objects {
		if x.follow != l.follow {
			delete(l.objects, key)
			l.ended(x, now)
		}
	}
	for key, w := range l.pods {
		if w.follow != l.follow {
			delete(l.pods, key)
		}
	}
}

// uid finds the UID of a claim or node that is followed; "" when it is not.
func (l *lives) uid(o model.Object) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.objects[kindKey(o)]
	if x == nil {
		return ""
	}
	return x.uid
}

// poolOf is the pool of a claim that is followed; "" when it is not.
func (l *lives) poolOf(claim string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.objects[kindKey(model.Claim{Name: claim})]
	if x == nil {
		return ""
	}
	return x.pool
}

// Describe implements prometheus.Collector.
func (l *lives) Describe(to chan<- *prometheus.Desc) {
	for _, m := range []map[string]*prometheus.Desc{l.waits, l.ends} {
		for _, d := range m {
			to <- d
		}
	}
}

// Collect implements prometheus.Collector.
func (l *lives) Collect(to chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leads {
		return
	}
	now := l.now()
	l.collectEnds(to, now)
	for name, of := range map[string]func(*wait) time.Time{
		"unstarted":                         func(w *wait) time.Time { return w.created },
		"unbound":                           func(w *wait) time.Time { return unless(!w.node.IsZero(), w.created) },
		"provisioning_unstarted":            func(w *wait) time.Time { return w.placed },
		"provisioning_unbound":              func(w *wait) time.Time { return unless(!w.node.IsZero(), w.placed) },
		"provisioning_scheduling_undecided": func(w *wait) time.Time { return unless(!w.decided.IsZero() || !w.node.IsZero(), w.seen) },
	} {
		l.collectWaits(to, l.waits[name], of, now)
	}
}

func unless(over bool, t time.Time) time.Time {
	if over {
		return time.Time{}
	}
	return t
}

// collectWaits tells the ages of the oldest.
func (l *lives) collectWaits(to chan<- prometheus.Metric, d *prometheus.Desc, of func(*wait) time.Time, now time.Time) {
	if d == nil {
		return
	}
	type aged struct {
		key   model.PodKey
		since time.Time
	}
	var list []aged
	for key, w := range l.pods {
		since := of(w)
		if !since.IsZero() {
			list = append(list, aged{key, since})
		}
	}
	slices.SortFunc(list, func(a, b aged) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.key.String(), b.key.String()))
	})
	for _, x := range list[:min(len(list), mostWaitsTold)] {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, max(0, now.Sub(x.since).Seconds()), x.key.Name, x.key.Namespace)
	}
}

func (l *lives) collectEnds(to chan<- prometheus.Metric, now time.Time) {
	for _, x := range l.objects {
		if x.deleted.IsZero() {
			continue
		}
		s := &x.subject
		age := max(0, now.Sub(x.deleted).Seconds())
		if d := l.ends[s.Kind.Word]; d != nil {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, age, append([]string{s.Namespace, s.Name}, s.Extra...)...)
		}
		if d := l.ends[""]; d != nil && s.Kind.Twin != "" {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, age, s.Kind.Twin, s.Kind.Kind, s.Namespace, s.Name)
		}
	}
}

func uidOf(o model.Object) string {
	switch o := o.(type) {
	case model.Claim:
		return o.UID
	case model.Node:
		return o.UID
	case model.Pool:
		return o.UID
	case model.Class:
		return o.UID
	case model.Buffer:
		return o.UID
	}
	return ""
}

func finalizersOf(o model.Object) []string {
	switch o := o.(type) {
	case model.Claim:
		return o.Finalizers
	case model.Node:
		return o.Finalizers
	case model.Class:
		return o.Finalizers
	}
	return nil
}

func deleting(o model.Object) bool {
	switch o := o.(type) {
	case model.Pool:
		return o.Deleting
	case model.Class:
		return o.Deleting
	}
	return false
}

// Sink tells the recorder of every change of the cluster before it tells to.
func (r *Recorder) Sink(to kube.Sink, now func() time.Time) kube.Sink { return &tee{to, r, now} }

type tee struct {
	kube.Sink
	r   *Recorder
	now func() time.Time
}

// Begin implements kube.Sink.
func (t *tee) Begin() {
	l := t.r.lives
	l.mu.Lock()
	l.follow++
	l.mu.Unlock()
	t.Sink.Begin()
}

// Apply implements kube.Sink.
func (t *tee) Apply(c model.Change) {
	changes, dropped := t.r.lives.hear(c, t.now())
	for _, x := range changes {
		t.r.changed(x)
	}
	for _, f := range dropped {
		t.r.say(f.about, kube.Normal, "Finalized", "The finalizer %s is taken away", f.finalizer)
	}
	t.Sink.Apply(c)
}

// ApplyPod implements kube.PodSink.
func (t *tee) ApplyPod(p *model.Pod) {
	t.r.lives.hearPod(p, t.now())
	kube.TellPod(t.Sink, p)
}

// Synced implements kube.Sink.
func (t *tee) Synced() {
	t.r.lives.settled(t.now())
	t.Sink.Synced()
}

// changed tells of a condition that became another: the reason is its type, of which people's tools draw the life of an object.
func (r *Recorder) changed(x change) {
	reason := eventReason(x.is.Type)
	if x.is.Type == model.Paused || !meter.Known(reason, string(kube.Normal), KindOf(x.about)) {
		return // told otherwise, or a condition of somebody else
	}
	text := x.is.Type + ": " + string(x.old.Status) + " -> " + string(x.is.Status) + ", reason " + x.is.Reason
	if x.is.Message != "" {
		text += ": " + x.is.Message
	}
	r.events.Announce(kube.Event{About: x.about, Type: kube.Normal, Reason: reason, Message: text, Minor: true})
}

// eventReason is a condition's type as a reason: nodes have some with a domain before them.
func eventReason(typ string) string { return typ[strings.LastIndexByte(typ, '/')+1:] }

// Serve has what is read from pictures of the cluster served beside what is counted. It fails when a name is taken.
func (r *Recorder) Serve(picture func() model.World, synced func() bool, now func() time.Time) error {
	r.metrics.set.Of(meter.Sight{World: picture, Synced: synced, Leads: r.leading, Now: now})
	return r.metrics.set.Err()
}

func (r *Recorder) leading() bool {
	r.lives.mu.Lock()
	defer r.lives.mu.Unlock()
	return r.lives.leads
}

// Leads is called when this process begins to act; before, it only listens.
func (r *Recorder) Leads() {
	r.lives.mu.Lock()
	defer r.lives.mu.Unlock()
	r.lives.leads = true
}
