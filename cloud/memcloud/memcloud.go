// Package memcloud answers: how would a cloud behave, if it lived in this process?
//
// It is the in-memory twin of cloud.Fleet: it sells from a given catalogue, takes its time, runs out, refuses, loses
// replies and evicts, all by knobs. Time passes through time.Now and time.AfterFunc only, so whole stories run on virtual
// time. It imitates no particular cloud's wire protocol, and no machine runs inside: hooks tell a machine
// simulator when to boot one.
package memcloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Config says what the cloud sells and how slow it is. Only Catalog must be set. Durations of zero mean "at once".
type Config struct {
	// Catalog is for sale to every class, under the name of that class.
	Catalog model.Catalog
	// Images and KubernetesVersion are what Inspect reports; nil images mean one that fits everything, and an empty
	// version repeats the one asked about.
	Images            []model.Image
	KubernetesVersion string

	AcceptDelay time.Duration // how long Launch takes to answer
	BootDelay   time.Duration // accepted to running
	FailDelay   time.Duration // accepted to failed, for what is sold out later
	DeleteDelay time.Duration // terminate to gone
	ListLag     time.Duration // how old a picture List shows

	// QuotaCPU bounds the thousandths of a core of all machines per quota family; "" is the bound over all families. A
	// missing name is no bound.
	QuotaCPU map[string]int64
	// ThrottleEvery refuses every n-th Launch and Terminate; 0 = none. RetryAfter is the answer's delay; 0 = one second.
	ThrottleEvery int
	RetryAfter    time.Duration

	// OnRunning is called once when a machine starts to run, OnGone once when it is gone, running or not; both from a
	// goroutine of their own timer and without locks held, so they may call back.
	OnRunning func(model.Instance)
	OnGone    func(model.Instance)
	// OnOff is called once when somebody switches a running machine off, in the same way.
	OnOff func(model.Instance)
}

// When says at which moment a sold-out offering is refused.
type When string

// The moments.
const (
	AtOnce When = "at-once" // Launch answers NoCapacity
	Later  When = "later"   // Launch is accepted and the machine fails
)

// Cloud is the twin. Make it with New. All methods may be called concurrently.
type Cloud struct {
	cfg Config

	mu       sync.Mutex // guards the fields below
	machines map[string]*machine
	soldOut  map[model.OfferingKey]When
	refused  map[string]string // type → the cloud's own code
	throttle time.Duration     // every call is refused while positive
	calls    int               // launches and terminations so far, for ThrottleEvery
	lost     int               // replies still to lose
	down     bool
	epoch    uint64
	quota    map[string]int64
	launched int // machines ever accepted
}

// machine is one machine and what it looked like since when. History is only as long as the machine's few states, and
// a machine leaves the map once List can no longer show it.
type machine struct {
	model.Instance
	cpu     int64
	family  string
	history []moment
	gone    bool
	off     bool // somebody switched it off; List does not tell
}

type moment struct {
	at   time.Time
	what model.Instance
	gone bool
}

// New opens a cloud. It panics when the catalogue is empty, because a cloud that sells nothing is a mistake in a test.
func New(cfg Config) *Cloud {
	if len(cfg.Catalog.Types) == 0 {
		panic("memcloud: the catalogue is empty")
	}
	return &Cloud{
		cfg: cfg, machines: map[string]*machine{}, soldOut: map[model.OfferingKey]When{}, refused: map[string]string{},
		quota: maps.Clone(cfg.QuotaCPU), epoch: max(cfg.Catalog.Epoch, 1),
	}
}

var _ cloud.Fleet = (*Cloud)(nil)

// Offerings returns the catalogue. What is sold out stays available in it: a cloud says so only when asked to launch.
func (c *Cloud) Offerings(ctx context.Context, class model.Class) (model.Catalog, error) {
	if err := c.reachable(ctx); err != nil {
		return model.Catalog{}, err
	}
	out := c.cfg.Catalog
	out.Class = class.Ref
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Epoch = c.epoch
	return out, nil
}

// Inspect finds every class ready.
func (c *Cloud) Inspect(ctx context.Context, class model.Class, kubernetesVersion string) (cloud.Report, error) {
	if err := c.reachable(ctx); err != nil {
		return cloud.Report{}, err
	}
	r := cloud.Report{Images: slices.Clone(c.cfg.Images), KubernetesVersion: c.cfg.KubernetesVersion}
	if r.Images == nil {
		r.Images = []model.Image{{ID: "/images/any/versions/1.0.0"}}
	}
	if r.KubernetesVersion == "" {
		r.KubernetesVersion = kubernetesVersion
	}
	for _, typ := range []string{model.KubernetesVersionReady, model.ImagesReady, model.SubnetsReady} {
		r.Conditions = append(r.Conditions, model.Condition{
			Type: typ, Status: model.True, Reason: typ, ObservedGeneration: class.Generation,
		})
	}
	return r, nil
}

// Launch accepts an order, or refuses it as the knobs say.
func (c *Cloud) Launch(ctx context.Context, o cloud.Order) (model.Instance, error) {
	if err := c.reachable(ctx); err != nil {
		return model.Instance{}, err
	}
	if err := wait(ctx, c.cfg.AcceptDelay); err != nil {
		return model.Instance{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.throttled(true); err != nil {
		return model.Instance{}, err
	}
	name := "aks-" + o.Claim
	if m := c.machines[name]; m != nil && !m.gone {
		if m.ClaimUID != o.ClaimUID {
			return model.Instance{}, cloud.Errorf(cloud.Unknown, "%s exists for an earlier claim of that name", name)
		}
		return c.reply(m.Instance)
	}
	typ, err := c.sells(o)
	if err != nil {
		return model.Instance{}, err
	}
	m := &machine{cpu: typ.Capacity.CPU, family: typ.Family, Instance: model.Instance{
		ID: idPrefix + name, Name: name, Claim: o.Claim, ClaimUID: o.ClaimUID, Pool: o.Pool, Offering: o.Offering.Key(),
		State: model.Pending, Created: time.Now(), ImageID: c.image(), Tags: map[string]string{"karpenter.sh_nodepool": o.Pool},
	}}
	if old := c.machines[name]; old != nil { // a lagging list still shows the one before
		m.history = old.history
	}
	c.machines[name] = m
	c.launched++
	m.now()
	if c.soldOut[m.Offering] == Later {
		time.AfterFunc(c.cfg.FailDelay, func() { c.fail(m) })
	} else {
		time.AfterFunc(c.cfg.BootDelay, func() { c.run(m) })
	}
	return c.reply(m.Instance)
}

// idPrefix has the form of an Azure provider id, so that what reads such ids can read these.
const idPrefix = "azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/memcloud" +
	"/providers/Microsoft.Compute/virtualMachines/"

// sells checks the order against the shelves. Called with mu held.
func (c *Cloud) sells(o cloud.Order) (model.InstanceType, error) {
	key := o.Offering.Key()
	typ, ok := c.cfg.Catalog.Type(key.Type)
	if !ok || !slices.ContainsFunc(typ.Offerings, func(x model.Offering) bool { return x.Key() == key }) {
		return typ, &cloud.Error{Code: cloud.Refused, Reason: "InvalidParameter", More: cloud.Extent{Scope: cloud.Scope{Type: key.Type}}, Err: fmt.Errorf("%s is not for sale", key)}
	}
	if reason := c.refused[key.Type]; reason != "" {
		return typ, &cloud.Error{Code: cloud.Refused, Reason: reason, Err: fmt.Errorf("%s is refused", key), More: cloud.Extent{Scope: cloud.Scope{
			Class: o.Class.Ref, Generation: o.Class.Generation, Type: key.Type, Zone: key.Zone, CapacityType: key.CapacityType}}}
	}
	if c.soldOut[key] == AtOnce {
		return typ, &cloud.Error{Code: cloud.NoCapacity, Reason: "SkuNotAvailable",
			More: cloud.Extent{Scope: cloud.Scope{Type: key.Type, Zone: key.Zone, CapacityType: key.CapacityType}},
			Err:  fmt.Errorf("%s is sold out", key)}
	}
	used := map[string]int64{}
	for _, m := range c.machines {
		if !m.gone {
			used[m.family] += m.cpu
			used[""] += m.cpu
		}
	}
	for _, family := range []string{typ.Family, ""} {
		limit, bounded := c.quota[family]
		if room := limit - used[family]; bounded && room < typ.Capacity.CPU {
			return typ, &cloud.Error{Code: cloud.Quota, Reason: "OperationNotAllowed",
				More: cloud.Extent{Scope: cloud.Scope{Family: family, All: family == "", MinCPU: max(room+1, 1)}},
				Err:  fmt.Errorf("quota %q has %dm left, %s needs %dm", family, room, key.Type, typ.Capacity.CPU)}
		}
	}
	return typ, nil
}

// reply loses the answer when it should. Called with mu held.
func (c *Cloud) reply(i model.Instance) (model.Instance, error) {
	if c.lost > 0 {
		c.lost--
		return model.Instance{}, cloud.Errorf(cloud.Unknown, "connection reset before the reply")
	}
	return clone(i), nil
}

// List shows every machine as it was ListLag ago, sorted by name.
func (c *Cloud) List(ctx context.Context) ([]model.Instance, error) {
	if err := c.reachable(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.throttled(false); err != nil {
		return nil, err
	}
	horizon := time.Now().Add(-c.cfg.ListLag)
	var out []model.Instance
	for name, m := range c.machines {
		i := m.at(horizon)
		switch {
		case i < 0:
		case !m.history[i].gone:
			out = append(out, clone(m.history[i].what))
		case m.gone && i == len(m.history)-1:
			delete(c.machines, name) // nobody can see it any more
		}
	}
	slices.SortFunc(out, func(a, b model.Instance) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// IDOf derives the id from the claim's name.
func (c *Cloud) IDOf(claim string) string { return idPrefix + "aks-" + claim }

// Get shows the machine of the id as it is now.
func (c *Cloud) Get(ctx context.Context, id string) (model.Instance, error) {
	if err := c.reachable(ctx); err != nil {
		return model.Instance{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.throttled(false); err != nil {
		return model.Instance{}, err
	}
	m := c.machines[strings.TrimPrefix(id, idPrefix)]
	if m == nil || m.gone {
		return model.Instance{}, cloud.Errorf(cloud.NotFound, "no machine %s", id)
	}
	out := clone(m.Instance)
	if m.off && out.State == model.Running {
		out.State = model.Stopped
	}
	return out, nil
}

// Terminate starts to delete the machine of the id.
func (c *Cloud) Terminate(ctx context.Context, id string) error {
	if err := c.reachable(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.throttled(true); err != nil {
		return err
	}
	m := c.machines[strings.TrimPrefix(id, idPrefix)]
	if m == nil || m.gone {
		return cloud.Errorf(cloud.NotFound, "no machine %s", id)
	}
	c.stop(m)
	return nil
}

// reachable reports a cancelled call and an outage.
func (c *Cloud) reachable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &cloud.Error{Code: cloud.Unknown, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return &cloud.Error{Code: cloud.Unknown, Err: errors.New("the cloud cannot be reached")}
	}
	return nil
}

// throttled refuses calls that come too often. Called with mu held.
func (c *Cloud) throttled(counts bool) error {
	after := c.throttle
	if counts {
		c.calls++
		if n := c.cfg.ThrottleEvery; after == 0 && n > 0 && c.calls%n == 0 {
			after = cmp.Or(c.cfg.RetryAfter, time.Second)
		}
	}
	if after == 0 {
		return nil
	}
	return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: after}, Reason: "TooManyRequests",
		Err: fmt.Errorf("come back after %s", after)}
}

func (c *Cloud) image() string {
	if len(c.cfg.Images) > 0 {
		return c.cfg.Images[0].ID
	}
	return "/images/any/versions/1.0.0"
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return &cloud.Error{Code: cloud.Unknown, Err: ctx.Err()}
	}
}

func clone(i model.Instance) model.Instance {
	i.Tags = maps.Clone(i.Tags)
	return i
}
