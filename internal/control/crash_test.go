package control

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// fragile is a controller around nothing, whose counters and pictures the test can see.
func fragile(t *testing.T) (c *Controller, panics func(loop string) float64, kept *[]evidence.Case) {
	t.Helper()
	reg := prometheus.NewRegistry()
	metrics, err := observe.NewMetrics(reg, meter.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	store := memkube.New()
	kept = new([]evidence.Case)
	c, err = New(Parts{Store: store, Market: market.New(memcloud.New(memcloud.Config{Catalog: memcloud.SmallCatalog("here")}), market.Config{}), World: world.New(),
		Observe: observe.New(store, logr.Discard(), metrics), Log: logr.Discard(), Now: time.Now,
		Refused: func(x evidence.Case) { *kept = append(*kept, x) }})
	if err != nil {
		t.Fatal(err)
	}
	panics = func(loop string) float64 {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() != "controller_runtime_reconcile_panics_total" {
				continue
			}
			for _, m := range f.GetMetric() {
				if m.GetLabel()[0].GetValue() == loop {
					return m.GetCounter().GetValue()
				}
			}
		}
		return 0
	}
	return c, panics, kept
}

func outOfRange() { var none []int; none[len(none)]++ }

// A pass that panics is tried again with a growing delay, while another loop goes on as ever.
func TestAPassThatPanicsHoldsUpNoOtherLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, panics, _ := fragile(t)
		ctx, cancel := context.WithCancel(t.Context())
		c.World.Begin()
		c.World.Synced()
		var bad, good atomic.Int64 // passes, counted in the loops and read here
		var cured atomic.Bool
		go c.run(ctx, loop{name: "bad", pass: func(context.Context) time.Duration {
			bad.Add(1)
			if !cured.Load() {
				outOfRange()
			}
			return 0
		}, idle: time.Second})
		go c.run(ctx, loop{name: "good", pass: func(context.Context) time.Duration { good.Add(1); return 0 }, idle: time.Second})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := bad.Load(); n < 10 || n > 20 || panics("bad") != float64(n) {
			t.Errorf("within ten minutes, %d passes and %v counted panics; want about 15 of both", n, panics("bad"))
		}
		if good.Load() < 590 || panics("good") != 0 {
			t.Errorf("the other loop made %d passes, want one each second", good.Load())
		}
		cured.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if bad.Load() < 60 {
			t.Errorf("%d passes: the loop does not go on when it no longer panics", bad.Load())
		}
		cancel()
		synctest.Wait()
	})
}

// A step that panics is held back like one that failed, and gives its worker free.
func TestAStepThatPanicsIsAFailedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, panics, _ := fragile(t)
		c.claims.limit = 1
		for range 3 {
			if wait := c.claims.start(t.Context(), "a", func(context.Context) error { outOfRange(); return nil }); wait != 0 {
				t.Errorf("a is not started for %v", wait)
			}
			c.claims.wait()
			if wait := c.claims.start(t.Context(), "a", func(context.Context) error { return nil }); wait < retryBase {
				t.Errorf("a may start again in %v", wait)
			}
			time.Sleep(retryTop)
		}
		ran := false
		c.claims.start(t.Context(), "b", func(context.Context) error { ran = true; return nil })
		c.claims.wait()
		if !ran || panics("nodeclaim.lifecycle") != 3 {
			t.Errorf("another step ran: %v; %v panics counted, want 3", ran, panics("nodeclaim.lifecycle"))
		}
	})
}

// A decision that panics is written down with its picture, and held back; others under other keys are made.
func TestADecisionThatPanicsIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, panics, kept := fragile(t)
		w := model.World{Pools: []model.Pool{{Name: "seen"}}}
		wait, ok := c.safely(&c.drains, "node", w, outOfRange)
		if ok || wait != crashBase {
			t.Errorf("decided: %v, again after %v", ok, wait)
		}
		if _, ok = c.safely(&c.drains, "node", w, func() { t.Error("decided although held back") }); ok {
			t.Error("what was held back counts as decided")
		}
		if _, ok = c.safely(&c.drains, "other", w, func() {}); !ok {
			t.Error("another node is held back, too")
		}
		time.Sleep(crashBase)
		if wait, _ = c.safely(&c.drains, "node", w, outOfRange); wait != 2*crashBase {
			t.Errorf("the second time it is held back for %v", wait)
		}
		time.Sleep(2 * crashBase)
		if _, ok = c.safely(&c.drains, "node", w, func() {}); !ok {
			t.Error("not decided when it no longer panics")
		}
		if panics("node.termination") != 2 || len(*kept) != 2 {
			t.Fatalf("%v panics counted and %d pictures kept, want 2 of each", panics("node.termination"), len(*kept))
		}
		x := (*kept)[0]
		if len(x.World.Pools) != 1 || !strings.Contains(x.Crash.Site, "control.outOfRange:") || !strings.Contains(x.Crash.Message, "index out of range") {
			t.Errorf("kept %+v", x)
		}
	})
}

// Errors pass as they are, and a goroutine that ends itself is not kept alive.
func TestOnlyPanicsAreCaught(t *testing.T) {
	want := errors.New("said")
	if err := caught(func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
	ended, after := make(chan bool), false
	go func() {
		defer close(ended)
		_ = caught(func() error { runtime.Goexit(); return nil })
		after = true
	}()
	<-ended
	if after {
		t.Error("the goroutine went on after it had ended itself")
	}
}
