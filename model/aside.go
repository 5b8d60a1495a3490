package model

// Aside returns a custom resource of which something could not be read, as it counts then: it is there, but nothing is decided by what
// is left of it. A pool buys nothing, keeps what it has, and nothing drifts from it; no machine is built from a class; no machine is
// bought for a claim that has none; an overlay is not in force, and a buffer keeps no room. Other objects are returned as they are.
// An object that looked deleted instead would take its machines with it.
func Aside(o Object, unreadable string) Object {
	switch o := o.(type) {
	case Pool:
		o.Unreadable, o.Hash, o.HashVersion = unreadable, "", ""
		o.Budgets = []DisruptionBudget{{Nodes: "0"}}
		return o
	case Class:
		o.Unreadable, o.Hash, o.HashVersion = unreadable, "", ""
		return o
	case Claim:
		o.Unreadable = unreadable
		return o
	case Overlay:
		o.Unreadable = unreadable
		return o
	case Buffer:
		o.Unreadable = unreadable
		return o
	}
	return o
}

// Unreadable says what of the object could not be read; "" when all of it was.
func Unreadable(o Object) string {
	switch o := o.(type) {
	case Pool:
		return o.Unreadable
	case Class:
		return o.Unreadable
	case Claim:
		return o.Unreadable
	case Overlay:
		return o.Unreadable
	case Buffer:
		return o.Unreadable
	}
	return ""
}

// Asides lists the objects of the picture that are set aside, kind by kind, each kind in its order.
func (w World) Asides() []Object {
	var out []Object
	out = asides(out, w.Pools)
	out = asides(out, w.Classes)
	out = asides(out, w.Claims)
	out = asides(out, w.Overlays)
	return asides(out, w.Buffers)
}

func asides[O Object](out []Object, list []O) []Object {
	for _, o := range list {
		if Unreadable(o) != "" {
			out = append(out, o)
		}
	}
	return out
}
