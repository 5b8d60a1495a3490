package upstream

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/karpenter-aks/karpenter/model"
)

func metaCondition(c model.Condition) status.Condition {
	return status.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
}

// Result is what upstream decided, in our words.
type Result struct {
	Buy  []Machine
	Fits []Fit
	Left []Left
	// Price is the sum of each machine's cheapest offering that it may still be: what a launch at the lowest price takes.
	Price model.Price
}

// Machine is one machine that upstream would buy.
type Machine struct {
	Pool     string
	Pods     []model.PodKey
	Cheapest model.OfferingKey
	Price    model.Price
	// Claim is what it asks for; the labels are those that are certain.
	Claim model.Claim
}

// Fit is a pod that goes to a machine that is there or on its way: exactly one of Node and Claim is set.
type Fit struct {
	Pod         model.PodKey
	Node, Claim string
}

// Left is a pod that upstream does not place, with its words.
type Left struct {
	Pod  model.PodKey
	Text string
}

func keyOf(p *corev1.Pod) model.PodKey { return model.PodKey{Namespace: p.Namespace, Name: p.Name} }

func byKey(a, b model.PodKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (p *Problem) read(r scheduling.Results) (Result, error) {
	var out Result
	for _, c := range r.NewNodeClaims {
		m, err := p.machine(c)
		if err != nil {
			return Result{}, err
		}
		out.Buy = append(out.Buy, m)
		out.Price += m.Price
	}
	for _, n := range r.ExistingNodes {
		for _, x := range n.Pods {
			f := Fit{Pod: keyOf(x)}
			if n.Node != nil {
				f.Node = n.Node.Name
			} else {
				f.Claim = n.NodeClaim.Name
			}
			out.Fits = append(out.Fits, f)
		}
	}
	for x, err := range r.PodErrors {
		out.Left = append(out.Left, Left{keyOf(x), err.Error()})
	}
	slices.SortFunc(out.Fits, func(a, b Fit) int { return byKey(a.Pod, b.Pod) })
	slices.SortFunc(out.Left, func(a, b Left) int { return byKey(a.Pod, b.Pod) })
	return out, nil
}

func (p *Problem) machine(c *scheduling.NodeClaim) (Machine, error) {
	m := Machine{Pool: c.NodePoolName, Price: math.MaxInt64}
	for _, x := range c.Pods {
		m.Pods = append(m.Pods, keyOf(x))
	}
	slices.SortFunc(m.Pods, byKey)
	for _, t := range c.InstanceTypeOptions {
		for _, o := range t.Offerings.Available().Compatible(c.Requirements) {
			k := model.OfferingKey{Type: t.Name, Zone: o.Requirements.Get(corev1.LabelTopologyZone).Any(), CapacityType: o.Requirements.Get(v1.CapacityTypeLabelKey).Any()}
			if price := model.Dollars(o.Price); price < m.Price || price == m.Price && k.Compare(m.Cheapest) < 0 {
				m.Price, m.Cheapest = price, k
			}
		}
	}
	if m.Price == math.MaxInt64 {
		return Machine{}, fmt.Errorf("a machine for pool %s can be bought as nothing", c.NodePoolName)
	}
	m.Claim = model.Claim{Pool: c.NodePoolName, Labels: map[string]string{}}
	for k, v := range c.Labels {
		m.Claim.Labels[k] = v
	}
	for _, r := range c.Requirements.NodeSelectorRequirements() {
		m.Claim.Requirements = append(m.Claim.Requirements, model.Requirement{Key: r.Key, Op: model.Operator(r.Operator), Values: r.Values})
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			m.Claim.Labels[r.Key] = r.Values[0]
		}
	}
	for _, t := range c.Spec.Taints {
		m.Claim.Taints = append(m.Claim.Taints, model.Taint{Key: t.Key, Value: t.Value, Effect: model.Effect(t.Effect)})
	}
	return m, nil
}
