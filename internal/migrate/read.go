package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Answer is what Azure's command line or its API printed, as JSON: a managed cluster, agent pools,
// or lists of them; or the ConfigMap with the priorities of the expander, as kubectl prints it.
type Answer struct {
	Name string // as shown in problems
	Data any
}

// Cluster is what is known of a cluster.
type Cluster struct {
	// Name and Location are those of the managed cluster; Location may be that of the nodes. ""
	// when nobody says.
	Name, Location string
	// FromNodes says that the nodes told what agent pools there are, which do not show all of it.
	FromNodes bool

	version    string
	cilium     bool
	pools      []*settings
	profile    *settings
	priorities []priority
}

const (
	labelAgentPool = "kubernetes.azure.com/agentpool"
	labelBarePool  = "agentpool"
	labelDataplane = "kubernetes.azure.com/ebpf-dataplane"
	cilium         = "cilium"
)

// Read takes the agent pools from the answers, or from the nodes when no answer has any. An agent
// pool in a later answer takes the place of its namesake. The error lists all that cannot be used.
func Read(answers []Answer, nodes []model.Node) (Cluster, error) {
	c := Cluster{}
	var errs []error
	for _, a := range answers {
		for _, r := range resources(a.Data) {
			if err := c.take(r); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", a.Name, err))
			}
		}
	}
	if len(errs) > 0 {
		return Cluster{}, errors.Join(errs...)
	}
	for _, n := range nodes {
		if c.Location == "" {
			c.Location = n.Labels[model.LabelRegion]
		}
		c.cilium = c.cilium || n.Labels[labelDataplane] == cilium
	}
	if len(c.pools) == 0 {
		c.pools, c.FromNodes = fromNodes(nodes), true
	}
	if len(c.pools) == 0 {
		return Cluster{}, errors.New("there is no agent pool: give what az prints with -f, or a " +
			"cluster or a dump whose nodes say their agent pool (label " + labelAgentPool + ")")
	}
	slices.SortStableFunc(c.pools, func(a, b *settings) int {
		return strings.Compare(a.text("name"), b.text("name"))
	})
	return c, nil
}

// resources are those of a list, as az, Azure's API or kubectl prints it, or the one resource.
func resources(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	o, _ := v.(map[string]any)
	for _, key := range []string{"value", "items"} {
		if list, ok := o[key].([]any); ok {
			return list
		}
	}
	return []any{v}
}

// take adds what one resource says.
func (c *Cluster) take(r any) error {
	s := newSettings(r)
	switch {
	case s.has("agentPoolProfiles"):
		return c.managedCluster(s)
	case s.is("kind", "ConfigMap"):
		list, err := priorities(s.sub("data").text("priorities"))
		c.priorities = append(c.priorities, list...)
		return err
	case s.has("vmSize") || s.has("virtualMachinesProfile"):
		return c.agentPool(s)
	}
	return errors.New("this is no managed cluster, no agent pool and no ConfigMap " +
		"cluster-autoscaler-priority-expander: print them with az aks show, az aks nodepool list " +
		"or kubectl get configmap, and -o json")
}

func (c *Cluster) managedCluster(s *settings) error {
	if name := s.text("name"); c.profile != nil && c.Name != name {
		return fmt.Errorf("there are two clusters, %s and %s: give one", c.Name, name)
	}
	c.Name, c.Location = s.text("name"), s.text("location")
	c.version = s.text("currentKubernetesVersion")
	if c.version == "" {
		c.version = s.text("kubernetesVersion")
	}
	c.cilium = s.sub("networkProfile").is("networkDataplane", cilium)
	c.profile = s.sub("autoScalerProfile")
	pools, _ := s.get("agentPoolProfiles").([]any)
	for _, p := range pools {
		if err := c.agentPool(newSettings(p)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) agentPool(s *settings) error {
	name := s.text("name")
	if name == "" {
		return errors.New("an agent pool has no name")
	}
	c.pools = slices.DeleteFunc(c.pools, func(have *settings) bool { return have.is("name", name) })
	c.pools = append(c.pools, s)
	return nil
}

// Uses returns the sizes of all agent pools, sorted.
func (c Cluster) Uses() []string {
	var out []string
	for _, p := range c.pools {
		for _, s := range sizesOf(p) {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// PoolOf is the agent pool of a node, "" for a node that Karpenter bought or that belongs to none.
func PoolOf(n model.Node) string {
	if n.Managed() {
		return ""
	}
	if p := n.Labels[labelAgentPool]; p != "" {
		return p
	}
	return n.Labels[labelBarePool]
}
