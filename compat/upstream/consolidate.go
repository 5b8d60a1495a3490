package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-aks/karpenter/model"
)

// Move is one command of upstream's consolidation: nodes that leave together, and what comes instead.
type Move struct {
	Nodes []string
	Buy   []Machine // for the pods that do not fit on what is there
	Fits  []Fit
}

// Fleet is a cluster of which upstream is asked what could leave.
type Fleet struct {
	problem *Problem
	ctx     context.Context
	cluster *state.Cluster
	cloud   *seller
	planner *provisioning.Provisioner
	queue   *disruption.Queue
	clock   clock.Clock // stands still: no search of upstream's is cut short
}

// NewFleet sets cluster state up once; questions follow. Daemons, disruption budgets of pods and pools with other consolidation policies than
// WhenEmptyOrUnderutilized are not translated, and refused. Pools without budgets let all nodes go.
func NewFleet(w model.World) (*Fleet, error) {
	if len(w.Daemons)+len(w.PDBs) > 0 {
		return nil, errors.New("worlds with daemons or disruption budgets are not asked about")
	}
	p, err := Prepare(w, nil, Options{})
	if err != nil {
		return nil, err
	}
	f := &Fleet{problem: p, ctx: settings("disruption"), cloud: &seller{types: p.types}, clock: clocktesting.NewFakeClock(time.Now())}
	gvk := schema.GroupVersionKind{Version: "v1"}
	for _, np := range p.pools {
		ref := np.Spec.Template.Spec.NodeClassRef
		gvk.Group, gvk.Kind = ref.Group, ref.Kind
		if !scheme.Scheme.Recognizes(gvk) {
			scheme.Scheme.AddKnownTypeWithName(gvk, &class{})
		}
		np.Spec.Disruption = v1.Disruption{ConsolidationPolicy: v1.ConsolidationPolicyWhenEmptyOrUnderutilized,
			ConsolidateAfter: v1.MustParseNillableDuration("0s"), Budgets: []v1.Budget{{Nodes: "100%"}}}
		for _, x := range w.Pools {
			if x.Name == np.Name && len(x.Budgets) > 0 {
				if np.Spec.Disruption.Budgets, err = budgetsOf(x.Budgets); err != nil {
					return nil, fmt.Errorf("pool %s: %w", np.Name, err)
				}
			}
		}
		np.StatusConditions().SetTrue(v1.ConditionTypeNodeClassReady)
		np.StatusConditions().SetTrue(v1.ConditionTypeValidationSucceeded) // and so it is ready
		if err := p.client.Create(f.ctx, np.DeepCopy()); err != nil {
			return nil, fmt.Errorf("pool %s: %w", np.Name, err)
		}
	}
	f.cluster = state.NewCluster(f.clock, p.client, f.cloud)
	if err := p.fill(f.ctx, f.cluster); err != nil {
		return nil, err
	}
	silent := events.NewRecorder(&record.FakeRecorder{})
	f.planner = provisioning.NewProvisioner(p.client, silent, f.cloud, f.cluster, f.clock, nil, nil)
	f.queue = disruption.NewQueue(p.client, silent, f.cluster, f.clock, f.planner)
	return f, nil
}

func budgetsOf(list []model.DisruptionBudget) (out []v1.Budget, err error) {
	for _, b := range list {
		if b.Schedule != "" {
			return nil, errors.New("budgets with a schedule are not asked about")
		}
		x := v1.Budget{Nodes: b.Nodes}
		for _, r := range b.Reasons {
			x.Reasons = append(x.Reasons, v1.DisruptionReason(r))
		}
		out = append(out, x)
	}
	return out, nil
}

// Leaving tells upstream which machines, by provider id, leave by commands that are not over: they count in budgets, and their pods need a place.
func (f *Fleet) Leaving(ids ...string) { f.cluster.MarkForDeletion(ids...) }

// Awaited tells upstream which machines, by provider id, pods are expected on: they stay.
func (f *Fleet) Awaited(ids ...string) {
	for _, id := range ids {
		f.cluster.NominateNodeForPod(f.ctx, id)
	}
}

// Next is what upstream would do first: its methods are asked in its order, and its waiting before it acts is left out. ok is false when there is nothing
// that it would do.
func (f *Fleet) Next() (m Move, ok bool, err error) {
	silent := events.NewRecorder(&record.FakeRecorder{})
	c := disruption.MakeConsolidation(f.clock, f.cluster, f.problem.client, f.planner, f.cloud, silent, f.queue)
	at := disruption.WithValidator(believing{})
	for _, method := range []disruption.Method{disruption.NewEmptiness(c, at), disruption.NewMultiNodeConsolidation(c, at), disruption.NewSingleNodeConsolidation(c, at)} {
		candidates, err := f.candidates(method)
		if err != nil {
			return Move{}, false, err
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(f.ctx, f.cluster, f.clock, f.problem.client, f.cloud, silent, method.Reason())
		if err != nil {
			return Move{}, false, fmt.Errorf("budgets: %w", err)
		}
		commands, err := method.ComputeCommands(f.ctx, budgets, candidates...)
		if err != nil {
			return Move{}, false, fmt.Errorf("%s: %w", method.ConsolidationType(), err)
		}
		for _, x := range commands {
			if len(x.Candidates) > 0 {
				m, err := f.read(x)
				return m, true, err
			}
		}
	}
	return Move{}, false, nil
}

func (f *Fleet) candidates(m disruption.Method) ([]*disruption.Candidate, error) {
	out, err := disruption.GetCandidates(f.ctx, f.cluster, f.problem.client, events.NewRecorder(&record.FakeRecorder{}), f.clock, f.cloud,
		m.ShouldDisrupt, m.Class(), f.queue)
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	return out, nil
}

// Candidates lists the nodes that upstream would look at for consolidation, for WithoutOne.
func (f *Fleet) Candidates() ([]*disruption.Candidate, error) {
	c := disruption.MakeConsolidation(f.clock, f.cluster, f.problem.client, f.planner, f.cloud, events.NewRecorder(&record.FakeRecorder{}), f.queue)
	return f.candidates(disruption.NewSingleNodeConsolidation(c))
}

// WithoutOne asks upstream's simulation where the pods of a candidate would go.
func (f *Fleet) WithoutOne(c *disruption.Candidate) error {
	_, err := disruption.SimulateScheduling(f.ctx, f.problem.client, f.cluster, f.planner, f.clock, events.NewRecorder(&record.FakeRecorder{}), nil, c)
	return err
}

func (f *Fleet) read(x disruption.Command) (Move, error) {
	var m Move
	for _, c := range x.Candidates {
		m.Nodes = append(m.Nodes, c.Name())
	}
	for _, r := range x.Replacements {
		b, err := f.problem.machine(r.NodeClaim)
		if err != nil {
			return m, err
		}
		m.Buy = append(m.Buy, b)
	}
	results := x.Results
	results.NewNodeClaims = nil
	r, err := f.problem.read(results)
	m.Fits = r.Fits
	return m, err
}

// believing takes every command for valid: nothing changes while it is asked.
type believing struct{}

func (believing) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// seller is a cloud that only sells.
type seller struct {
	types map[string][]*cloudprovider.InstanceType
}

var errAskedOnly = errors.New("this cloud is only asked what it sells")

func (p *seller) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, errAskedOnly
}
func (p *seller) Delete(context.Context, *v1.NodeClaim) error        { return errAskedOnly }
func (p *seller) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, errAskedOnly }
func (p *seller) List(context.Context) ([]*v1.NodeClaim, error)      { return nil, errAskedOnly }
func (p *seller) RepairPolicies() []cloudprovider.RepairPolicy       { return nil }
func (p *seller) Name() string                                       { return "stand-in" }
func (p *seller) GetSupportedNodeClasses() []status.Object           { return []status.Object{&class{}} }
func (p *seller) IsDrifted(context.Context, *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

func (p *seller) GetInstanceTypes(_ context.Context, np *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types[np.Name], nil
}

// class stands for the one kind of node class that there is: upstream asks which kinds a provider knows.
type class struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (c *class) DeepCopyObject() runtime.Object {
	return &class{TypeMeta: c.TypeMeta, ObjectMeta: *c.ObjectMeta.DeepCopy()}
}
func (c *class) GetConditions() []status.Condition { return nil }
func (c *class) SetConditions([]status.Condition)  {}
func (c *class) StatusConditions(...status.ForOption) status.ConditionSet {
	return status.ConditionSet{}
}
