package memkube

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// RemovePod implements kube.Store. A pod bound to a node stays, terminating, until a lever ends it; others go at once.
func (s *Store) RemovePod(ctx context.Context, r kube.Removal) error {
	return s.do(ctx, OpRemovePod, func() error {
		p, ok := s.pods[r.Pod.String()]
		if !ok || r.UID != "" && r.UID != p.UID {
			return kube.Errorf(kube.NotFound, "remove pod %s: no such pod", r.Pod)
		}
		if !r.Force {
			if err := s.spend(p); err != nil {
				return err
			}
		}
		s.terminate(p, r.GraceSeconds)
		return nil
	})
}

// Nominate implements kube.Store.
func (s *Store) Nominate(ctx context.Context, n kube.Nomination) error {
	return s.do(ctx, OpNominate, func() error {
		p, ok := s.pods[n.Pod.String()]
		switch {
		case !ok || n.UID != "" && n.UID != p.UID:
			return kube.Errorf(kube.NotFound, "nominate a node for pod %s: no such pod", n.Pod)
		case p.Node != "" && n.Node != "":
			return kube.Errorf(kube.Invalid, "nominate a node for pod %s: it is on node %s", n.Pod, p.Node)
		}
		p.Nominated = n.Node
		keep(s, s.pods, p)
		return nil
	})
}

// spend asks the disruption budget that covers the pod, as the eviction API does: pods that have ended, never ran or are
// leaving already are free; two budgets over one pod are one too many; unready pods may be exempt.
func (s *Store) spend(p model.Pod) error {
	if p.Terminal || p.Node == "" || p.Deleting() {
		return nil
	}
	var over []model.PDB
	for _, key := range sorted(s.budgets) {
		b := s.budgets[key]
		if b.Namespace == p.Namespace && b.HasSel && selects(b.Selector, p.Labels) {
			over = append(over, b)
		}
	}
	if len(over) == 0 {
		return nil
	}
	if len(over) > 1 {
		return kube.Errorf(kube.Blocked, "evict %s: more than one disruption budget covers it", p.Key())
	}
	b := over[0]
	if b.AlwaysAllowUnready && !p.PodReady {
		return nil
	}
	if b.Allowed <= 0 {
		return kube.Errorf(kube.Blocked, "evict %s: disruption budget %s allows none", p.Key(), b.Name)
	}
	b.Allowed--
	keep(s, s.budgets, b)
	return nil
}

// terminate starts a pod's end. A second, shorter grace shortens the first; a longer one changes nothing.
func (s *Store) terminate(p model.Pod, grace *int64) {
	seconds := p.GraceSeconds
	if grace != nil {
		seconds = *grace
	}
	if p.Node == "" || p.Terminal || seconds <= 0 {
		s.dropPod(p)
		return
	}
	end := second().Add(time.Duration(seconds) * time.Second)
	if p.Deleting() && !end.Before(p.DeletedAt) {
		return // it ends sooner as it is
	}
	p.GraceSeconds, p.DeletedAt = seconds, end
	keep(s, s.pods, p)
}

func (s *Store) dropPod(p model.Pod) {
	delete(s.pods, p.ObjectKey())
	s.tell(model.Change{Object: model.Pod{Namespace: p.Namespace, Name: p.Name}, Gone: true})
}

// EndPods does what kubelets and the pod collector do: it removes terminating pods whose grace has passed, and pods
// bound to nodes that do not exist.
func (s *Store) EndPods() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []string
	for key, p := range s.pods {
		_, there := s.nodes[p.Node]
		if p.Deleting() && !time.Now().Before(p.DeletedAt) || p.Node != "" && !there {
			over = append(over, key)
		}
	}
	slices.Sort(over)
	for _, key := range over {
		s.dropPod(s.pods[key])
	}
}

// selects evaluates a label selector: In, NotIn, Exists, DoesNotExist.
func selects(selector []model.Requirement, labels map[string]string) bool {
	for _, r := range selector {
		v, has := labels[r.Key]
		in := has && slices.Contains(r.Values, v)
		switch {
		case r.Op == model.In && in, r.Op == model.NotIn && !in, r.Op == model.Exists && has, r.Op == model.DoesNotExist && !has:
		default:
			return false
		}
	}
	return true
}
