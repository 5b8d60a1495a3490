package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	viewerclient "github.com/awslabs/eks-node-viewer/pkg/client"
	viewer "github.com/awslabs/eks-node-viewer/pkg/model"
	tea "github.com/charmbracelet/bubbletea"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const (
	// priceLabel is where people without AWS write what a node costs, in the template of their NodePool.
	priceLabel = "eks-node-viewer/instance-price"
	// settles is how long the viewer may take to show what the API server says.
	settles = time.Minute
)

// noPrices is what the viewer knows of prices outside AWS.
type noPrices struct{}

func (noPrices) NodePrice(*viewer.Node) (float64, bool) { return 0, false }
func (noPrices) OnUpdate(func())                        {}

// A nodeViewer is eks-node-viewer, whose own code watches the cluster and draws.
type nodeViewer struct {
	l     *lab
	model *viewer.UIModel
}

// viewed starts eks-node-viewer as its main does. It must come before the pods it counts: of those that it hears of before it
// knows their node it forgets where they are.
func (l *lab) viewed() *nodeViewer {
	l.t.Helper()
	kube, err := viewerclient.NewKubernetes(l.kubeconfig, "")
	if err != nil {
		l.t.Fatal(err)
	}
	claims, err := viewerclient.NewNodeClaims(l.kubeconfig, "")
	if err != nil {
		l.t.Fatal(err)
	}
	style, err := viewer.ParseStyle("#04B575,#FFFF00,#FF0000")
	if err != nil {
		l.t.Fatal(err)
	}
	m := viewer.NewUIModel([]string{"karpenter.sh/nodepool"}, "creation=dsc", style)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 100})
	viewerclient.NewController(kube, claims, m, labels.Everything(), noPrices{}).Start(l.t.Context())
	return &nodeViewer{l, m}
}

// shows waits until the screen has a line for each node of the cluster and no other, and on it what the node is. All are ours.
func (s *nodeViewer) shows(ours int) {
	s.l.t.Helper()
	var got, want []string
	defer func() {
		if s.l.t.Failed() {
			s.l.t.Logf("eks-node-viewer shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}()
	s.l.until(fmt.Sprintf("eks-node-viewer shows %d nodes of ours", ours), settles, func() bool {
		got, want = s.lines(), s.l.asViewed()
		return slices.Equal(got, want) && len(want) == ours
	})
}

// lines are the nodes on the screen, sorted by name, without the bar of what is used.
func (s *nodeViewer) lines() (out []string) {
	for line := range strings.Lines(s.model.View()) {
		words := strings.Fields(line)
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "(") })
		if i > 1 && words[1] == "cpu" { // about a node
			out = append(out, strings.Join(append(words[:1:1], words[i:]...), " "))
		}
	}
	slices.Sort(out)
	return out
}

// asViewed are the lines that the nodes of the cluster should have.
func (l *lab) asViewed() (out []string) {
	l.t.Helper()
	held := map[string]int{}
	for _, p := range list(l, &corev1.PodList{}).Items {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			held[p.Spec.NodeName]++
		}
	}
	kinds := map[string]string{karpv1.CapacityTypeOnDemand: "On-Demand", karpv1.CapacityTypeSpot: "Spot"}
	for _, n := range l.nodes() {
		out = append(out, fmt.Sprintf("%s (%d pods) %s/$0.2500 %s - Ready %s", n.Name, held[n.Name],
			n.Labels[corev1.LabelInstanceTypeStable], kinds[n.Labels[karpv1.CapacityTypeLabelKey]], n.Labels[karpv1.NodePoolLabelKey]))
	}
	slices.Sort(out)
	return out
}

// drawnBefore: as long as a machine has no node, its claim says all that the viewer draws.
func (s *nodeViewer) drawnBefore() {
	s.l.t.Helper()
	for _, c := range s.l.claims() {
		n := viewer.NewNodeFromNodeClaim(&c)
		cpu := n.Allocatable()[corev1.ResourceCPU]
		if !n.IsOnDemand() || cpu.IsZero() || n.InstanceType() == "" || n.Zone() == "" || n.Labels()[priceLabel] != "0.25" {
			s.l.t.Errorf("of claim %s the viewer knows: on-demand %v, %s cores, type %q, zone %q, labels %v",
				c.Name, n.IsOnDemand(), cpu.String(), n.InstanceType(), n.Zone(), n.Labels())
		}
	}
}
