package bound

import "math"

// lp is: maximise value·x where rows·x ≤ limit, 0 ≤ x ≤ upper. Limits are not negative, so x = 0 is where the search
// starts. Dense: for few rows, or few columns.
type lp struct {
	value []float64
	rows  [][]float64
	limit []float64
	upper []float64 // +Inf where there is none
}

const (
	tiny = 1e-9
	// maxPivots bounds one linear program, per row and column.
	maxPivots = 20
)

// solution of an lp. dual prices the rows; it is never negative, and is a valid price list wherever the search stopped.
type solution struct {
	x, dual []float64
	value   float64
	work    int // numbers touched
}

// solve runs the primal simplex with bounds. Ties and order are fixed, so that the same numbers give the same answer.
func (l lp) solve() solution {
	m, n := len(l.rows), len(l.value)
	width := n + m
	a := make([][]float64, m)
	b := append([]float64(nil), l.limit...)
	d := make([]float64, width)
	copy(d, l.value)
	upper := make([]float64, width)
	copy(upper, l.upper)
	basis := make([]int, m)
	flipped := make([]bool, width)
	for i := range a {
		a[i] = make([]float64, width)
		copy(a[i], l.rows[i])
		a[i][n+i] = 1
		basis[i], upper[n+i] = n+i, math.Inf(1)
	}
	s := solution{}
	for step := range maxPivots * width {
		j := entering(d, step > maxPivots*width/2)
		if j < 0 {
			break
		}
		row, bound, atUpper := -1, upper[j], false
		for i := range a {
			switch t := a[i][j]; {
			case t > tiny && b[i]/t < bound:
				row, bound, atUpper = i, max(0, b[i]/t), false
			case t < -tiny && (upper[basis[i]]-b[i])/-t < bound:
				row, bound, atUpper = i, max(0, (upper[basis[i]]-b[i])/-t), true
			}
		}
		if math.IsInf(bound, 1) {
			break // unbounded: cannot happen with limits on everything; the duals then price nothing
		}
		s.work += m * width
		if row < 0 { // x goes to its upper bound: look at it from there
			for i := range a {
				b[i] -= a[i][j] * upper[j]
				a[i][j] = -a[i][j]
			}
			d[j], flipped[j] = -d[j], !flipped[j]
			continue
		}
		if atUpper { // the one that leaves is at its upper bound: look at it from there
			out := basis[row]
			for k := range a[row] {
				a[row][k] = -a[row][k]
			}
			a[row][out] = 1
			b[row], flipped[out] = upper[out]-b[row], !flipped[out]
		}
		pivot(a, b, d, row, j)
		basis[row] = j
	}
	s.x, s.dual = make([]float64, n), make([]float64, m)
	for i, j := range basis {
		if j < n {
			s.x[j] = b[i]
		}
	}
	for j := range s.x {
		if flipped[j] {
			s.x[j] = upper[j] - s.x[j]
		}
		s.value += s.x[j] * l.value[j]
	}
	for i := range s.dual {
		s.dual[i] = max(0, -d[n+i])
	}
	return s
}

// entering picks the column that promises most; late in the search the first that promises anything, which cannot go in
// circles.
func entering(d []float64, careful bool) int {
	best, j := tiny, -1
	for k, v := range d {
		if v > best {
			if best, j = v, k; careful {
				break
			}
		}
	}
	return j
}

func pivot(a [][]float64, b, d []float64, row, j int) {
	p := a[row][j]
	for k := range a[row] {
		a[row][k] /= p
	}
	b[row] /= p
	for i := range a {
		if f := a[i][j]; i != row && f != 0 {
			for k, v := range a[row] {
				if v != 0 {
					a[i][k] -= f * v
				}
			}
			b[i] = max(0, b[i]-f*b[row])
		}
	}
	if f := d[j]; f != 0 {
		for k, v := range a[row] {
			if v != 0 {
				d[k] -= f * v
			}
		}
	}
}
