package worldtext

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Short names of the two topology keys that everybody uses.
const (
	zoneWord = "zone"
	hostWord = "host"
)

func topologyKey(s string) string {
	switch s {
	case zoneWord:
		return model.LabelZone
	case hostWord:
		return model.LabelHostname
	}
	return unescape(s)
}

func topologyWord(key string) string {
	switch key {
	case model.LabelZone:
		return zoneWord
	case model.LabelHostname:
		return hostWord
	case zoneWord, hostWord: // labels of these very names
		return inStead(key)
	}
	return escape(key, inValues)
}

// rules reads what a pod asks of other pods, of ports and of volumes.
func (f *fields) rules(p *model.Pod) {
	for _, s := range f.take("spread") {
		p.Spread = append(p.Spread, f.spread(s))
	}
	for _, s := range f.take("near") {
		p.PodAffinity = append(p.PodAffinity, f.podTerm(s, p.Namespace))
	}
	for _, s := range f.take("apart") {
		p.PodAntiAffinity = append(p.PodAntiAffinity, f.podTerm(s, p.Namespace))
	}
	for _, s := range f.take("prefer-node") {
		w, rest := f.weight("prefer-node", s)
		p.Prefers = append(p.Prefers, model.Preference{Weight: w, Node: f.term(rest)})
	}
	for _, kind := range []string{"prefer-near", "prefer-apart"} {
		for _, s := range f.take(kind) {
			w, rest := f.weight(kind, s)
			t := f.podTerm(rest, p.Namespace)
			p.Prefers = append(p.Prefers, model.Preference{Weight: w, Pod: &t, Anti: kind == "prefer-apart"})
		}
	}
	for _, s := range f.take("port") {
		p.HostPorts = append(p.HostPorts, f.port(s))
	}
	for _, s := range f.take("volume") {
		p.Volumes = append(p.Volumes, f.volume(s))
	}
	for _, s := range f.take("within") {
		id, keys, _ := strings.Cut(s, ":")
		i := slices.IndexFunc(p.Volumes, func(v model.Volume) bool { return v.ID == unescape(id) })
		if i < 0 {
			f.fail("within %q: the pod has no such volume", s)
			continue
		}
		for _, k := range strings.Split(keys, ",") {
			p.Volumes[i].Within = append(p.Volumes[i].Within, topologyKey(k))
		}
	}
	for _, s := range f.take("one-pod") {
		i := slices.IndexFunc(p.Volumes, func(v model.Volume) bool { return v.ID == unescape(s) })
		if i < 0 {
			f.fail("one-pod %q: the pod has no such volume", s)
			continue
		}
		p.Volumes[i].OnePod = true
	}
	slices.SortStableFunc(p.Volumes, func(a, b model.Volume) int { return strings.Compare(a.ID, b.ID) })
}

func (f *fields) term(s string) model.Term {
	term := model.Term{}
	for _, r := range strings.Split(s, ";") {
		if r != "" {
			term = append(term, f.requirement(r))
		}
	}
	return term
}

func (f *fields) weight(field, s string) (int32, string) {
	w, rest, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(w, 10, 32)
	if err != nil {
		f.fail("%s %q: want weight:…: %w", field, s, err)
	}
	return int32(n), rest
}

// spread reads KEY:SKEW:SELECTOR[:option,…].
func (f *fields) spread(s string) model.Spread {
	parts := strings.Split(s, ":")
	if len(parts) < 3 {
		f.fail("spread %q: want key:skew:selector[:options]", s)
		return model.Spread{}
	}
	skew, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		f.fail("spread %q: skew: %w", s, err)
	}
	c := model.Spread{Key: topologyKey(parts[0]), MaxSkew: int32(skew), Hard: true, HonorAffinity: true, Selector: f.selector(parts[2])}
	if len(parts) == 3 {
		return c
	}
	for _, o := range strings.Split(parts[3], ",") {
		switch n, isMin := strings.CutPrefix(o, "min="); {
		case isMin:
			v, err := strconv.ParseInt(n, 10, 32)
			if err != nil {
				f.fail("spread %q: min: %w", s, err)
			}
			c.MinDomains = int32(v)
		case o == "soft":
			c.Hard = false
		case o == "any-affinity":
			c.HonorAffinity = false
		case o == "honor-taints":
			c.HonorTaints = true
		default:
			f.fail("spread %q: unknown option %q", s, o)
		}
	}
	return c
}

// podTerm reads KEY:SELECTOR[:NAMESPACE|…[:NAMESPACE-SELECTOR]].
func (f *fields) podTerm(s, own string) model.PodTerm {
	parts := strings.Split(s, ":")
	if len(parts) < 2 {
		f.fail("%q: want key:selector[:namespaces[:namespace-selector]]", s)
		return model.PodTerm{}
	}
	t := model.PodTerm{Key: topologyKey(parts[0]), Selector: f.selector(parts[1])}
	if len(parts) > 2 && parts[2] != "" {
		t.Namespaces = strings.Split(parts[2], "|")
		slices.Sort(t.Namespaces)
	}
	if len(parts) > 3 {
		t.NamespaceSelector = f.selector(parts[3])
	}
	if t.Namespaces == nil && t.NamespaceSelector == nil {
		t.Namespaces = []string{own}
	}
	return t
}

// selector reads "*" (everything), "-" (nothing), or "k=v|w;k!=v;k;!k".
func (f *fields) selector(s string) *model.Selector {
	switch s {
	case "-":
		return nil
	case "*":
		return &model.Selector{}
	}
	out := &model.Selector{}
	for _, part := range strings.Split(s, ";") {
		var r model.Requirement
		if k, v, ok := strings.Cut(part, "!="); ok {
			r = model.Requirement{Key: unescape(k), Op: model.NotIn, Values: unescapeAll(v, "|")}
		} else if k, v, ok := strings.Cut(part, "="); ok {
			r = model.Requirement{Key: unescape(k), Op: model.In, Values: unescapeAll(v, "|")}
		} else if k, ok := strings.CutPrefix(part, "!"); ok {
			r = model.Requirement{Key: unescape(k), Op: model.DoesNotExist}
		} else {
			r = model.Requirement{Key: unescape(part), Op: model.Exists}
		}
		if r.Key == "" {
			f.fail("selector %q: want k=v, k!=v, k or !k", s)
		}
		out.Requirements = append(out.Requirements, r)
	}
	slices.SortStableFunc(out.Requirements, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// port reads PORT[/PROTOCOL][@IP].
func (f *fields) port(s string) model.HostPort {
	rest, ip, _ := strings.Cut(s, "@")
	number, protocol, ok := strings.Cut(rest, "/")
	if !ok {
		protocol = "TCP"
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		f.fail("port %q: %w", s, err)
	}
	return model.HostPort{IP: ip, Protocol: protocol, Port: int32(n)}
}

// volume reads ID[:DRIVER[:TERM|TERM…]].
func (f *fields) volume(s string) model.Volume {
	parts := strings.SplitN(s, ":", 3)
	v := model.Volume{ID: unescape(parts[0])}
	if v.ID == "" {
		f.fail("volume %q: want ID[:DRIVER[:TERM|TERM...]]", s)
	}
	if len(parts) > 1 {
		v.Driver = unescape(parts[1])
	}
	if len(parts) > 2 {
		for _, t := range strings.Split(parts[2], "|") {
			v.Terms = append(v.Terms, f.term(t))
		}
	}
	return v
}

// attach reads attach.DRIVER=N; nil when there is none.
func (f *fields) attach() map[string]int64 {
	var out map[string]int64
	fields := f.under("attach.")
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		n, err := strconv.ParseInt(fields[k], 10, 64)
		if err != nil {
			f.fail("attach.%s: %w", k, err)
		}
		if out == nil {
			out = map[string]int64{}
		}
		out[k] = n
	}
	return out
}

func (l *line) attach(m map[string]int64) *line {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		l.field("attach."+escape(k, "="), strconv.FormatInt(m[k], 10))
	}
	return l
}

// rules writes what fields.rules reads.
func (l *line) rules(p model.Pod) *line {
	for _, c := range p.Spread {
		s := fmt.Sprintf("%s:%d:%s", topologyWord(c.Key), c.MaxSkew, selectorText(c.Selector))
		var opts []string
		if c.MinDomains > 0 {
			opts = append(opts, fmt.Sprintf("min=%d", c.MinDomains))
		}
		for name, yes := range map[string]bool{"soft": !c.Hard, "any-affinity": !c.HonorAffinity, "honor-taints": c.HonorTaints} {
			if yes {
				opts = append(opts, name)
			}
		}
		slices.Sort(opts)
		if len(opts) > 0 {
			s += ":" + strings.Join(opts, ",")
		}
		l.field("spread", s)
	}
	for _, t := range p.PodAffinity {
		l.field("near", podTermText(t))
	}
	for _, t := range p.PodAntiAffinity {
		l.field("apart", podTermText(t))
	}
	for _, w := range p.Prefers {
		switch {
		case w.Pod == nil:
			l.field("prefer-node", fmt.Sprintf("%d:%s", w.Weight, termText(w.Node)))
		case w.Anti:
			l.field("prefer-apart", fmt.Sprintf("%d:%s", w.Weight, podTermText(*w.Pod)))
		default:
			l.field("prefer-near", fmt.Sprintf("%d:%s", w.Weight, podTermText(*w.Pod)))
		}
	}
	for _, h := range p.HostPorts {
		s := fmt.Sprintf("%d/%s", h.Port, h.Protocol)
		if h.IP != "" {
			s += "@" + h.IP
		}
		l.field("port", s)
	}
	for _, v := range p.Volumes {
		l.field("volume", volumeText(v))
	}
	for _, v := range p.Volumes {
		var keys []string
		for _, k := range v.Within {
			keys = append(keys, topologyWord(k))
		}
		if len(keys) > 0 {
			l.field("within", escape(v.ID, ":")+":"+strings.Join(keys, ","))
		}
		if v.OnePod {
			l.field("one-pod", escape(v.ID, ""))
		}
	}
	return l
}

func volumeText(v model.Volume) string {
	id := escape(v.ID, ":")
	if v.Terms == nil {
		return strings.TrimSuffix(id+":"+escape(v.Driver, ":"), ":")
	}
	var terms []string
	for _, t := range v.Terms {
		terms = append(terms, termText(t))
	}
	return id + ":" + escape(v.Driver, ":") + ":" + strings.Join(terms, "|")
}

func termText(t model.Term) string {
	var parts []string
	for _, r := range t {
		parts = append(parts, requirementText(r))
	}
	return strings.Join(parts, ";")
}

func podTermText(t model.PodTerm) string {
	s := topologyWord(t.Key) + ":" + selectorText(t.Selector) + ":" + strings.Join(t.Namespaces, "|")
	if t.NamespaceSelector != nil {
		s += ":" + selectorText(t.NamespaceSelector)
	}
	return s
}

func selectorText(s *model.Selector) string {
	if s == nil {
		return "-"
	}
	var parts []string
	for _, r := range s.Requirements {
		r.Key = escape(r.Key, inValues)
		switch r.Op {
		case model.In:
			parts = append(parts, r.Key+"="+escapeAll(r.Values, "|"))
		case model.NotIn:
			parts = append(parts, r.Key+"!="+escapeAll(r.Values, "|"))
		case model.DoesNotExist:
			parts = append(parts, "!"+r.Key)
		default:
			parts = append(parts, r.Key)
		}
	}
	if len(parts) == 0 {
		return "*"
	}
	return strings.Join(parts, ";")
}
