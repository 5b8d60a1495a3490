package portfolio

// solve finds the cheapest slices from nothing: every row begins with slices that nobody sells, at a price beyond all.
func (s *sliced) solve() {
	n := len(s.rows)
	s.basis, s.x, s.cost, s.price, s.column = make([]int, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	s.inv = make([][]float64, n)
	for i := range s.rows {
		s.inv[i] = make([]float64, n)
		s.inv[i][i] = 1
		s.basis[i], s.cost[i], s.x[i] = -1, s.top*beyond, s.rows[i].need/s.rows[i].scale
	}
	for range maxPivots {
		s.reprice()
		in, gain := 0, nearly
		for ci := range s.room {
			if v := -s.excess(ci) / float64(max(s.p.Choices[ci].Price, 1)); v > gain {
				in, gain = ci, v
			}
		}
		for i, v := range s.price {
			if -v/s.top > gain {
				in, gain = -1-i, -v/s.top
			}
		}
		if gain == nearly {
			return
		}
		s.enters(in)
		row := -1
		for i, v := range s.column {
			if v > nearly && (row < 0 || s.x[i]*s.column[row] < s.x[row]*v) {
				row = i
			}
		}
		if row < 0 {
			return
		}
		s.pivot(in, row)
		for i, v := range s.x {
			s.x[i] = max(0, v)
		}
	}
}

// resolve goes on from the last solution when there is less demand, and reports whether that led to one. Prices stay right all along;
// whatever would be bought in negative amounts leaves for what then costs least.
func (s *sliced) resolve() bool {
	for range maxPivots {
		row := -1
		for i, v := range s.x {
			if v < -nearly && (row < 0 || v < s.x[row]) {
				row = i
			}
		}
		if row < 0 {
			return true
		}
		in, least := 0, -1.0
		for ci, room := range s.room {
			if a := -dot(s.inv[row], room); a > nearly {
				if v := max(0, s.excess(ci)) / a; least < 0 || v < least {
					in, least = ci, v
				}
			}
		}
		for i, a := range s.inv[row] {
			if a > nearly {
				if v := max(0, s.price[i]) / a; least < 0 || v < least {
					in, least = -1-i, v
				}
			}
		}
		if least < 0 {
			return false
		}
		s.enters(in)
		s.pivot(in, row)
		s.reprice()
	}
	return false
}

// excess is what a choice costs beyond what its room is worth.
func (s *sliced) excess(ci int) float64 {
	return float64(s.p.Choices[ci].Price) - dot(s.price, s.room[ci])
}

// enters works out what one more of a choice, or of spare room in row i for -1-i, takes away from what is bought.
func (s *sliced) enters(in int) {
	s.p.Steps--
	for i, inv := range s.inv {
		if in < 0 {
			s.column[i] = -inv[-1-in]
		} else {
			s.column[i] = dot(inv, s.room[in])
		}
	}
}

// pivot lets what enters take the place of what a row buys.
func (s *sliced) pivot(in, row int) {
	s.basis[row], s.cost[row] = max(in, -1), 0
	if in >= 0 {
		s.cost[row] = float64(s.p.Choices[in].Price)
	}
	by, own := s.column[row], s.inv[row]
	for j := range own {
		own[j] /= by
	}
	s.x[row] /= by
	for i, f := range s.column {
		if i == row || f == 0 {
			continue
		}
		for j, v := range own {
			s.inv[i][j] -= f * v
		}
		s.x[i] -= f * s.x[row]
	}
}

func (s *sliced) reprice() {
	for j := range s.price {
		s.price[j] = 0
		for i := range s.inv {
			s.price[j] += s.cost[i] * s.inv[i][j]
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
