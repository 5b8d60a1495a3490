package worldgen

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// odd puts strings and amounts into worlds that people seldom write and clouds and clusters do have.
type odd struct{ t *rapid.T }

// value is any text, often one that the notation has a meaning for.
func (o odd) value() string {
	words := []string{"", " ", "two words", "a,b", "a;b|c", "k:In:v", "=", "!x", "%", "%e", "%41", "#", "*", "-", "é…", "\n", "x5", "zone", "host", "soft", "NVIDIA A100 v4"}
	if rapid.Bool().Draw(o.t, "plain") {
		return rapid.SampledFrom(words).Draw(o.t, "word")
	}
	return rapid.StringOfN(rapid.RuneFrom([]rune(" ab,;:|=!%#<>*-/.\"\\é\t")), 0, 6, -1).Draw(o.t, "text")
}

// key is the name of a label or resource; the API has rules for these, and they are not what the notation uses.
func (o odd) key() string {
	return rapid.SampledFrom([]string{"zone", "host", "x5", "example.com/zone", "price.example.com/x", "label.a/b", "supply.x/y", "attach.d/e", "a.b-c_d/E", "hugepages-2Mi", "deleting"}).Draw(o.t, "key")
}

func (o odd) amount() int64 {
	return rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, 1<<40), rapid.Just[int64](1<<62+1)).Draw(o.t, "amount")
}

func (o odd) chance() bool { return rapid.IntRange(0, 2).Draw(o.t, "chance") == 0 }

func (o odd) labels(m map[string]string, drop ...string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	if o.chance() {
		m[o.key()] = o.value()
	}
	for _, k := range drop {
		if o.chance() {
			delete(m, k)
		}
	}
	return m
}

func (o odd) resources(r model.Resources) model.Resources {
	if o.chance() {
		r.Memory, r.Ephemeral = o.amount(), o.amount()
	}
	if name := o.key(); o.chance() && name != "zone" && name != "host" {
		if n := o.amount(); n > 0 { // none of it is the same as no word of it
			r = r.With(name, n)
		}
	}
	return r
}

func (o odd) requirement() model.Requirement {
	r := model.Requirement{Key: o.key(), Op: rapid.SampledFrom([]model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist}).Draw(o.t, "op")}
	if r.Op == model.In || r.Op == model.NotIn {
		r.Values = []string{o.value(), o.value()}
	}
	return r
}

func (o odd) selector() *model.Selector {
	s := &model.Selector{Requirements: []model.Requirement{o.requirement(), o.requirement()}}
	slices.SortStableFunc(s.Requirements, func(a, b model.Requirement) int { return strings.Compare(a.Key, b.Key) })
	return s
}

func (o odd) pod(p *model.Pod) {
	p.Labels, p.NodeSelector, p.Requests = o.labels(p.Labels), o.labels(p.NodeSelector), o.resources(p.Requests)
	p.DoNotDisrupt = o.value()
	if o.chance() {
		p.Affinity = append(p.Affinity, model.Term{o.requirement()})
		p.Tolerations = append(p.Tolerations, model.Toleration{Key: o.key(), Op: "Equal", Value: o.value()}, model.Toleration{Key: o.key(), Op: "Exists"},
			model.Toleration{Op: "Exists", Effect: model.NoExecute})
	}
	if o.chance() {
		p.Spread = append(p.Spread, model.Spread{Key: o.key(), MaxSkew: 1, Selector: o.selector(), Hard: true, HonorTaints: true})
		p.PodAffinity = append(p.PodAffinity, model.PodTerm{Key: o.key(), Selector: o.selector(), NamespaceSelector: o.selector()})
		p.Prefers = slices.Insert(slices.Clone(p.Prefers), 0, model.Preference{Weight: 3, Node: model.Term{o.requirement()}}) // as in a spec
		p.HostPorts = append(p.HostPorts, model.HostPort{IP: "::1", Protocol: "SCTP", Port: 9})
	}
	if o.chance() {
		p.Volumes = []model.Volume{{ID: "v" + o.value(), Driver: o.value(), Terms: []model.Term{{o.requirement()}, {o.requirement()}},
			Within: []string{o.key()}, OnePod: o.chance()}}
	}
}

func (o odd) world(w *model.World) {
	for ref, cat := range w.Catalogs {
		for i := range cat.Types {
			t := &cat.Types[i]
			t.Family = o.value()
			t.Labels = o.labels(t.Labels, model.LabelArch, model.LabelOS)
			t.Capacity, t.Allocatable = o.resources(t.Capacity), o.resources(t.Allocatable)
			if o.chance() {
				t.Either = map[string][]string{o.key(): {o.value(), o.value()}}
			}
			for j := range t.Offerings {
				x := &t.Offerings[j]
				x.Labels = o.labels(x.Labels)
				x.Labels[model.LabelZone], x.Labels[model.LabelCapacityType] = x.Zone, x.CapacityType
			}
		}
		w.Catalogs[ref] = cat
	}
	for i := range w.Pools {
		p := &w.Pools[i]
		p.Labels, p.NodeAnnotations, p.Hash = o.labels(p.Labels), o.labels(p.NodeAnnotations), o.value()
		p.Requirements = append(p.Requirements, o.requirement())
		p.Taints = append(p.Taints, model.Taint{Key: o.key(), Value: o.value(), Effect: model.NoSchedule})
		if o.chance() {
			p.Limits = map[string]int64{o.key(): o.amount(), model.ResourceMemory: o.amount()}
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		n.Labels, n.Annotations = o.labels(n.Labels, model.LabelHostname, model.LabelArch, model.LabelOS), o.labels(n.Annotations)
		n.Capacity, n.Allocatable = o.resources(n.Capacity), o.resources(n.Allocatable)
		n.ProviderID = o.value()
		n.AttachLimits = map[string]int64{o.key(): o.amount()}
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		c.Labels, c.Annotations, c.Requests = o.labels(c.Labels, model.LabelPool), o.labels(c.Annotations), o.resources(c.Requests)
		c.ProviderID = o.value()
		c.Requirements = append(c.Requirements, o.requirement())
	}
	for i := range w.Namespaces {
		w.Namespaces[i].Labels = o.labels(w.Namespaces[i].Labels)
	}
	for i := range w.Pods {
		o.pod(&w.Pods[i])
	}
	for i := range w.Daemons {
		o.pod(&w.Daemons[i].Pod)
	}
}

// noneIsMissing compares amounts of extended resources as everybody does: none of one is as if it were not named.
func noneIsMissing() cmp.Option {
	return cmp.Comparer(func(a, b model.Resources) bool { return a.Sub(b).IsZero() })
}

// TestOddWorldsCanBeWrittenDown is TestEveryWorldCanBeWrittenDown with any text in every place that may hold any text.
func TestOddWorldsCanBeWrittenDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Small(rapid.Uint64Range(0, 500).Draw(t, "seed"))
		odd{t}.world(&w)
		text := worldtext.Print(w)
		again, err := worldtext.Parse(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if d := cmp.Diff(w, again, append(lost(), noneIsMissing())...); d != "" {
			t.Fatalf("read back from\n%s\ndiffers: %s", text, d)
		}
	})
}
