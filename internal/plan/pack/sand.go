package pack

// sand prices the resources such that no bin's room is worth more than the bin and all items are worth as much as possible: what they cost when
// they may be cut at will and go into any bin. It is a linear program with a variable per resource and a row per bin.
func (p *packer) sand() []float64 {
	d, n := p.dims, len(p.bins)
	need := make([]float64, d)
	for g, left := range p.left {
		for r, v := range p.in.Items[g].Size {
			need[r] += float64(v) * float64(left)
		}
	}
	scale := make([]float64, d) // resources in parts of the largest bin
	for i := range p.bins {
		for r, v := range p.in.Bins[p.bins[i].at].Room {
			scale[r] = max(scale[r], float64(v))
		}
	}
	rows := make([][]float64, n) // coefficients of what is not in the basis, and the right side
	basis, out := make([]int, n), make([]int, d)
	for i := range p.bins {
		rows[i] = make([]float64, d+1)
		for r, v := range p.in.Bins[p.bins[i].at].Room {
			rows[i][r] = float64(v) / max(scale[r], 1)
		}
		rows[i][d], basis[i] = p.bins[i].price, -1-i
	}
	goal := make([]float64, d)
	for r := range d {
		goal[r], out[r] = need[r]/max(scale[r], 1), r
	}
	for range 20 * d {
		in := -1
		for r, v := range goal {
			if v > tiny && (in < 0 || v > goal[in]) {
				in = r
			}
		}
		if in < 0 {
			break
		}
		row := -1
		for i, x := range rows {
			if x[in] > tiny && (row < 0 || x[d]*rows[row][in] < rows[row][d]*x[in]) {
				row = i
			}
		}
		if row < 0 {
			break
		}
		x := rows[row]
		by := x[in]
		x[in] = 1
		for c := range x {
			x[c] /= by
		}
		basis[row], out[in] = out[in], basis[row]
		for i, y := range rows {
			if f := y[in]; i != row && f != 0 {
				y[in] = 0
				for c, v := range x {
					y[c] -= f * v
				}
			}
		}
		f := goal[in]
		goal[in] = 0
		for c, v := range x[:d] {
			goal[c] -= f * v
		}
		p.steps -= n / 8
	}
	prices := make([]float64, d)
	for i, b := range basis {
		if b >= 0 {
			prices[b] = max(0, rows[i][d]) / max(scale[b], 1)
		}
	}
	return prices
}
