package audit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Who looks for its own like may be the first of it anywhere, and has to follow whoever else is the first: a in zone 1 and b in zone 2 is a plan
// for one order only. Who looks for others just waits.
func TestAPlanMayHoldInOneOrderOnly(t *testing.T) {
	for _, c := range []struct {
		a, b, zoneOfA string
		queued, drawn bool
	}{
		{"near=zone:app=x created=1s", "label.app=x created=2s", "1", false, true},
		{"near=zone:app=x created=2s", "label.app=x created=1s", "1", true, true},
		{"near=zone:app=x created=2s priority=9", "label.app=x created=1s", "1", false, true},
		{"near=zone:app=x created=2s", "label.app=x created=1s", "2", false, false},
		{"near=zone:app=y created=1s", "label.app=y created=2s", "2", false, false},
	} {
		w, err := worldtext.Parse("type T cpu=2 zones=1,2 price=1\npool p\nnode n1 pool=p zone=1 cpu=2 initialized\nnode n2 pool=p zone=2 cpu=2 initialized\n" +
			"pod a cpu=1 label.app=x " + c.a + "\npod b cpu=1 " + c.b)
		if err != nil {
			t.Fatal(err)
		}
		p := place.Plan{Existing: []place.Nomination{{Pod: w.Pods[0].Key(), Node: "n" + c.zoneOfA}, {Pod: w.Pods[1].Key(), Node: "n2"}}}
		if f := audit.Check(w, p); len(f) > 0 {
			t.Fatalf("%+v: unsound: %v", c, f)
		}
		queued, drawn := audit.Lost(w, p, 20)
		if queued != c.queued || (drawn > 0) != c.drawn || drawn == 20 {
			t.Errorf("%+v: lost in the queue's order: %v; in %d of 20", c, queued, drawn)
		}
	}
}

// TestFewPlansLosePodsToTheOrder counts, in worlds in which constraints meet more often than anywhere, plans in which somebody is lost: in the order of
// kube-scheduler's queue, and in orders drawn by chance.
// The bounds are what holds today, and little more. A search among plans that differ in one thing and cost a
// hundredth more at most was tried: of 1,000 plans, 34 instead of 42 lost somebody in some order, 20 instead of 23 in the queue's. That is not worth
// making plans again.
func TestFewPlansLosePodsToTheOrder(t *testing.T) {
	const orders = 20
	for _, c := range []struct {
		name                  string
		draw                  func(uint64) model.World
		worlds                uint64
		queued, plans, orders int
	}{
		{"worlds over every constraint", worldgen.Small, 400, 10, 15, 200},
		{"chains and apps in two node groups", worldgen.Related, 100, 0, 0, 0},
	} {
		queued, plans, lost := 0, 0, 0
		for seed := range c.worlds {
			w := c.draw(seed)
			inQueue, drawn := audit.Lost(w, place.Decide(place.Input{World: w}), orders)
			if inQueue {
				queued++
			}
			if lost += drawn; drawn > 0 {
				plans++
			}
		}
		t.Logf("%s: of %d plans, %d lose somebody in the queue's order, %d in some order, in %d of %d", c.name, c.worlds, queued, plans, lost, c.worlds*orders)
		if queued > c.queued || plans > c.plans || lost > c.orders {
			t.Errorf("%s: %d plans lose somebody in the queue's order, %d in some order, in %d of %d; want at most %d, %d and %d", c.name,
				queued, plans, lost, c.worlds*orders, c.queued, c.plans, c.orders)
		}
	}
}

// overlapping is pods of several apps, spread over zones and machines by a selector that picks their own app and some of those after it.
func overlapping(t *testing.T, seed uint64) model.World {
	r := rand.New(rand.NewPCG(seed, 0))
	apps, window, each := 6+r.IntN(6), 2+r.IntN(4), 2+r.IntN(4)
	text := "type S cpu=2 zones=1,2,3 price=1\ntype M cpu=4 zones=1,2,3 price=2\npool p\n"
	for i := range apps * each {
		picks := make([]string, window)
		for k := range picks {
			picks[k] = fmt.Sprintf("a%d", (i+k)%apps)
		}
		app := "app=" + strings.Join(picks, "|")
		text += fmt.Sprintf("pod p%d cpu=%dm label.app=a%d spread=zone:1:%s spread=host:1:%s\n", i, 100+50*(i%7), i%apps, app, app)
	}
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPlansWithSpreadsThatOverlapAreSound: the engine proves such plans in the order in which it made them, and says it. Of orders drawn by chance few get
// to the end.
func TestPlansWithSpreadsThatOverlapAreSound(t *testing.T) {
	bad, placed := 0, 0
	const plans = 40
	for seed := range uint64(plans) {
		w := overlapping(t, seed)
		p := place.Decide(place.Input{World: w})
		placed += len(w.Pods) - len(p.Unscheduled)
		if f := audit.Check(w, p); len(f) > 0 {
			t.Errorf("seed %d: %d pods: %v", seed, len(w.Pods), f[0])
			bad++
		}
	}
	t.Logf("%d of %d plans are called unsound; %d pods have a place", bad, plans, placed)
}

// TestTheOrderOfAPlanIsAHint: an order that is wrong, or for other pods, makes no sound plan unsound, and a good one no unsound plan sound.
func TestTheOrderOfAPlanIsAHint(t *testing.T) {
	tied := 0
	for seed := range uint64(100) {
		w := worldgen.Small(seed)
		p := place.Decide(place.Input{World: w})
		if len(p.Order) == 0 {
			continue
		}
		tied++
		backwards := slices.Clone(p.Order)
		slices.Reverse(backwards)
		for _, order := range [][]model.PodKey{nil, backwards[:len(backwards)/2], append(backwards, append(p.Order, model.PodKey{Name: "nobody"})...)} {
			p.Order = order
			if f := audit.Check(w, p); len(f) > 0 {
				t.Errorf("seed %d, order %v: %v", seed, order, f)
			}
		}
	}
	if tied < 30 {
		t.Errorf("pods are tied in %d worlds only", tied)
	}
	w, err := worldtext.Parse("type T cpu=4 zones=1,2 price=1\npool p\nnode n1 pool=p zone=1 cpu=4 initialized\nnode n2 pool=p zone=2 cpu=4 initialized\n" +
		"pod a x2 cpu=1 label.app=x spread=zone:1:app=x")
	if err != nil {
		t.Fatal(err)
	}
	p := place.Decide(place.Input{World: w})
	if f := audit.Check(w, p); len(f) > 0 || len(p.Order) != 2 || len(p.Existing) != 2 {
		t.Fatalf("%v\n%v", p, f)
	}
	for i := range p.Existing {
		p.Existing[i].Node = "n1"
	}
	if f := audit.Check(w, p); len(f) != 1 || f[0].Rule != audit.Spread {
		t.Errorf("two pods of an app in one zone, the other empty: %v", f)
	}
}
