package problem

// meter counts what seating and proving cost, which may be allowed.
type meter struct {
	Work, Allowed int
	// Exceeded is set when more was asked for.
	Exceeded bool
}

// Toil counts work, and reports whether any is left to be spent. Once nothing is, nobody finds a place any more, and the plan says so.
func (m *meter) Toil(n int) bool {
	m.Work += n
	return !m.Tired()
}

// Tired reports whether seating, or proving, has cost what it may cost.
func (m *meter) Tired() bool {
	if m.Work <= m.Allowed {
		return false
	}
	m.Exceeded = true
	return true
}

// Parts of questions that are as much work as a question.
const (
	TiesAsOne    = 8  // ties of a pod
	DomainsAsOne = 16 // domains that are compared
	SeatsAsOne   = 16 // seats that are looked through

	ComparedAsOne = 64 // offerings that are compared with a constraint
	// offerings that are asked whether they join others for the sake of minValues
	PeersAsOne = 16
)
