package pack

// Amounts prices what bins give such that no bin gives more than it costs and all that is needed is worth as much as possible: what it costs
// when bins may be bought in any part. Gives and prices are per bin, needs per resource; what is not needed, or given by no bin, is worth nothing.
// It is the simplex method on a linear program with a variable per resource and a row per bin, from no prices at all: wherever it
// stops, prices are sound. Each of its pivots visits all that bins give.
func Amounts(gives [][]float64, prices, needs []float64) (worth []float64, pivots int) {
	scale := make([]float64, len(needs)) // resources in parts of what the largest bin gives
	for _, give := range gives {
		for r, v := range give {
			scale[r] = max(scale[r], v)
		}
	}
	var goal []float64
	var out []int // resources that are not in the basis
	for r, v := range needs {
		if v > 0 && scale[r] > 0 {
			goal, out = append(goal, v/scale[r]), append(out, r)
		}
	}
	d, spare := len(goal), -1
	rows := make([][]float64, len(gives)) // coefficients of what is not in the basis, and the right side
	basis, flat := make([]int, len(gives)), make([]float64, len(gives)*(d+1))
	for i, give := range gives {
		rows[i], flat = flat[:d+1:d+1], flat[d+1:]
		for c, r := range out {
			rows[i][c] = give[r] / scale[r]
		}
		rows[i][d], basis[i] = prices[i], spare
	}
	for ; pivots < 20*d; pivots++ {
		in := 0
		for c, v := range goal {
			if v > goal[in] {
				in = c
			}
		}
		if goal[in] <= tiny {
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
		pivot(rows, goal, row, in)
		basis[row], out[in] = out[in], basis[row]
	}
	worth = make([]float64, len(needs))
	for i, r := range basis {
		if r >= 0 {
			worth[r] = max(0, rows[i][d]) / scale[r]
		}
	}
	return worth, pivots
}

// pivot lets a column that is not in the basis take the place of a row.
func pivot(rows [][]float64, goal []float64, row, in int) {
	x := rows[row]
	by := x[in]
	x[in] = 1
	for c := range x {
		x[c] /= by
	}
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
	for c := range goal {
		goal[c] -= f * x[c]
	}
}

// sand prices the resources such that no bin's room is worth more than the bin and all items are worth as much as possible: what they cost when
// they may be cut at will and go into any bin.
func (p *packer) sand() []float64 {
	needs := make([]float64, p.dims)
	for g, left := range p.left {
		for r, v := range p.in.Items[g].Size {
			needs[r] += float64(v) * float64(left)
		}
	}
	gives, prices := make([][]float64, len(p.bins)), make([]float64, len(p.bins))
	for i := range p.bins {
		prices[i] = p.bins[i].price
		for _, v := range p.in.Bins[p.bins[i].at].Room {
			gives[i] = append(gives[i], float64(v))
		}
	}
	worth, pivots := Amounts(gives, prices, needs)
	p.steps -= pivots * (len(p.bins) / 8)
	return worth
}
