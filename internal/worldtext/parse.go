package worldtext

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Group and Kind of the classes in a text world.
const (
	Group = "karpenter.azure.com"
	Kind  = "AKSNodeClass"
)

// maxReplicas bounds xN, so that a typing error does not fill the memory.
const maxReplicas = 200_000

// Epoch is the moment that all times of a text world count from.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Ref is the reference of the class of the given name.
func Ref(name string) model.ClassRef { return model.ClassRef{Group: Group, Kind: Kind, Name: name} }

// fields are the words of one line, in order.
type fields struct {
	noun, name string
	words      [][2]string
	used       []bool
	err        error
}

// Parse reads a world. Errors name the line. The result's lists are sorted as model.World asks.
func Parse(text string) (model.World, error) {
	b := builder{catalogs: map[string]*model.Catalog{}, ofPools: map[string]*model.Catalog{}}
	for i, line := range strings.Split(text, "\n") {
		if c := strings.IndexByte(line, '#'); c >= 0 {
			line = line[:c]
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 {
			return model.World{}, fmt.Errorf("line %d: want a noun and a name, have %q", i+1, line)
		}
		f := &fields{noun: words[0], name: unescape(words[1])}
		for _, w := range words[2:] {
			k, v, _ := strings.Cut(w, "=")
			f.words = append(f.words, [2]string{k, v})
		}
		f.used = make([]bool, len(f.words))
		if err := b.line(f); err != nil {
			return model.World{}, fmt.Errorf("line %d: %s %s: %w", i+1, f.noun, words[1], err)
		}
	}
	return b.world(), nil
}

type builder struct {
	w        model.World
	catalogs map[string]*model.Catalog // by class
	ofPools  map[string]*model.Catalog // by pool
}

func (b *builder) line(f *fields) error {
	switch f.noun {
	case "class":
		b.class(f)
	case "type":
		b.instanceType(f)
	case "pool":
		b.pool(f)
	case "node":
		b.node(f)
	case "claim":
		b.claim(f)
	case "pod":
		b.pods(f)
	case "daemon":
		d := f.pod(f.name, "kube-system")
		b.w.Daemons = append(b.w.Daemons, model.Daemon{Namespace: d.Namespace, Name: d.Name, Pod: d})
	case "pdb":
		b.pdb(f)
	case "namespace":
		b.w.Namespaces = append(b.w.Namespaces, model.Namespace{Name: f.name, Labels: f.under("label.")})
	default:
		return fmt.Errorf("unknown noun")
	}
	if f.err != nil {
		return f.err
	}
	for i, u := range f.used {
		if !u {
			return fmt.Errorf("unknown field %q", f.words[i][0])
		}
	}
	return nil
}

// world sorts everything and adds the class that needs not be written.
func (b *builder) world() model.World {
	w := b.w
	for name, c := range b.catalogs {
		slices.SortFunc(c.Types, func(x, y model.InstanceType) int { return strings.Compare(x.Name, y.Name) })
		if w.Catalogs == nil {
			w.Catalogs = map[model.ClassRef]model.Catalog{}
		}
		w.Catalogs[Ref(name)] = *c
	}
	for name, c := range b.ofPools {
		slices.SortFunc(c.Types, func(x, y model.InstanceType) int { return strings.Compare(x.Name, y.Name) })
		if w.PoolCatalogs == nil {
			w.PoolCatalogs = map[string]model.Catalog{}
		}
		w.PoolCatalogs[name] = *c
	}
	if !slices.ContainsFunc(w.Classes, func(c model.Class) bool { return c.Ref.Name == "default" }) {
		w.Classes = append(w.Classes, readyClass("default"))
	}
	byKey(w.Classes)
	byKey(w.Pools)
	byKey(w.Claims)
	byKey(w.Nodes)
	byKey(w.Daemons)
	byKey(w.PDBs)
	byKey(w.Namespaces)
	slices.SortFunc(w.Pods, func(x, y model.Pod) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return w
}

func byKey[T model.Object](list []T) {
	slices.SortFunc(list, func(x, y T) int { return strings.Compare(x.ObjectKey(), y.ObjectKey()) })
}

func readyClass(name string) model.Class {
	return model.Class{Ref: Ref(name), UID: "class-" + name, Conditions: ready(true), Azure: &model.AzureClass{}}
}

func ready(yes bool) []model.Condition {
	s := model.False
	if yes {
		s = model.True
	}
	return []model.Condition{{Type: model.Ready, Status: s}}
}

// take returns the values of all fields with this key.
func (f *fields) take(key string) []string {
	var out []string
	for i, w := range f.words {
		if w[0] == key {
			f.used[i] = true
			out = append(out, w[1])
		}
	}
	return out
}

// one returns the value of the last field with this key, or def.
func (f *fields) one(key, def string) string {
	if v := f.take(key); len(v) > 0 {
		return v[len(v)-1]
	}
	return def
}

// text is one for a field that may have any text.
func (f *fields) text(key, def string) string {
	if v := f.take(key); len(v) > 0 {
		return unword(v[len(v)-1])
	}
	return def
}

// flag reports whether the bare word is there.
func (f *fields) flag(key string) bool { return len(f.take(key)) > 0 }

// under returns the fields whose key starts with prefix, without it; nil when there is none.
func (f *fields) under(prefix string) map[string]string {
	var out map[string]string
	for i, w := range f.words {
		if k, ok := strings.CutPrefix(w[0], prefix); ok {
			f.used[i] = true
			if out == nil {
				out = map[string]string{}
			}
			out[unescape(k)] = unescape(w[1])
		}
	}
	return out
}

// labels reads labels; those in defaults are there unless something else is said.
func (f *fields) labels(defaults map[string]string) map[string]string {
	out := f.under("label.")
	if out == nil {
		out = map[string]string{}
	}
	without := f.list("no-label")
	for k, v := range defaults {
		if _, ok := out[k]; !ok && !slices.Contains(without, k) {
			out[k] = v
		}
	}
	return out
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) int(key string, def int64) int64 {
	s := f.one(key, "")
	if s == "" {
		return def
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f.fail("%s: %w", key, err)
	}
	return v
}

// list splits a field at commas; nil when it is not there.
func (f *fields) list(key string) []string {
	if s := f.one(key, ""); s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

func (f *fields) when(key string) time.Time {
	if d := f.duration(key); d != nil {
		return Epoch().Add(*d)
	}
	return time.Time{}
}

func (f *fields) duration(key string) *time.Duration {
	s := f.one(key, "")
	if s == "" {
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		f.fail("%s: %w", key, err)
	}
	return &d
}

// resources reads cpu, memory, ephemeral-storage, pods, huge pages and every key with a slash, each after prefix.
func (f *fields) resources(prefix string) model.Resources {
	var r model.Resources
	for i, w := range f.words {
		name, ok := strings.CutPrefix(w[0], prefix)
		if !ok {
			continue
		}
		switch name {
		case model.ResourceCPU, model.ResourceMemory, model.ResourceEphemeral, model.ResourcePods:
		default:
			if !isResource(name) {
				continue
			}
			name = unescape(name)
		}
		f.used[i] = true
		v, err := Quantity(name, w[1])
		if err != nil {
			f.fail("%s: %w", w[0], err)
		}
		r = r.With(name, v)
	}
	return r
}

// isResource reports whether a field's name is that of an extended resource, or of huge pages.
func isResource(name string) bool {
	return (strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "%")) && !isLabelField(name)
}

// isLabelField tells fields that carry a label key from extended resource names.
func isLabelField(name string) bool {
	for _, p := range []string{"label.", "olabel.", "select.", "either.", "annotation.", "alloc.", "requests.", "limit.", "price.", "supply.", "attach."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Quantity reads an amount in Kubernetes' notation into the units of the named resource's column. One below zero, or that no column
// holds, is an error.
func Quantity(name, s string) (int64, error) {
	milli := name == model.ResourceCPU
	if n, ok := strings.CutSuffix(s, "m"); ok && milli {
		v, err := strconv.ParseInt(n, 10, 64)
		if err == nil && v < 0 {
			err = fmt.Errorf("bad quantity %q", s)
		}
		return v, err
	}
	mult := int64(1)
	for _, u := range []struct {
		suffix string
		size   int64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}} {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			s, mult = n, u.size
			break
		}
	}
	if milli {
		mult *= 1000
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil && v >= 0 && v <= math.MaxInt64/mult {
		return v * mult, nil // a float would round what is very large
	}
	v, err := strconv.ParseFloat(s, 64)
	v = v*float64(mult) + 0.5
	if err != nil || !(v >= 0.5 && v < math.MaxInt64) { // what is no number is not at least anything
		return 0, fmt.Errorf("bad quantity %q", s)
	}
	return int64(v), nil
}
