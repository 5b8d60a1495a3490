package memcloud_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/cloudtest"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

var class = model.Class{Ref: model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}, UID: "class-uid"}

// world puts a slow twin before the examiner, on virtual time.
func world(*testing.T) cloudtest.World {
	c := memcloud.New(memcloud.Config{
		Catalog:     memcloud.SmallCatalog("eastus"),
		AcceptDelay: time.Second, BootDelay: 40 * time.Second, FailDelay: 10 * time.Second, DeleteDelay: 20 * time.Second,
	})
	return cloudtest.World{
		Fleet: c, Class: class, Cluster: model.Cluster{Endpoint: "https://127.0.0.1", Version: "1.37.1"},
		KubernetesVersion: "1.37.1",
		SellOut:           func(k model.OfferingKey, w cloudtest.When) { c.SellOut(k, memcloud.When(w)) },
		Refuse:            c.Refuse,
		SwitchOff: func(t *testing.T, id string) {
			if !c.SwitchOff(id) {
				t.Fatalf("%s cannot be switched off", id)
			}
		},
		Throttle: c.Throttle,
		Left:     c.Resources,
		Settle: func(t *testing.T, done func() bool) {
			t.Helper()
			const rounds = 600 // ten virtual minutes
			for range rounds {
				if done() {
					return
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
			t.Fatal("not settled after ten minutes")
		},
	}
}

func TestExam(t *testing.T) {
	for _, q := range cloudtest.Questions() {
		t.Run(q.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { q.Ask(t, world(t)) })
		})
	}
}

// order asks for one Standard_D2s_v5 in the first zone.
func order(c model.Catalog, claim string) cloud.Order {
	typ, _ := c.Type("Standard_D2s_v5")
	for _, o := range typ.Offerings {
		if o.Zone == "eastus-1" && o.CapacityType == model.OnDemand {
			return cloud.Order{Claim: claim, ClaimUID: claim, Pool: "p", Class: class, Type: typ, Offering: o}
		}
	}
	return cloud.Order{}
}

func TestHooksTellOnceWhenAMachineRunsAndIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		tell := func(what string) func(model.Instance) {
			return func(i model.Instance) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, what+" "+i.Name)
			}
		}
		cat := memcloud.SmallCatalog("eastus")
		c := memcloud.New(memcloud.Config{Catalog: cat, BootDelay: time.Minute, DeleteDelay: time.Minute,
			OnRunning: tell("run"), OnGone: tell("gone")})
		i, err := c.Launch(t.Context(), order(cat, "a"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for range 2 { // a machine that is leaving may be evicted again
			if !c.Evict(i.ID) {
				t.Error("evict found no machine")
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(told, ", "); got != "run aks-a, gone aks-a" {
			t.Errorf("told %q", got)
		}
	})
}

func TestALostReplyIsAcceptedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cat := memcloud.SmallCatalog("eastus")
		c := memcloud.New(memcloud.Config{Catalog: cat})
		c.LoseReplies(1)
		if _, err := c.Launch(t.Context(), order(cat, "a")); cloud.CodeOf(err) != cloud.Unknown {
			t.Fatalf("launch: %v, want a lost reply", err)
		}
		if _, err := c.Launch(t.Context(), order(cat, "a")); err != nil {
			t.Fatalf("launch again: %v", err)
		}
		if c.Accepted() != 1 {
			t.Errorf("%d machines accepted, want 1", c.Accepted())
		}
	})
}

func TestAListMayLagBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cat := memcloud.SmallCatalog("eastus")
		c := memcloud.New(memcloud.Config{Catalog: cat, ListLag: 30 * time.Second})
		listed := func() int {
			l, err := c.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(l)
		}
		i, err := c.Launch(t.Context(), order(cat, "a"))
		if err != nil {
			t.Fatal(err)
		}
		if n := listed(); n != 0 {
			t.Errorf("%d listed at once, want none yet", n)
		}
		time.Sleep(31 * time.Second)
		if n := listed(); n != 1 {
			t.Errorf("%d listed after the lag, want 1", n)
		}
		if err := c.Terminate(t.Context(), i.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n, held := listed(), len(c.Resources()); n != 1 || held != 0 {
			t.Errorf("%d listed and %d held right after the end, want 1 and 0", n, held)
		}
		time.Sleep(31 * time.Second)
		if n := listed(); n != 0 {
			t.Errorf("%d listed after the lag, want none", n)
		}
	})
}

func TestQuotaBoundsFamiliesAndTheRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cat := memcloud.SmallCatalog("eastus")
		c := memcloud.New(memcloud.Config{Catalog: cat, QuotaCPU: map[string]int64{"standardDSv5Family": 3000, "": 100_000}})
		if _, err := c.Launch(t.Context(), order(cat, "a")); err != nil {
			t.Fatal(err)
		}
		_, err := c.Launch(t.Context(), order(cat, "b"))
		if cloud.CodeOf(err) != cloud.Quota {
			t.Fatalf("launch over quota: %v", err)
		}
		if left, _, ok := c.Left("standardDSv5Family", model.OnDemand); left != 1000 || !ok {
			t.Errorf("%dm left, bounded %v; want 1000m", left, ok)
		}
		c.SetQuota("standardDSv5Family", 4000)
		if _, err := c.Launch(t.Context(), order(cat, "b")); err != nil {
			t.Errorf("launch within the raised quota: %v", err)
		}
	})
}

func TestThrottlingAndOutagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cat := memcloud.SmallCatalog("eastus")
		c := memcloud.New(memcloud.Config{Catalog: cat, ThrottleEvery: 2})
		c.Down(true)
		if _, err := c.Launch(t.Context(), order(cat, "a")); cloud.CodeOf(err) != cloud.Unknown {
			t.Errorf("launch while down: %v", err)
		}
		c.Down(false)
		codes := []cloud.Code{}
		for range 3 {
			_, err := c.Launch(t.Context(), order(cat, "a"))
			codes = append(codes, cloud.CodeOf(err))
		}
		if codes[0] != "" || codes[1] != cloud.Throttled || codes[2] != "" {
			t.Errorf("codes %q, want every second call throttled", codes)
		}
	})
}
