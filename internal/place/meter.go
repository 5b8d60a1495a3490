package place

// meter counts what seating and proving cost, which may be allowed.
type meter struct {
	work, allowed int
	// exceeded is set when more was asked for.
	exceeded bool
}

// toil counts work, and reports whether any is left to be spent. Once nothing is, nobody finds a place any more, and the plan says so.
func (m *meter) toil(n int) bool {
	m.work += n
	return !m.tired()
}

// tired reports whether seating, or proving, has cost what it may cost.
func (m *meter) tired() bool {
	if m.work <= m.allowed {
		return false
	}
	m.exceeded = true
	return true
}

// Parts of questions that are as much work as a question.
const (
	tiesAsOne    = 8  // ties of a pod
	domainsAsOne = 16 // domains that are compared
	seatsAsOne   = 16 // seats that are looked through

	comparedAsOne = 64 // offerings that are compared with a form
	peersAsOne    = 16 // offerings that are asked whether they join others for the sake of minValues
)
