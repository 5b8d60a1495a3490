package market_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

// everything asks for one machine of any offering, in an order that depends on the seed.
func everything(claim string, c model.Class, turn int) market.Request {
	r := market.Request{Order: cloud.Order{Claim: claim, ClaimUID: "uid-" + claim, Class: c}}
	for _, t := range memcloud.SmallCatalog("eastus").Types {
		for _, o := range t.Offerings {
			r.Options = append(r.Options, market.Option{Type: t, Offering: o})
		}
	}
	switch turn % 3 {
	case 0:
		slices.Reverse(r.Options)
	case 1:
		slices.SortStableFunc(r.Options, func(a, b market.Option) int { return int(a.Offering.Price - b.Offering.Price) })
	}
	turn %= len(r.Options)
	r.Options = slices.Concat(r.Options[turn:], r.Options[:turn])
	return r
}

// forClass refuses an order as a driver does that does not know why.
func forClass(o cloud.Order, reason string) error {
	s := offeringScope(o)
	s.Class, s.Generation = o.Class.Ref, o.Class.Generation
	return &cloud.Error{Code: cloud.Refused, Reason: reason, More: cloud.Extent{Scope: s}, Err: errors.New("because")}
}

// A class that is refused whatever is ordered costs a bounded number of calls, not one for each offering; when its rest is over, one call
// shows that nothing has changed. Other classes are sold meanwhile.
func TestAClassThatIsAlwaysRefusedIsNotAskedOfferByOffer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bad := model.Class{Ref: model.ClassRef{Kind: "AKSNodeClass", Name: "bad"}, Generation: 2}
		well := false
		s, m := open(market.Config{Burst: 10_000, Rate: 10_000}, func(o cloud.Order) error {
			if o.Class.Ref == bad.Ref && o.Class.Generation == bad.Generation && !well {
				return forClass(o, fmt.Sprint("Reason", rapid.IntRange(0, 3).Draw(r, "reason")))
			}
			return nil
		})
		now := start
		exhaust := func(claim string) int {
			before := len(s.asked)
			for range 20 {
				_, _, err := m.Launch(t.Context(), everything(claim, bad, rapid.IntRange(0, 167).Draw(r, "turn")), now)
				if cloud.CodeOf(err) == cloud.NoCapacity {
					return len(s.asked) - before
				}
				if cloud.CodeOf(err) != cloud.Throttled {
					r.Fatalf("%v", err)
				}
				now = now.Add(time.Second)
			}
			r.Fatalf("asked %d times and no end", len(s.asked)-before)
			return 0
		}
		if n := exhaust("a"); n > 16 {
			r.Fatalf("asked %d times", n)
		}
		if n := exhaust("b"); n != 0 {
			r.Fatalf("asked %d times although the class rests", n)
		}
		if _, _, err := m.Launch(t.Context(), everything("c", class, 0), now); err != nil {
			r.Fatalf("another class: %v", err)
		}
		whole := func() time.Time {
			for _, b := range m.Blocked(now) {
				if b.Scope == (cloud.Scope{Class: bad.Ref, Generation: bad.Generation, All: true}) {
					return b.Until
				}
			}
			r.Fatalf("the class is not closed: %+v", m.Blocked(now))
			return now
		}
		rest := whole()
		for range 3 {
			now = rest.Add(time.Duration(rapid.IntRange(1, 300).Draw(r, "s")) * time.Second)
			if n := exhaust("d"); n > 2 {
				r.Fatalf("on trial: asked %d times", n)
			}
			rest = whole()
			if rest.Sub(now) > 10*time.Minute {
				r.Fatalf("rests for %s: a person who has mended it waits too long", rest.Sub(now))
			}
		}
		// Somebody mends it: once the rest is over, everything is on sale again.
		well, now = true, rest.Add(time.Second)
		if _, _, err := m.Launch(t.Context(), everything("e", bad, 0), now); err != nil {
			r.Fatalf("mended: %v, %+v", err, m.Blocked(now))
		}
		bad.Generation++
		well = false
		if _, tried, _ := m.Launch(t.Context(), everything("f", bad, 0), now); len(tried) == 0 {
			r.Fatalf("a class that was changed is not asked for")
		}
	})
}

// Some sizes are refused for reasons that nobody knows, others are sold: each is asked for until it is sold, and what was sold clears
// the class of suspicion.
func TestAFewRefusalsDoNotSpeakForTheClass(t *testing.T) {
	refused := map[string]bool{d2: true, e2: true}
	s, m := open(market.Config{}, func(o cloud.Order) error {
		if refused[o.Type.Name] {
			return forClass(o, "NotSupported")
		}
		return nil
	})
	now := start
	for n := range 40 {
		i, _, err := m.Launch(t.Context(), request(fmt.Sprint(n), fmt.Sprint("eastus-", n%3+1), d2, e2, f2), now)
		if err != nil || i.Offering.Type != f2 {
			t.Fatalf("%d: %v, %v; asked %v", n, i.Offering, err, s.asked)
		}
		now = now.Add(20 * time.Second)
	}
	for _, b := range m.Blocked(now) {
		if b.Scope.All {
			t.Errorf("blocked %+v", b)
		}
	}
}

// A cloud that never answers about one offering does not keep a claim from another.
func TestALostAnswerIsNotAskedForForEver(t *testing.T) {
	s, m := open(market.Config{}, func(o cloud.Order) error {
		if o.Type.Name == d2 {
			return errors.New("502 bad gateway")
		}
		return nil
	})
	for n := range 10 {
		i, _, err := m.Launch(t.Context(), request("a", z1, d2, e2), start.Add(time.Duration(n)*time.Second))
		if err == nil {
			if i.Offering.Type != e2 || n != 3 {
				t.Errorf("bought %v after %d lost answers", i.Offering, n)
			}
			return
		}
	}
	t.Errorf("asked %v, and nothing was bought", s.asked)
}

func TestAMachineThatFailedForAnUnknownReasonIsNotBoughtAgainAtOnce(t *testing.T) {
	_, m := open(market.Config{}, soldOut())
	for n, code := range []cloud.Code{cloud.Refused, cloud.Invalid, cloud.Denied} {
		m.Failed(model.Instance{ID: fmt.Sprint(n), State: model.Failed, FailureCode: string(code), FailureText: "OSProvisioningTimedOut",
			Offering: model.OfferingKey{Type: d2, Zone: fmt.Sprint("eastus-", n+1), CapacityType: model.OnDemand}}, start)
	}
	if b := m.Blocked(start.Add(time.Minute)); len(b) != 3 {
		t.Errorf("blocked %+v", b)
	}
}
