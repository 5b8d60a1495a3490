package disrupt

// Still reports whether the claim's node, marked because it was empty, may leave now: whether Decide
// would say so. It looks at no other node, asks no what-if, and leaves moves with a record to Decide.
// O(claims).
func Still(in Input, claim string) bool {
	s := survey(in)
	x := s.byClaim[claim]
	if x == nil || !x.marked() || x.written != "" || x.pool != nil && s.pauseOf(x).Observe {
		return false
	}
	r := s.stays(x)
	return r.why == ""
}
