package memkube

import (
	"context"
	"fmt"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// Op names a method of the store, for faults.
type Op string

// The methods that can fail.
const (
	OpFollow      Op = "follow"
	OpCreateClaim Op = "create-claim"
	OpPatchClaim  Op = "patch-claim"
	OpDeleteClaim Op = "delete-claim"
	OpPatchNode   Op = "patch-node"
	OpDeleteNode  Op = "delete-node"
	OpPatchPool   Op = "patch-pool"
	OpPatchClass  Op = "patch-class"
	OpPatchExtra  Op = "patch-extra" // overlays and buffers
	OpRemovePod   Op = "remove-pod"
	OpNominate    Op = "nominate"
	OpToken       Op = "token"
	OpDropToken   Op = "drop-token"
	OpCluster     Op = "cluster"
	OpWindow      Op = "maintenance window"
)

// fault is what happens to one coming call.
type fault struct {
	code kube.Code
	lost bool // the call is done, and only its answer is lost
}

// do runs one call: the cluster must be up, ctx alive and no fault due.
func (s *Store) do(ctx context.Context, op Op, call func() error) error {
	if err := ctx.Err(); err != nil {
		return &kube.Error{Code: kube.Unavailable, Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	if s.down {
		return kube.Errorf(kube.Unavailable, "%s: the API server does not answer", op)
	}
	if due := s.faults[op]; len(due) > 0 {
		s.faults[op] = due[1:]
		if due[0].lost {
			if err := call(); err != nil {
				return err
			}
		}
		return kube.Errorf(due[0].code, "%s: fault set by the test", op)
	}
	return call()
}

// Fail makes the next n calls of op fail with code, without effect. Faults queue up.
func (s *Store) Fail(op Op, n int, code kube.Code) { s.fault(op, n, fault{code: code}) }

// LoseAnswer makes the next n calls of op take effect and then fail with Unavailable: the answer was lost on the way.
func (s *Store) LoseAnswer(op Op, n int) { s.fault(op, n, fault{code: kube.Unavailable, lost: true}) }

func (s *Store) fault(op Op, n int, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults[op] = append(s.faults[op], f)
	}
}

// NoFaults forgets the faults that are still to come.
func (s *Store) NoFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// CutWatch ends every running Follow with Unavailable; what it had not told is lost.
func (s *Store) CutWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutAll()
}

func (s *Store) cutAll() {
	for f := range s.followers {
		f.cut = kube.Errorf(kube.Unavailable, "follow: the connection was cut")
		f.nudge()
	}
}

// SetDown starts (true) or ends (false) a window in which every call fails with Unavailable and no Follow runs.
func (s *Store) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	if down {
		s.cutAll()
	}
}

// HoldWatch keeps running Follows from telling anything (true) until it is let go (false): the mirror falls behind.
func (s *Store) HoldWatch(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	if !held {
		for f := range s.followers {
			f.nudge()
		}
	}
}

// Prune makes the CRDs older than we are: from now on they do not know these fields, status.nodes of pools and status.imageID of claims,
// and drop them from what is written. Without fields, the CRDs know everything again.
func (s *Store) Prune(fields ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruning = map[string]bool{}
	for _, f := range fields {
		s.pruning[f] = true
	}
}

// prunedIf is the answer to a write that named the field, if it was.
func (s *Store) prunedIf(named bool, what, field string) error {
	if !named || !s.pruning[field] {
		return nil
	}
	return &kube.Error{Code: kube.Pruned, More: []string{field}, Err: fmt.Errorf("patch %s: the API server did not keep %s", what, field)}
}

// Calls is how often a method was called.
func (s *Store) Calls(op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}
