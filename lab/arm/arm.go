// Package arm answers: what would Azure say?
//
// A Cloud is an http.Handler that speaks Azure Resource Manager's wire protocol (and the few other services that a node
// autoscaler calls: the token endpoint of Microsoft Entra ID, the retail price list) well enough that the unmodified
// Azure SDK works against it. It keeps virtual machines, their network interfaces, disks and extensions in memory, lets
// them take time, and tells a lab.Host when a machine is switched on or off. What goes wrong, and when, is data: Knobs.
//
// It serves one subscription with one cluster in one region. It does not run machines (lab/kubelet does), does not
// persist anything, and shares no code with the driver it is there to test. Each imitated behaviour names its public
// source: a page of learn.microsoft.com by title, or a REST operation by name.
package arm

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/skus"
)

// Config says which piece of Azure exists. Empty fields get the defaults of the lab, as New says.
type Config struct {
	Subscription, Tenant string
	// ClientID is the one application that may get tokens; "" lets every client in.
	ClientID string
	// CheckAssertion, when set, judges the federated token that a client presents; an error refuses it.
	CheckAssertion func(assertion string) error

	// Person is the application of a person who may read everything, with AdminToken for its secret; "" = there is none.
	Person string
	// Federations are the federated credentials that the controller's identity shows. CheckAssertion judges, these are for people to see.
	Federations []Federation

	ClusterName          string
	ClusterHost          string // DNS name of the API server; default as AKS makes them
	SSHPublicKey         string // that the cluster's own machines have; "" = none
	ClusterResourceGroup string
	NodeResourceGroup    string // default MC_<cluster group>_<cluster>_<location>
	Location             string // default eastus
	KubernetesVersion    string // without v; default 1.37.1
	// SubnetID and VNetGUID describe the cluster's own subnet; default: an AKS-managed network in the node group.
	SubnetID, VNetGUID string
	// SubnetPrefix is the address range of that subnet; default 10.224.0.0/16.
	SubnetPrefix string
	// Subnets are further subnets: ids, and their address ranges. Those in the network of SubnetID show up in it.
	Subnets map[string]string

	// Ways say how machines get out and the API server is found; the zero value is what AKS does unless told otherwise.
	Ways Ways

	// Identities are user-assigned identities that exist; default: the one that AKS makes for kubelets,
	// <cluster>-agentpool in the node group.
	Identities []string
	// KubeletClientID is the client id of the first of these; "" = made up.
	KubeletClientID string
	// DiskEncryptionSets and CapacityReservationGroups are ids of those that exist; default none.
	DiskEncryptionSets, CapacityReservationGroups []string
	// Rights are what the caller may do; nil means the roles that the project ships, assigned as they say.
	Rights []Assignment

	// Host runs the machines; nil means that machines are records only. It is called with the cloud's lock held, so it
	// must return at once and must not call back.
	Host lab.Host
	// BaseURL is where clients reach this handler, without a slash at the end; nil means https:// and the request's Host.
	BaseURL func() string
	// AdminToken guards /lab/…; "" closes these paths.
	AdminToken string
	Knobs      Knobs

	// Now and After are the clock; default package time. After calls f once, later, on its own goroutine; stop reports
	// whether it prevented that.
	Now   func() time.Time
	After func(d time.Duration, f func()) (stop func() bool)
}

// Cloud is the simulated Azure. Make one with New; all methods may be called concurrently.
type Cloud struct {
	cfg    Config
	table  *skus.Table
	schema *schema
	routes []route
	nets   map[string]subnet // by lower-case id; does not change
	rights []Assignment      // do not change

	log requestLog // has its own lock; never taken together with mu

	wg sync.WaitGroup // timers that will or do run
	// mu guards the fields below. It is held while a request is answered: requests are small and this is a lab.
	mu      sync.Mutex
	closed  bool
	knobs   Knobs
	tokens  map[string]time.Time // what we issued, until when
	persons map[string]bool      // which of these are a person's
	res     map[string]*resource // by lower-case id
	graph   map[string]*resource // what Resource Graph has indexed so far, by lower-case id
	ops     map[string]*operation
	opOrder []string // oldest first, for eviction
	timers  map[*timer]struct{}
	used    map[string]map[netip.Addr]string // by lower-case subnet id: who has which address
	nextIP  map[string]netip.Addr
	serial  uint64             // makes operation ids and request ids differ
	counts  map[string]int     // requests by throttling bucket in the current window
	window  time.Time          // when it began
	buckets map[string]*bucket // Azure's own budgets, by key
	total   int                // requests since the start, for "every nth"
	skuJSON map[string][]byte  // answers of Resource Skus - List, by filter: they never change
	prices  []priceItem        // expanded once
}

// New checks the configuration and starts an empty subscription. Close it when done.
func New(cfg Config) (*Cloud, error) {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	set(&cfg.Subscription, "5c0ffee0-0000-4000-8000-000000000001")
	set(&cfg.Tenant, "7e4a4700-0000-4000-8000-000000000001")
	set(&cfg.ClusterName, "lab")
	set(&cfg.ClusterResourceGroup, "lab")
	set(&cfg.Location, "eastus")
	set(&cfg.NodeResourceGroup, fmt.Sprintf("MC_%s_%s_%s", cfg.ClusterResourceGroup, cfg.ClusterName, cfg.Location))
	set(&cfg.KubernetesVersion, "1.37.1")
	set(&cfg.SubnetID, fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/aks-vnet-%s/subnets/aks-subnet",
		cfg.Subscription, cfg.NodeResourceGroup, clusterNumber(cfg)))
	set(&cfg.VNetGUID, guid("vnet", cfg.SubnetID))
	set(&cfg.SubnetPrefix, "10.224.0.0/16")
	set(&cfg.ClusterHost, fmt.Sprintf("%s-%s.hcp.%s.azmk8s.io", cfg.ClusterName, clusterNumber(cfg), cfg.Location))
	if cfg.Identities == nil {
		cfg.Identities = []string{fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%s-agentpool",
			cfg.Subscription, cfg.NodeResourceGroup, cfg.ClusterName)}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.After == nil {
		cfg.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}

	table, err := skus.Load()
	if err != nil {
		return nil, err
	}
	var errs []error
	if _, ok := table.Region(cfg.Location); !ok {
		errs = append(errs, fmt.Errorf("location %q: this Azure has no such region; it has %s", cfg.Location, strings.Join(table.RegionNames(), ", ")))
	}
	nets, bad := subnets(cfg)
	errs = append(errs, bad...)
	if err := cfg.Knobs.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("knobs: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("lab azure: %w", err)
	}
	contract, err := readSchema()
	if err != nil {
		return nil, err
	}
	served := routes()
	contract.contracts(served)
	for i := range served {
		served[i].action, served[i].policy = actionOf(served[i]), policyOf(served[i])
	}
	c := &Cloud{
		cfg: cfg, table: table, schema: contract, routes: served, nets: nets, knobs: cfg.Knobs.clone(),
		tokens: map[string]time.Time{}, persons: map[string]bool{}, res: map[string]*resource{}, graph: map[string]*resource{},
		ops: map[string]*operation{}, timers: map[*timer]struct{}{},
		used: map[string]map[netip.Addr]string{}, nextIP: map[string]netip.Addr{},
		counts: map[string]int{}, buckets: map[string]*bucket{}, skuJSON: map[string][]byte{}, rights: cfg.Rights,
	}
	if c.rights == nil {
		c.rights, err = c.shippedRights()
	}
	return c, err
}

// Config returns the configuration with its defaults filled in.
func (c *Cloud) Config() Config { return c.cfg }

// Close stops all background work and waits for it. Requests that arrive later get 503.
func (c *Cloud) Close() {
	c.mu.Lock()
	c.closed = true
	for t := range c.timers {
		c.cancel(t)
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// timer is one piece of background work.
type timer struct{ stop func() bool }

// after runs f later, with mu held, unless the cloud is closed or the timer cancelled before. The caller holds mu.
func (c *Cloud) after(d time.Duration, f func()) *timer {
	t := &timer{}
	c.timers[t] = struct{}{}
	c.wg.Add(1)
	t.stop = c.cfg.After(d, func() {
		defer c.wg.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, wanted := c.timers[t]; !wanted {
			return
		}
		delete(c.timers, t)
		f()
	})
	return t
}

// cancel forgets a timer; nil and timers that ran are fine. The caller holds mu.
func (c *Cloud) cancel(t *timer) {
	if t == nil {
		return
	}
	if _, ok := c.timers[t]; !ok {
		return
	}
	delete(c.timers, t)
	if t.stop() {
		c.wg.Done()
	}
}

// base is the URL that clients of this request use.
func (c *Cloud) base(host string) string {
	if c.cfg.BaseURL != nil {
		return c.cfg.BaseURL()
	}
	return "https://" + host
}

// guid derives a stable GUID from words, so that two runs of the same story give the same ids.
func guid(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// secret returns a fresh random string for tokens.
func secret() string { return rand.Text() + rand.Text() }

// clusterNumber is the eight-digit number that AKS puts into the names of a cluster's network resources.
func clusterNumber(cfg Config) string {
	sum := sha256.Sum256([]byte(cfg.Subscription + "/" + cfg.ClusterResourceGroup + "/" + cfg.ClusterName))
	n := uint32(sum[0])<<16 | uint32(sum[1])<<8 | uint32(sum[2])
	return fmt.Sprintf("%08d", n%100_000_000)
}
