package verify

import (
	"slices"

	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/plan/topology"
)

// field is the domains of one key that machines are in which count for a spread.
type field struct {
	base, less, more []int32 // what is there, sorted; what of it goes, and what comes
	sure             int32   // domains that are there whatever machines turn out to be
}

// fieldKey names a field.
type fieldKey struct {
	e   *topology.Eligible
	key int
}

// lowest follows the least count of a spread among its field.
type lowest struct {
	*field
	// low is the least, and at says how many domains have no more; known is unset as long as some domain was never touched.
	low   int32
	at    int
	known bool
}

// low is the count that skew is measured from.
func (p *proof) low(r *topology.SpreadRule) int32 {
	l := p.lows[r.Term]
	if l == nil {
		l = &lowest{field: p.field(fieldKey{r.Term.Elig, r.Term.Key})}
		p.lows[r.Term] = l
	}
	if l.sure < r.Min || r.Term.Matched.Domains() < l.size() || l.size() == 0 {
		return 0
	}
	if !l.known {
		l.settle(r.Term)
	}
	return l.low
}

// field adds the machines that were bought to what is there, and leaves out domains in which all machines go.
func (p *proof) field(k fieldKey) *field {
	if f := p.fields[k]; f != nil {
		return f
	}
	t, e := p.d.Topo, k.e
	f := &field{base: e.Doms[k.key], less: p.leaving(e, k.key, false)}
	lost := p.leaving(e, k.key, true)
	var sure []int32
	for i := len(t.Spots) - len(p.d.Made); i < len(t.Spots); i++ {
		s := t.Spots[i]
		if e.Spots[i] == topology.Never {
			continue
		}
		if dom := s.Doms[k.key]; dom >= 0 {
			f.more = append(f.more, dom)
			if e.Spots[i] == topology.Surely {
				sure = append(sure, dom)
			}
			continue
		}
		for _, v := range s.May[t.Keys[k.key]] {
			f.more = append(f.more, t.Dom(k.key, v))
		}
	}
	f.more = without(topology.Sorted(f.more), f.base, f.less)
	more := without(topology.Sorted(sure), e.Sure[k.key], lost)
	f.sure = int32(len(e.Sure[k.key]) - len(lost) + len(more))
	p.fields[k] = f
	return f
}

// without returns what of a list is not in base less some; all are sorted, and list is its own.
func without(list, base, less []int32) []int32 {
	return slices.DeleteFunc(list, func(dom int32) bool {
		_, found := slices.BinarySearch(base, dom)
		_, gone := slices.BinarySearch(less, dom)
		return found && !gone
	})
}

// leaving lists, sorted, the domains in which all machines go that may count, or do when sure is set.
func (p *proof) leaving(e *topology.Eligible, key int, sure bool) []int32 {
	t := p.d.Topo
	var out []int32
	for _, i := range p.d.Gone {
		if dom := t.Spots[i].Doms[key]; dom >= 0 &&
			(e.Spots[i] == topology.Surely || !sure && e.Spots[i] == topology.Perhaps) {
			out = append(out, dom)
		}
	}
	if key == topology.Host || len(out) == 0 {
		return topology.Sorted(out)
	}
	leave := map[int32]int32{}
	for _, dom := range out {
		leave[dom]++
	}
	many := p.machines(e, key, sure)
	return slices.DeleteFunc(topology.Sorted(out), func(dom int32) bool {
		return many[dom] > leave[dom]
	})
}

// machines counts, once, how many machines that may count, or do, are in each domain of a key, or may turn out to be.
func (p *proof) machines(e *topology.Eligible, key int, sure bool) map[int32]int32 {
	at := topology.Population{Key: key, Sure: sure}
	if n := e.Many[at]; n != nil {
		return n
	}
	t := p.d.Topo
	n := map[int32]int32{}
	for i, s := range t.Spots[:len(t.Spots)-len(p.d.Made)] {
		if dom := s.Doms[key]; dom >= 0 &&
			(e.Spots[i] == topology.Surely || !sure && e.Spots[i] == topology.Perhaps) {
			n[dom]++
		}
		for _, v := range s.May[t.Keys[key]] {
			n[t.Dom(key, v)]++
		}
	}
	problem.Remember(&e.Many, at, n)
	return n
}

func (l *lowest) settle(x *topology.Term) {
	l.low, l.at, l.known = topology.NoBound, 0, true
	see := func(dom int32) {
		switch n := x.Matched.At(dom); {
		case n < l.low:
			l.low, l.at = n, 1
		case n == l.low:
			l.at++
		}
	}
	less := l.less
	for _, dom := range l.base { // both are sorted
		for len(less) > 0 && less[0] < dom {
			less = less[1:]
		}
		if len(less) == 0 || less[0] != dom {
			see(dom)
		}
	}
	for _, dom := range l.more {
		see(dom)
	}
}

// size is how many domains there are.
func (f *field) size() int { return len(f.base) - len(f.less) + len(f.more) }

// raised notes that a pod was counted in a domain.
func (l *lowest) raised(x *topology.Term, dom int32) {
	if l.known && x.Matched.At(dom) == l.low+1 {
		if l.at--; l.at == 0 {
			l.settle(x)
		}
	}
}
