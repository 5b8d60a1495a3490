package place

import "slices"

// field is the domains of one key that machines are in which count for a spread.
type field struct {
	base, less, more []int32 // what is there, sorted; what of it goes, and what comes
	sure             int32   // domains that are there whatever machines turn out to be
}

// fieldKey names a field.
type fieldKey struct {
	e   *eligible
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
func (p *proof) low(r *spreadRule) int32 {
	l := p.lows[r.term]
	if l == nil {
		l = &lowest{field: p.field(fieldKey{r.term.elig, r.term.key})}
		p.lows[r.term] = l
	}
	if l.sure < r.min || len(r.term.matched.n) < l.size() || l.size() == 0 {
		return 0
	}
	if !l.known {
		l.settle(r.term)
	}
	return l.low
}

// field adds the machines that were bought to what is there, and leaves out domains in which all machines go.
func (p *proof) field(k fieldKey) *field {
	if f := p.fields[k]; f != nil {
		return f
	}
	t, e := p.d.topo, k.e
	f := &field{base: e.doms[k.key], less: p.leaving(e, k.key, false)}
	lost := p.leaving(e, k.key, true)
	var sure []int32
	for i := len(t.spots) - len(p.d.made); i < len(t.spots); i++ {
		s := t.spots[i]
		if e.spots[i] == never {
			continue
		}
		if dom := s.doms[k.key]; dom >= 0 {
			f.more = append(f.more, dom)
			if e.spots[i] == surely {
				sure = append(sure, dom)
			}
			continue
		}
		for _, v := range s.may[t.keys[k.key]] {
			f.more = append(f.more, t.dom(k.key, v))
		}
	}
	f.more = without(sorted(f.more), f.base, f.less)
	f.sure = int32(len(e.sure[k.key]) - len(lost) + len(without(sorted(sure), e.sure[k.key], lost)))
	p.fields[k] = f
	return f
}

// without returns what of a list is not in base less some; all are sorted, and list is its own.
func without(list, base, less []int32) []int32 {
	return slices.DeleteFunc(list, func(dom int32) bool {
		_, found := slices.BinarySearch(base, dom)
		return found && !slices.Contains(less, dom)
	})
}

// leaving lists, sorted, the domains in which all machines go that may count, or do when sure is set.
func (p *proof) leaving(e *eligible, key int, sure bool) []int32 {
	t := p.d.topo
	var out []int32
	for _, i := range p.d.gone {
		if dom := t.spots[i].doms[key]; dom >= 0 && (e.spots[i] == surely || !sure && e.spots[i] == perhaps) {
			out = append(out, dom)
		}
	}
	if key == host || len(out) == 0 {
		return sorted(out)
	}
	leave := map[int32]int32{}
	for _, dom := range out {
		leave[dom]++
	}
	many := p.machines(e, key, sure)
	return slices.DeleteFunc(sorted(out), func(dom int32) bool { return many[dom] > leave[dom] })
}

// machines counts, once, how many machines that may count, or do, are in each domain of a key, or may turn out to be.
func (p *proof) machines(e *eligible, key int, sure bool) map[int32]int32 {
	at := population{key, sure}
	if n := e.many[at]; n != nil {
		return n
	}
	t := p.d.topo
	n := map[int32]int32{}
	for i, s := range t.spots[:len(t.spots)-len(p.d.made)] {
		if dom := s.doms[key]; dom >= 0 && (e.spots[i] == surely || !sure && e.spots[i] == perhaps) {
			n[dom]++
		}
		for _, v := range s.may[t.keys[key]] {
			n[t.dom(key, v)]++
		}
	}
	remember(&e.many, at, n)
	return n
}

func (l *lowest) settle(x *term) {
	l.low, l.at, l.known = noBound, 0, true
	see := func(dom int32) {
		switch n := x.matched.at(dom); {
		case n < l.low:
			l.low, l.at = n, 1
		case n == l.low:
			l.at++
		}
	}
	for _, dom := range l.base {
		if !slices.Contains(l.less, dom) {
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
func (l *lowest) raised(x *term, dom int32) {
	if l.known && x.matched.at(dom) == l.low+1 {
		if l.at--; l.at == 0 {
			l.settle(x)
		}
	}
}
