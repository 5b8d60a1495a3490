package require

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Values is the set of states that one label may be in: some values, and possibly "the label is not there".
// Values are listed when there are finitely many of them, else those that are excluded are. The zero Values is empty:
// nothing satisfies it. Any() allows everything. Values never change once made.
type Values struct {
	// all: list holds what is excluded, and lo..hi bound the rest; else list holds what is allowed.
	all    bool
	list   []string // sorted, distinct
	lo, hi int64    // with all: only integers in lo..hi count; noLo, noHi = no bound
	absent bool     // the label may be missing
	min    int      // the largest minValues asked for
}

const (
	noLo = math.MinInt64
	noHi = math.MaxInt64
)

// Any allows every value and the label's absence.
func Any() Values { return Values{all: true, lo: noLo, hi: noHi, absent: true} }

// One allows exactly the value v.
func One(v string) Values { return Values{list: []string{v}} }

// OneOf allows exactly the given values. It copies the list.
func OneOf(vs ...string) Values { return Values{list: distinct(vs)} }

// Of reads one requirement. An unknown operator, or a bound that is not one integer, allows nothing: better to refuse
// than to misplace.
func Of(r model.Requirement) Values {
	v := Values{min: r.MinValues}
	switch r.Op {
	case model.In:
		v.list = distinct(r.Values)
	case model.NotIn:
		v.all, v.list, v.lo, v.hi, v.absent = true, distinct(r.Values), noLo, noHi, true
	case model.Exists:
		v.all, v.lo, v.hi = true, noLo, noHi
	case model.DoesNotExist:
		v.absent = true
	case model.Gt, model.Gte, model.Lt, model.Lte:
		if len(r.Values) != 1 {
			return v
		}
		n, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return v
		}
		return bounded(v, r.Op, n)
	}
	return v
}

func bounded(v Values, op model.Operator, n int64) Values {
	if op == model.Gt && n == math.MaxInt64 || op == model.Lt && n == math.MinInt64 {
		return v // nothing is beyond the last integer
	}
	v.all, v.lo, v.hi = true, noLo, noHi
	switch op {
	case model.Gt:
		v.lo = n + 1
	case model.Gte:
		v.lo = n
	case model.Lt:
		v.hi = n - 1
	case model.Lte:
		v.hi = n
	}
	return v
}

func distinct(vs []string) []string {
	out := slices.Clone(vs)
	slices.Sort(out)
	return slices.Compact(out)
}

// Has reports whether the label may have the value s. O(log values).
func (v Values) Has(s string) bool {
	_, found := slices.BinarySearch(v.list, s)
	if !v.all {
		return found
	}
	return !found && v.inBounds(s)
}

func (v Values) inBounds(s string) bool {
	if !v.hasBounds() {
		return true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && v.lo <= n && n <= v.hi
}

func (v Values) hasBounds() bool { return v.lo != noLo || v.hi != noHi }

// AllowsAbsent reports whether the label may be missing.
func (v Values) AllowsAbsent() bool { return v.absent }

// MinValues is the number of distinct values that must remain on offer; 0 = none asked for.
func (v Values) MinValues() int { return v.min }

// Listed returns the allowed values when there are finitely many, sorted. The caller must not change them.
func (v Values) Listed() (list []string, ok bool) { return v.list, !v.all }

// HasValues reports whether at least one value is allowed.
func (v Values) HasValues() bool { return len(v.list) > 0 && !v.all || v.all && v.room() }

// Empty reports whether nothing at all is allowed, not even absence.
func (v Values) Empty() bool { return !v.absent && !v.HasValues() }

// room reports whether the unbounded or bounded rest holds a value that is not excluded.
func (v Values) room() bool {
	if v.lo == noLo || v.hi == noHi {
		return v.lo <= v.hi // infinitely many values, finitely many excluded
	}
	if v.lo > v.hi {
		return false
	}
	if uint64(v.hi)-uint64(v.lo) >= uint64(len(v.list)) {
		return true // more integers than exclusions
	}
	_, ok := v.firstInteger()
	return ok
}

// firstInteger returns the smallest integer from lo that is not excluded; where there is no lower bound, the smallest from 0, or else one below. At
// most 2·(len(list)+1) tries.
func (v Values) firstInteger() (string, bool) {
	if v.lo != noLo {
		return v.integerFrom(v.lo)
	}
	if s, ok := v.integerFrom(0); ok {
		return s, true
	}
	return v.integerFrom(v.hi - int64(len(v.list))) // one more than may be excluded
}

// integerFrom returns the smallest integer from n that is not excluded.
func (v Values) integerFrom(n int64) (string, bool) {
	for range len(v.list) + 1 {
		if n > v.hi {
			break
		}
		s := strconv.FormatInt(n, 10)
		if _, excluded := slices.BinarySearch(v.list, s); !excluded {
			return s, true
		}
		n++
	}
	return "", false
}

// Pick returns one allowed value, always the same one: the smallest listed, else the smallest integer from the lower
// bound (from 0 where there is none, and below where nothing else is left). ok is false when no value is allowed.
func (v Values) Pick() (s string, ok bool) {
	if v.all {
		if !v.room() {
			return "", false
		}
		return v.firstInteger()
	}
	if len(v.list) == 0 {
		return "", false
	}
	return v.list[0], true
}

// And returns what both allow. minValues becomes the larger one.
func (v Values) And(o Values) Values {
	out := Values{absent: v.absent && o.absent, min: max(v.min, o.min)}
	switch {
	case v.all && o.all:
		out.all, out.lo, out.hi = true, max(v.lo, o.lo), min(v.hi, o.hi)
		out.list = union(v.list, o.list)
	case v.all:
		out.list = keep(o.list, v.Has)
	default:
		out.list = keep(v.list, o.Has)
	}
	return out
}

// Meets reports whether v and o have a value, or absence, in common.
func (v Values) Meets(o Values) bool {
	if v.absent && o.absent {
		return true
	}
	switch {
	case v.all && o.all:
		return v.And(o).HasValues()
	case v.all || !o.all && len(o.list) < len(v.list): // one of the two may have thousands
		return slices.ContainsFunc(o.list, v.Has)
	}
	return slices.ContainsFunc(v.list, o.Has)
}

// Equal reports whether v and o are written the same way.
func (v Values) Equal(o Values) bool {
	return v.all == o.all && v.absent == o.absent && v.min == o.min && (!v.all || v.lo == o.lo && v.hi == o.hi) && slices.Equal(v.list, o.list)
}

func union(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

func keep(list []string, f func(string) bool) []string {
	if !slices.ContainsFunc(list, func(s string) bool { return !f(s) }) {
		return list
	}
	var out []string
	for _, s := range list {
		if f(s) {
			out = append(out, s)
		}
	}
	return out
}

// Requirements writes v back as requirements on key, in the order of the API's operators. Any() gives none.
func (v Values) Requirements(key string) []model.Requirement {
	if !v.all {
		if len(v.list) > 0 {
			return []model.Requirement{{Key: key, Op: model.In, Values: slices.Clone(v.list), MinValues: v.min}}
		}
		if v.absent {
			return []model.Requirement{{Key: key, Op: model.DoesNotExist}}
		}
		// Nothing is allowed. Say so with two requirements that contradict each other.
		return []model.Requirement{{Key: key, Op: model.Exists}, {Key: key, Op: model.DoesNotExist}}
	}
	var out []model.Requirement
	if len(v.list) > 0 {
		out = append(out, model.Requirement{Key: key, Op: model.NotIn, Values: slices.Clone(v.list)})
	}
	if v.lo != noLo {
		out = append(out, model.Requirement{Key: key, Op: model.Gte, Values: []string{strconv.FormatInt(v.lo, 10)}})
	}
	if v.hi != noHi {
		out = append(out, model.Requirement{Key: key, Op: model.Lte, Values: []string{strconv.FormatInt(v.hi, 10)}})
	}
	if !v.absent && !v.hasBounds() {
		out = append(out, model.Requirement{Key: key, Op: model.Exists})
	}
	if v.min > 0 && len(out) > 0 {
		out[len(out)-1].MinValues = v.min
	}
	return out
}

// String prints v for people: "In [a b]", "NotIn [x], Exists", "any".
func (v Values) String() string {
	var parts []string
	for _, r := range v.Requirements("") {
		parts = append(parts, format(r))
	}
	if len(parts) == 0 {
		return "any"
	}
	if v.Empty() {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func format(r model.Requirement) string {
	switch r.Op {
	case model.Gte, model.Lte, model.Gt, model.Lt:
		return string(r.Op) + " " + strings.Join(r.Values, " ")
	case model.Exists, model.DoesNotExist:
		return string(r.Op)
	}
	return string(r.Op) + " [" + strings.Join(r.Values, " ") + "]"
}
