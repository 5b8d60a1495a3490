package azure_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/cloud/cloudtest"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/model"
)

// clock is the emulator's time: it stands still until somebody lets it pass.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*alarm]bool
}

type alarm struct {
	at time.Time
	f  func()
}

func newClock() *clock { return &clock{now: time.Now(), timers: map[*alarm]bool{}} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{c.now.Add(d), f}
	c.timers[a] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		on := c.timers[a]
		delete(c.timers, a)
		return on
	}
}

// pass lets time pass and returns when everything that fell due has run.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*alarm
	for a := range c.timers {
		if !a.at.After(c.now) {
			due = append(due, a)
			delete(c.timers, a)
		}
	}
	c.mu.Unlock()
	slices.SortFunc(due, func(a, b *alarm) int { return a.at.Compare(b.at) })
	for _, a := range due {
		a.f()
	}
}

// site is a driver before an emulated Azure.
type site struct {
	fleet *azure.Fleet
	cloud *arm.Cloud
	clock *clock
	class model.Class
}

const (
	testVersion = "1.37.1"
	testKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE+nq7TgN4D4A1BOCcIYGb40IvZaR5AgmiNRM3juUFuv lab" // its private half was thrown away
)

func newSite(t *testing.T, k arm.Knobs) *site {
	t.Helper()
	return newSiteOver(t, k, func(r http.RoundTripper) http.RoundTripper { return r })
}

// newSiteOver puts wrap between the driver and the network.
func newSiteOver(t *testing.T, k arm.Knobs, wrap func(http.RoundTripper) http.RoundTripper) *site {
	t.Helper()
	return newSiteOf(t, way{}, k, wrap)
}

// way is how the driver asks for machines; the zero value is the default.
type way struct{ interfaces, create string }

// ways are all of them.
func ways() []way {
	var out []way
	for _, i := range []string{azure.InterfacesInline, azure.InterfacesSeparate} {
		for _, c := range []string{azure.IfNoneMatch, azure.GetFirst} {
			out = append(out, way{i, c})
		}
	}
	return out
}

func (w way) String() string { return w.interfaces + "/" + w.create }

// newSiteOf makes a site whose driver asks in the given way.
func newSiteOf(t *testing.T, w way, k arm.Knobs, wrap func(http.RoundTripper) http.RoundTripper) *site {
	t.Helper()
	s := &site{clock: newClock()}
	var err error
	s.cloud, err = arm.New(arm.Config{Knobs: k, Now: s.clock.Now, After: s.clock.After})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(s.cloud)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("assertion"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := srv.Client()
	client.Transport = wrap(client.Transport)
	c := s.cloud.Config()
	s.fleet, err = azure.New(azure.Config{
		SubscriptionID: c.Subscription, TenantID: c.Tenant, ClientID: "client", FederatedTokenFile: token, Location: c.Location,
		NodeResourceGroup: c.NodeResourceGroup, ClusterName: c.ClusterName, SubnetID: c.SubnetID, VnetGUID: c.VNetGUID,
		Network:      azure.Network{Plugin: "azure", Mode: "overlay", Dataplane: "cilium"},
		SSHPublicKey: testKey, MemoryOverheadPercent: 0.075, BillingExtension: true, NetworkInterfaces: w.interfaces, MachineCreate: w.create,
		Endpoints: azure.Endpoints{ResourceManager: srv.URL, AuthorityHost: srv.URL + "/", Audience: srv.URL, RetailPrices: srv.URL},
		Transport: client, Version: "test", Now: s.clock.Now,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.fleet.Close()
		srv.Close()
		s.cloud.Close()
	})
	s.class = model.Class{
		Ref:   model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"},
		Azure: &model.AzureClass{ImageFamily: "Ubuntu", OSDiskSizeGB: 128},
	}
	r, err := s.fleet.Inspect(t.Context(), s.class, testVersion)
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	s.class.Images, s.class.KubernetesVersion = r.Images, r.KubernetesVersion
	return s
}

// turn changes the emulator's knobs.
func (s *site) turn(t *testing.T, change func(*arm.Knobs)) {
	t.Helper()
	k := s.cloud.Knobs()
	change(&k)
	if err := s.cloud.SetKnobs(k); err != nil {
		t.Fatal(err)
	}
}

// settle lets the emulator's time pass until done; ten minutes of it are more than anything takes.
func (s *site) settle(t *testing.T, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		s.clock.pass(time.Second)
	}
	t.Fatal("not settled after ten minutes of the cloud's time")
}

func (s *site) left() []string {
	var out []string
	for _, r := range s.cloud.Resources() {
		out = append(out, fmt.Sprint(r))
	}
	slices.Sort(out)
	return out
}

func world(t *testing.T, how way) cloudtest.World {
	s := newSiteOf(t, how, arm.Knobs{CreateTime: arm.Duration(20 * time.Second), FailTime: arm.Duration(10 * time.Second), DeleteTime: arm.Duration(15 * time.Second)},
		func(r http.RoundTripper) http.RoundTripper { return r })
	return cloudtest.World{
		Fleet: s.fleet, Class: s.class, KubernetesVersion: testVersion,
		Cluster: model.Cluster{Endpoint: "https://lab.example", CA: []byte("PEM"), Version: testVersion},
		SellOut: func(key model.OfferingKey, when cloudtest.When) {
			zone := "regional"
			if key.Zone != "0" {
				zone = key.Zone[strings.LastIndexByte(key.Zone, '-')+1:]
			}
			s.turn(t, func(k *arm.Knobs) {
				k.Capacity = append(k.Capacity, arm.Capacity{Size: key.Type, Zone: zone, CapacityType: key.CapacityType, Sync: when == cloudtest.AtOnce})
			})
		},
		Refuse: func(typ, reason string) {
			s.turn(t, func(k *arm.Knobs) {
				k.Failures = append(k.Failures, arm.Failure{Count: 1000, Size: typ, Code: reason, Status: http.StatusConflict})
			})
		},
		SwitchOff: func(t *testing.T, id string) {
			if err := s.cloud.Deallocate(id[strings.LastIndexByte(id, '/')+1:]); err != nil {
				t.Fatal(err)
			}
		},
		Throttle: func(after time.Duration) {
			s.turn(t, func(k *arm.Knobs) {
				k.Throttle = arm.Throttle{}
				if after > 0 {
					k.Throttle = arm.Throttle{Every: 1, RetryAfter: arm.Duration(after)}
				}
			})
		},
		Settle: s.settle,
		Left:   s.left,
	}
}

// The driver over an emulated Azure sits the exam that every cloud sits, in every way in which it can ask for machines.
func TestExam(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			cloudtest.Run(t, func(t *testing.T) cloudtest.World { return world(t, w) })
		})
	}
}
