// Package apikube answers: how is the cluster asked over a real API server?
//
// It is the kube.Store over client-go: it decodes the API's objects into our nouns and drops them, turns patches into
// requests that touch only what they name, and errors into codes. It decides nothing and keeps no objects; it remembers the
// bootstrap tokens that it made, because it may not read them. Beside running Follows it has one goroutine, which publishes
// events until Close.
package apikube

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/kube"
)

// Limits of the store.
const (
	// CallTimeout bounds one call, its retries included. Watches are not bound.
	CallTimeout = 30 * time.Second
	// Attempts bounds how often a patch is made again because someone else changed the object meanwhile.
	Attempts = 5
	// DefaultQPS and DefaultBurst are the rate of requests to the API server.
	DefaultQPS   = 200
	DefaultBurst = 300
)

// Options of New. The zero value works inside a cluster whose API server new machines reach under the same address.
type Options struct {
	// SystemNamespace holds bootstrap tokens and the DNS service; "" means kube-system, the only place where the API
	// server looks for tokens.
	SystemNamespace string
	// Namespace is where the controller runs, and AKS announces maintenance windows; "" means kube-system.
	Namespace string
	// Endpoint is what new machines join, https://host[:port]; "" means the address this process uses.
	Endpoint string
	// CA (PEM) is what new machines trust; nil means what this process trusts.
	CA []byte
	// TokenGroups are groups beside system:bootstrappers that a bootstrap token gives; each must start with
	// "system:bootstrappers:".
	TokenGroups []string
	// QPS and Burst bound the rate of requests; 0 means the defaults.
	QPS   float32
	Burst int
	// Extras are the kinds that only some users have.
	Extras Extras
	// Spectator: only Follow is called, by somebody who looks at a cluster that need not be ours. Every kind is optional then: one that the
	// API server does not serve, or that the person may not read, is told as model.Unserved.
	Spectator bool
	// Random is where token secrets come from; nil means crypto/rand.
	Random io.Reader
}

// Store is the cluster over its API server. Make one with New, and Close it.
type Store struct {
	cfg       *rest.Config
	opt       Options
	client    client.WithWatch
	customs   map[schema.GroupVersionKind]custom
	discovery discovery.DiscoveryInterface
	events    *announcer
	tokens    tokenMemory
}

var _ kube.Store = (*Store)(nil)

// New returns a store. It does not talk to the API server yet; it fails when cfg is no use.
func New(cfg *rest.Config, opt Options) (*Store, error) {
	if cfg == nil {
		return nil, errors.New("apikube: no connection to a cluster is configured")
	}
	if opt.SystemNamespace == "" {
		opt.SystemNamespace = metav1.NamespaceSystem
	}
	if opt.Namespace == "" {
		opt.Namespace = metav1.NamespaceSystem
	}
	if opt.Random == nil {
		opt.Random = rand.Reader
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = DefaultQPS, DefaultBurst
	if opt.QPS > 0 {
		cfg.QPS = opt.QPS
	}
	if opt.Burst > 0 {
		cfg.Burst = opt.Burst
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	transport, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, HTTPClient: transport})
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	own, err := customs(cfg, scheme, transport)
	if err != nil {
		return nil, fmt.Errorf("apikube: %w", err)
	}
	s := &Store{cfg: cfg, opt: opt, client: c, customs: own, discovery: d}
	s.events = announceWith(func(ctx context.Context, e *corev1.Event) error { return c.Create(ctx, e) })
	return s, nil
}

// Close stops publishing events and waits for the one under way. Running Follows end with their own context.
func (s *Store) Close() { s.events.close() }

// Scheme returns the API types that the store reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	karpenter := schema.GroupVersion{Group: apis.Group, Version: "v1"}
	s.AddKnownTypes(karpenter, &karpv1.NodePool{}, &karpv1.NodePoolList{}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	metav1.AddToGroupVersion(s, karpenter)
	addExtras(s)
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme, v1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func owner(kind, name, uid string) metav1.OwnerReference {
	block := true
	return metav1.OwnerReference{
		APIVersion: apis.Group + "/v1", Kind: kind, Name: name, UID: types.UID(uid), BlockOwnerDeletion: &block,
	}
}
