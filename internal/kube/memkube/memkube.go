// Package memkube answers: what would the cluster do, in memory?
//
// It is the twin of the cluster door: a kube.Store over maps with the API server's manners - UIDs, finalizers, owners,
// disruption budgets, whole seconds - plus levers that play the rest of the cluster and faults that a test can set. It starts
// no goroutine and reads no clock but time.Now, so whole stories run on virtual time in testing/synctest. It runs no
// kubelet and no scheduler: pods are bound and end when a lever says so.
package memkube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Store is the cluster. Make one with New. Objects in it are replaced, never changed, so followers may keep them.
type Store struct {
	mu sync.Mutex // guards everything below; never held while a sink is called

	pools       map[string]model.Pool
	classes     map[string]model.Class
	claims      map[string]model.Claim
	nodes       map[string]model.Node
	pods        map[string]model.Pod
	daemons     map[string]model.Daemon
	budgets     map[string]model.PDB
	attachments map[string]model.Attachment
	namespaces  map[string]model.Namespace

	volumeClaims   map[string]model.VolumeClaim
	volumes        map[string]model.PersistentVolume
	storageClasses map[string]model.StorageClass
	csiNodes       map[string]model.CSINode

	extras

	nodeOwner map[string]string  // node name → UID of the claim that owns it
	tokens    map[string][]token // by claim UID, in the order in which they were made
	made      map[string]token   // what the process that uses this store remembers; Forget empties it
	cluster   model.Cluster
	window    model.MaintenanceWindow
	said      []Said
	lately    map[line]time.Time // when an event was said last

	followers map[*follower]bool
	lastUID   int
	version   uint64 // how many changes there were

	faults map[Op][]fault
	calls  map[Op]int // how often each was called
	// pruning are the fields that the CRDs do not know; see Prune.
	pruning map[string]bool
	down    bool
	held    bool
}

var _ kube.Store = (*Store)(nil)

type token struct {
	id, secret string
	until      time.Time
}

// New returns an empty cluster with an endpoint, a CA, a version and a DNS service.
func New() *Store {
	return &Store{
		pools: map[string]model.Pool{}, classes: map[string]model.Class{}, claims: map[string]model.Claim{},
		nodes: map[string]model.Node{}, pods: map[string]model.Pod{}, daemons: map[string]model.Daemon{},
		budgets: map[string]model.PDB{}, attachments: map[string]model.Attachment{}, namespaces: map[string]model.Namespace{},
		volumeClaims: map[string]model.VolumeClaim{}, volumes: map[string]model.PersistentVolume{},
		storageClasses: map[string]model.StorageClass{}, csiNodes: map[string]model.CSINode{},
		extras:    newExtras(),
		nodeOwner: map[string]string{}, tokens: map[string][]token{}, made: map[string]token{},
		lately:    map[line]time.Time{},
		followers: map[*follower]bool{}, faults: map[Op][]fault{}, calls: map[Op]int{},
		cluster: model.Cluster{
			Endpoint: "https://cluster.test:443",
			CA:       []byte("-----BEGIN CERTIFICATE-----\n"),
			Version:  "1.37.1",
			DNS:      "10.0.0.10",
		},
	}
}

// second is the present as the API server writes it: whole seconds, UTC.
func second() time.Time { return time.Now().UTC().Truncate(time.Second) }

// uid makes the next UID. The same calls in the same order give the same UIDs.
func (s *Store) uid() string {
	s.lastUID++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", s.lastUID)
}

// CreateClaim implements kube.Store.
func (s *Store) CreateClaim(ctx context.Context, c model.Claim) (model.Claim, error) {
	var out model.Claim
	err := s.do(ctx, OpCreateClaim, func() error {
		if c.Name == "" || c.Class.Name == "" || c.Class.Kind == "" || c.Class.Group == "" {
			return kube.Errorf(kube.Invalid, "create claim %q: it needs a name and a class reference", c.Name)
		}
		if _, taken := s.claims[c.Name]; taken {
			return kube.Errorf(kube.Exists, "create claim %s: the name is taken", c.Name)
		}
		c = bare(c)
		c.UID, c.Generation, c.Created = s.uid(), 1, second()
		keep(s, s.claims, c)
		out = c
		return nil
	})
	return out, err
}

// bare is what the API server keeps of a claim that is created: no status, and the finalizer.
func bare(c model.Claim) model.Claim {
	c.Finalizers = add(c.Finalizers, model.Finalizer)
	c.DeletedAt, c.LastPodEvent, c.Conditions = time.Time{}, time.Time{}, nil
	c.ProviderID, c.NodeName, c.ImageID = "", "", ""
	c.Capacity, c.Allocatable = model.Resources{}, model.Resources{}
	return c
}

// PatchClaim implements kube.Store.
func (s *Store) PatchClaim(ctx context.Context, name string, p kube.ClaimPatch) error {
	return s.do(ctx, OpPatchClaim, func() error {
		c, ok := s.claims[name]
		if !ok || p.UID != "" && p.UID != c.UID {
			return kube.Errorf(kube.NotFound, "patch claim %s: no such claim", name)
		}
		fin, err := finalizers(c.Finalizers, model.Finalizer, ask{p.AddFinalizer, p.DropFinalizer, c.Deleting()})
		if err != nil {
			return fmt.Errorf("patch claim %s: %w", name, err)
		}
		c.Finalizers = fin
		c.Conditions = conditions(c.Conditions, p.Conditions, c.Generation)
		c.Conditions = slices.DeleteFunc(c.Conditions, func(x model.Condition) bool { return slices.Contains(p.DropConditions, x.Type) })
		c.Labels, c.Annotations = merged(c.Labels, p.Labels), noted(c.Annotations, p.Annotations)
		c.ProviderID = or(p.ProviderID, c.ProviderID)
		c.NodeName = or(p.NodeName, c.NodeName)
		if !s.pruning["status.imageID"] {
			c.ImageID = or(p.ImageID, c.ImageID)
		}
		if p.Capacity != nil {
			c.Capacity = *p.Capacity
		}
		if p.Allocatable != nil {
			c.Allocatable = *p.Allocatable
		}
		if !p.LastPodEvent.IsZero() {
			c.LastPodEvent = p.LastPodEvent.UTC().Truncate(time.Second)
		}
		s.storeClaim(c)
		return s.prunedIf(p.ImageID != "", "claim "+name, "status.imageID")
	})
}

// storeClaim keeps the claim, or lets it go when it is deleting and nothing holds it. What it owns goes with it.
func (s *Store) storeClaim(c model.Claim) {
	if !c.Deleting() || len(c.Finalizers) > 0 {
		keep(s, s.claims, c)
		return
	}
	delete(s.claims, c.Name)
	s.tell(model.Change{Object: model.Claim{Name: c.Name}, Gone: true})
	var owned []string
	for node, owner := range s.nodeOwner {
		if _, there := s.nodes[node]; there && owner == c.UID {
			owned = append(owned, node)
		}
	}
	slices.Sort(owned)
	for _, node := range owned {
		s.deleteNode(s.nodes[node])
	}
}

// DeleteClaim implements kube.Store.
func (s *Store) DeleteClaim(ctx context.Context, name string) error {
	return s.do(ctx, OpDeleteClaim, func() error {
		c, ok := s.claims[name]
		if !ok {
			return kube.Errorf(kube.NotFound, "delete claim %s: no such claim", name)
		}
		s.deleteClaim(c)
		return nil
	})
}

func (s *Store) deleteClaim(c model.Claim) {
	if c.Deleting() {
		return
	}
	c.DeletedAt = second()
	c.Generation++
	s.storeClaim(c)
}

// PatchNode implements kube.Store.
func (s *Store) PatchNode(ctx context.Context, name string, p kube.NodePatch) error {
	return s.do(ctx, OpPatchNode, func() error {
		n, ok := s.nodes[name]
		if !ok || p.UID != "" && p.UID != n.UID {
			return kube.Errorf(kube.NotFound, "patch node %s: no such node", name)
		}
		fin, err := finalizers(n.Finalizers, model.Finalizer, ask{p.AddFinalizer, p.DropFinalizer, n.Deleting()})
		if err != nil {
			return fmt.Errorf("patch node %s: %w", name, err)
		}
		n.Finalizers = fin
		n.Labels, n.Annotations = merged(n.Labels, p.Labels), merged(n.Annotations, p.Annotations)
		n.Taints = taints(n.Taints, p.AddTaints, p.DropTaints)
		if p.OwnerUID != "" {
			s.nodeOwner[name] = p.OwnerUID
		}
		s.storeNode(n)
		return nil
	})
}

func (s *Store) storeNode(n model.Node) {
	if !n.Deleting() || len(n.Finalizers) > 0 {
		keep(s, s.nodes, n)
		return
	}
	delete(s.nodes, n.Name)
	delete(s.nodeOwner, n.Name)
	s.tell(model.Change{Object: model.Node{Name: n.Name}, Gone: true})
}

// DeleteNode implements kube.Store.
func (s *Store) DeleteNode(ctx context.Context, name string) error {
	return s.do(ctx, OpDeleteNode, func() error {
		n, ok := s.nodes[name]
		if !ok {
			return kube.Errorf(kube.NotFound, "delete node %s: no such node", name)
		}
		s.deleteNode(n)
		return nil
	})
}

func (s *Store) deleteNode(n model.Node) {
	if n.Deleting() {
		return
	}
	n.DeletedAt = second()
	s.storeNode(n)
}

// PatchPool implements kube.Store.
func (s *Store) PatchPool(ctx context.Context, name string, p kube.PoolPatch) error {
	return s.do(ctx, OpPatchPool, func() error {
		pool, ok := s.pools[name]
		if !ok {
			return kube.Errorf(kube.NotFound, "patch pool %s: no such pool", name)
		}
		pool.Conditions = conditions(pool.Conditions, p.Conditions, pool.Generation)
		pool.Annotations = merged(pool.Annotations, p.Annotations)
		if p.ClassGeneration != 0 {
			pool.ClassGeneration = p.ClassGeneration
		}
		if p.Resources != nil {
			pool.StatusResources = *p.Resources
		}
		if p.Nodes != nil && !s.pruning["status.nodes"] {
			pool.StatusNodes = *p.Nodes
		}
		keep(s, s.pools, pool)
		return s.prunedIf(p.Nodes != nil, "pool "+name, "status.nodes")
	})
}

// PatchClass implements kube.Store.
func (s *Store) PatchClass(ctx context.Context, ref model.ClassRef, p kube.ClassPatch) error {
	return s.do(ctx, OpPatchClass, func() error {
		key := model.Class{Ref: ref}.ObjectKey()
		c, ok := s.classes[key]
		if !ok {
			return kube.Errorf(kube.NotFound, "patch class %s: no such class", ref)
		}
		fin, err := finalizers(c.Finalizers, model.ClassFinalizer, ask{p.AddFinalizer, p.DropFinalizer, c.Deleting})
		if err != nil {
			return fmt.Errorf("patch class %s: %w", ref, err)
		}
		c.Finalizers = fin
		c.Conditions = conditions(c.Conditions, p.Conditions, c.Generation)
		c.Annotations = merged(c.Annotations, p.Annotations)
		if p.Images != nil {
			c.Images = p.Images
		}
		c.KubernetesVersion = or(p.KubernetesVersion, c.KubernetesVersion)
		s.storeClass(c)
		return nil
	})
}

func (s *Store) storeClass(c model.Class) {
	if !c.Deleting || len(c.Finalizers) > 0 {
		keep(s, s.classes, c)
		return
	}
	delete(s.classes, c.ObjectKey())
	s.tell(model.Change{Object: model.Class{Ref: c.Ref}, Gone: true})
}

// Token implements kube.Store. The token is a function of the claim's UID and of how many tokens the claim has already.
func (s *Store) Token(ctx context.Context, r kube.TokenRequest) (string, error) {
	var out string
	err := s.do(ctx, OpToken, func() error {
		if r.ClaimUID == "" {
			return kube.Errorf(kube.Invalid, "token for claim %q: no UID", r.Claim)
		}
		now := time.Now()
		s.expireTokens(now)
		if last := now.Add(kube.TokenLife); r.Until.After(last) {
			r.Until = last
		}
		t, ok := s.made[r.ClaimUID]
		if !ok || t.until.Before(r.Until) {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", r.ClaimUID, len(s.tokens[r.ClaimUID])))
			text := hex.EncodeToString(sum[:])
			t = token{id: text[:6], secret: text[6:22], until: r.Until}
			s.tokens[r.ClaimUID] = append(s.tokens[r.ClaimUID], t)
			s.made[r.ClaimUID] = t
		}
		out = t.id + "." + t.secret
		return nil
	})
	return out, err
}

// expireTokens does what the cluster's token cleaner does.
func (s *Store) expireTokens(now time.Time) {
	for uid, all := range s.tokens {
		all = slices.DeleteFunc(all, func(t token) bool { return !t.until.After(now) })
		if s.tokens[uid] = all; len(all) == 0 {
			delete(s.tokens, uid)
		}
	}
}

// DropToken implements kube.Store.
func (s *Store) DropToken(ctx context.Context, claimUID string) error {
	return s.do(ctx, OpDropToken, func() error {
		delete(s.tokens, claimUID)
		delete(s.made, claimUID)
		return nil
	})
}

// Tokens lists what machines may join with, by claim UID.
func (s *Store) Tokens() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireTokens(time.Now())
	out := map[string][]string{}
	for uid, all := range s.tokens {
		for _, t := range all {
			out[uid] = append(out[uid], t.id+"."+t.secret)
		}
	}
	return out
}

// Forget makes the store that of a new process, which remembers nothing.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.made)
}

// Cluster implements kube.Store.
func (s *Store) Cluster(ctx context.Context) (model.Cluster, error) {
	var out model.Cluster
	err := s.do(ctx, OpCluster, func() error { out = s.cluster; return nil })
	return out, err
}

// MaintenanceWindow implements kube.Store.
func (s *Store) MaintenanceWindow(ctx context.Context) (model.MaintenanceWindow, error) {
	var out model.MaintenanceWindow
	err := s.do(ctx, OpWindow, func() error { out = s.window; return nil })
	return out, err
}
