package meter

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Subject is an object with conditions, as metrics name it.
type Subject struct {
	Kind       ObjectKind
	Namespace  string // "" = it has none
	Name       string
	Extra      []string // values of the kind's extra labels
	Conditions []model.Condition
	// Deleted is since when it is on its way out; zero when it is not, or when that is not known.
	Deleted time.Time
}

// SubjectOf tells what metrics say of an object; false when they say nothing of its kind.
func SubjectOf(o model.Object) (Subject, bool) {
	k := Kinds()
	switch o := o.(type) {
	case model.Claim:
		return Subject{Kind: k[0], Name: o.Name, Extra: []string{o.Class.Name, o.Pool},
			Conditions: o.Conditions, Deleted: o.DeletedAt}, true
	case model.Pool:
		return Subject{Kind: k[1], Name: o.Name, Conditions: o.Conditions}, true
	case model.Node:
		return Subject{Kind: k[2], Name: o.Name, Conditions: conditionsOf(&o), Deleted: o.DeletedAt,
			Extra: []string{o.Labels["karpenter.azure.com/aksnodeclass"], o.Labels[model.LabelPool],
				o.Labels[model.LabelInitialized]}}, true
	case model.Class:
		return Subject{Kind: k[3], Name: o.Ref.Name, Conditions: o.Conditions}, true
	case model.Buffer:
		return Subject{Kind: k[4], Namespace: o.Namespace, Name: o.Name,
			Conditions: o.Conditions}, true
	}
	return Subject{}, false
}

// conditionsOf are the conditions of a node that something is decided by.
func conditionsOf(n *model.Node) []model.Condition {
	ready := model.Condition{Type: model.Ready, Status: n.Ready, Reason: n.ReadyReason,
		Since: n.ReadySince}
	return append([]model.Condition{ready}, n.Conditions...)
}

func (v *view) conditions() {
	for i := range v.w.Claims {
		v.subject(v.w.Claims[i])
	}
	for i := range v.w.Pools {
		v.subject(v.w.Pools[i])
	}
	for i := range v.w.Nodes {
		v.subject(v.w.Nodes[i])
	}
	for i := range v.w.Classes {
		v.subject(v.w.Classes[i])
	}
	for i := range v.w.Buffers {
		v.subject(v.w.Buffers[i])
	}
}

func (v *view) subject(o model.Object) {
	s, _ := SubjectOf(o)
	p := "operator_" + s.Kind.Word + "_"
	for _, c := range s.Conditions {
		labels := append([]string{s.Namespace, s.Name, c.Type, string(c.Status), c.Reason},
			s.Extra...)
		age := max(0, v.now.Sub(c.Since).Seconds())
		v.tell(p+"status_condition_count", 1, labels...)
		v.tell(p+"status_condition_current_status_seconds", age, labels...)
		if s.Kind.Twin != "" {
			older := append([]string{s.Kind.Twin, s.Kind.Kind}, labels[:5]...)
			v.tell("operator_status_condition_count", 1, older...)
			v.tell("operator_status_condition_current_status_seconds", age, older...)
		}
	}
}
