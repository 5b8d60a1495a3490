package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// diskZone is where the Azure disk driver says in which zone a machine's disks must be; "" where there are no zones.
const diskZone = "topology.disk.csi.azure.com/zone"

// canonical is the present name of labels that had another one. It is asked of every label of everything that a claim may become, so it must
// not make anything.
func canonical(key string) string {
	switch key {
	case "beta.kubernetes.io/arch":
		return model.LabelArch
	case "beta.kubernetes.io/os":
		return model.LabelOS
	case "beta.kubernetes.io/instance-type":
		return model.LabelInstanceType
	case "failure-domain.beta.kubernetes.io/zone", diskZone:
		return model.LabelZone
	case "failure-domain.beta.kubernetes.io/region":
		return model.LabelRegion
	}
	return key
}

// accepts reports whether the pod's node selector and one of its affinity terms hold there. Volumes are not asked.
func (f *face) accepts(p *subject) bool {
	if p.kind == nil {
		return true
	}
	ok, known := f.accepted[p.kind]
	if !known {
		ok = f.selected(p.Pod)
		f.accepted[p.kind] = ok
	}
	return ok
}

func (f *face) selected(p *model.Pod) bool {
	for k, v := range p.NodeSelector {
		if !f.holds(model.Requirement{Key: k, Op: model.In, Values: []string{v}}) {
			return false
		}
	}
	return p.Affinity == nil || slices.ContainsFunc(p.Affinity, f.meets)
}

// meets reports whether all of a term holds there. A term that asks for nothing is met nowhere.
func (f *face) meets(term model.Term) bool {
	return len(term) > 0 && !slices.ContainsFunc(term, func(r model.Requirement) bool { return !f.holds(r) })
}

// holds reports whether one requirement holds. Where the machine may have one of several values, all that the claim
// still allows must do.
func (f *face) holds(r model.Requirement) bool {
	key := canonical(r.Key)
	if r.Key == diskZone {
		r.Values = slices.Clone(r.Values)
		for i, v := range r.Values {
			if v == "" {
				r.Values[i] = "0"
			}
		}
	}
	v, named := f.labels[key]
	if key == model.LabelHostname && !named {
		return r.Op == model.NotIn || r.Op == model.Exists // a name that nobody knows yet
	}
	choices, open := f.either[key]
	if !open {
		return value(r, v, named)
	}
	return len(choices) > 0 && !slices.ContainsFunc(choices, func(v string) bool { return !value(r, v, true) })
}

// value judges one requirement for one label as the Kubernetes API describes the operators.
func value(r model.Requirement, v string, there bool) bool {
	switch r.Op {
	case model.In:
		return there && slices.Contains(r.Values, v)
	case model.NotIn:
		return !there || !slices.Contains(r.Values, v)
	case model.Exists:
		return there
	case model.DoesNotExist:
		return !there
	}
	if !there || len(r.Values) != 1 {
		return false
	}
	n, err1 := strconv.ParseInt(v, 10, 64)
	x, err2 := strconv.ParseInt(r.Values[0], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	switch r.Op {
	case model.Gt:
		return n > x
	case model.Gte:
		return n >= x
	case model.Lt:
		return n < x
	case model.Lte:
		return n <= x
	}
	return false
}

// tolerated reports whether any toleration covers the taint.
func tolerated(t model.Taint, list []model.Toleration) bool {
	for _, x := range list {
		effect := x.Effect == "" || x.Effect == t.Effect
		exists := x.Op == "Exists" && (x.Key == "" || x.Key == t.Key)
		equal := (x.Op == "" || x.Op == "Equal") && x.Key == t.Key && x.Value == t.Value
		if effect && (exists || equal) {
			return true
		}
	}
	return false
}

// variety checks minValues: the options of a purchase show enough distinct values, or it is relaxed and its claim asks for no more than they
// show.
func (a *audit) variety(f *form) {
	b := f.claim
	for _, r := range f.pool.Requirements {
		if r.MinValues == 0 {
			continue
		}
		seen := map[string]bool{}
		for _, o := range b.Options {
			x, ok := a.offering(b.Pool, b.Class, o.Key)
			if v, there := a.nodeLabels(f.pool, b.Requirements, x)[canonical(r.Key)]; ok && there {
				seen[v] = true
			}
			for _, v := range x.t.Choices(x.o, r.Key) {
				seen[v] = true
			}
		}
		want := r.MinValues
		if b.Relaxed {
			want = 0
			for _, q := range b.Requirements {
				if canonical(q.Key) == canonical(r.Key) {
					want = max(want, q.MinValues)
				}
			}
		}
		if len(seen) < want {
			f.bad(Variety, "options show %d values of %s, it takes %d", len(seen), r.Key, want)
		}
	}
}

// asks checks that the claim cannot become a type, zone or capacity type that is none of the options'.
func (f *form) asks() {
	for _, x := range []struct {
		key string
		of  func(model.OfferingKey) string
	}{
		{model.LabelInstanceType, func(k model.OfferingKey) string { return k.Type }},
		{model.LabelZone, func(k model.OfferingKey) string { return k.Zone }},
		{model.LabelCapacityType, func(k model.OfferingKey) string { return k.CapacityType }},
	} {
		r, ok := find(f.claim.Requirements, func(r model.Requirement) bool { return r.Key == x.key && r.Op == model.In })
		good := ok
		for _, v := range r.Values {
			good = good && slices.ContainsFunc(f.claim.Options, func(o place.Option) bool { return x.of(o.Key) == v })
		}
		if !good {
			f.bad(Asks, "%s is not narrowed to the options", x.key)
		}
	}
}

// mayBecome reports whether what a claim asks for (its labels included) allows an offering. Labels that machines do not
// bring are not asked about.
func (a *audit) mayBecome(reqs []model.Requirement, class model.ClassRef, x offer) bool {
	for _, r := range reqs { // the cheap questions first: most offerings end here
		switch canonical(r.Key) {
		case model.LabelInstanceType:
			if !value(r, x.o.Type, true) {
				return false
			}
		case model.LabelZone:
			if !value(r, x.o.Zone, true) {
				return false
			}
		case model.LabelCapacityType:
			if !value(r, x.o.CapacityType, true) {
				return false
			}
		}
	}
	labels := a.nodeLabels(&model.Pool{Class: class}, nil, x)
	for _, r := range reqs {
		v, there := labels[canonical(r.Key)]
		if choices := x.t.Choices(x.o, r.Key); len(choices) > 0 {
			if !slices.ContainsFunc(choices, func(v string) bool { return value(r, v, true) }) {
				return false
			}
			continue
		}
		if (there || a.machineLabel(class, canonical(r.Key))) && canonical(r.Key) != model.LabelPool && !value(r, v, there) {
			return false
		}
	}
	return true
}

// machineLabel reports whether only machines bring the label: some machine of the catalogue has it, so that others
// lack it, or it is one that the Azure provider publishes as describing machines.
func (a *audit) machineLabel(class model.ClassRef, key string) bool {
	if strings.HasPrefix(key, "karpenter.azure.com/") && key != "karpenter.azure.com/aksnodeclass" {
		return true
	}
	for _, short := range []string{"mode", "sku-cpu", "sku-memory", "scalesetpriority", "priority", "os-sku", "fips_enabled"} {
		if key == "kubernetes.azure.com/"+short {
			return true
		}
	}
	if a.own[class] == nil {
		own := map[string]bool{}
		for _, t := range a.w.Catalogs[class].Types {
			for k := range t.Labels {
				own[k] = true
			}
			for k, v := range t.Either {
				own[k] = own[k] || len(v) > 0
			}
			for _, o := range t.Offerings {
				for k := range o.Labels {
					own[k] = true
				}
			}
		}
		a.own[class] = own
	}
	return a.own[class][key]
}
