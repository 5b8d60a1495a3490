package market_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

var (
	start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	class = model.Class{Ref: model.ClassRef{Kind: "AKSNodeClass", Name: "default"}}
)

// shop is a fleet that answers each launch as its table says, and keeps what was asked. It is no twin: it shows what the
// market does with answers that no cloud gives on demand.
type shop struct {
	*memcloud.Cloud
	answer func(cloud.Order) error
	asked  []string
	left   int64 // quota, when bounded
	seen   time.Time
	bound  bool
}

func (s *shop) Launch(_ context.Context, o cloud.Order) (model.Instance, error) {
	s.asked = append(s.asked, o.Claim+":"+o.Offering.Type+"/"+o.Offering.Zone)
	if err := s.answer(o); err != nil {
		return model.Instance{}, err
	}
	return model.Instance{ID: "id-" + o.Claim, Name: o.Claim, Claim: o.Claim, Offering: o.Offering.Key(), State: model.Pending}, nil
}

func (s *shop) Left(string, string) (int64, time.Time, bool) { return s.left, s.seen, s.bound }

func open(cfg market.Config, answer func(cloud.Order) error) (*shop, *market.Market) {
	s := &shop{Cloud: memcloud.New(memcloud.Config{Catalog: memcloud.SmallCatalog("eastus")}), answer: answer}
	return s, market.New(s, cfg)
}

// request asks for one machine of the named types, each in one zone, on demand.
func request(claim, zone string, types ...string) market.Request {
	r := market.Request{Order: cloud.Order{Claim: claim, ClaimUID: "uid-" + claim, Class: class}}
	cat := memcloud.SmallCatalog("eastus")
	for _, name := range types {
		t, _ := cat.Type(name)
		for _, o := range t.Offerings {
			if o.Zone == zone && o.CapacityType == model.OnDemand {
				r.Options = append(r.Options, market.Option{Type: t, Offering: o})
			}
		}
	}
	return r
}

func offeringScope(o cloud.Order) cloud.Scope {
	return cloud.Scope{Type: o.Type.Name, Zone: o.Offering.Zone, CapacityType: o.Offering.CapacityType}
}

func soldOut(types ...string) func(cloud.Order) error {
	return func(o cloud.Order) error {
		for _, t := range types {
			if o.Type.Name == t {
				return &cloud.Error{Code: cloud.NoCapacity, Reason: "SkuNotAvailable", More: cloud.Extent{Scope: offeringScope(o)}, Err: errors.New("none left")}
			}
		}
		return nil
	}
}

const (
	d2 = "Standard_D2s_v5"
	e2 = "Standard_E2s_v5"
	f2 = "Standard_F2s_v2"
	z1 = "eastus-1"
)

// unavailable lists the offerings that the market has marked.
func unavailable(t *testing.T, m *market.Market, now time.Time) (keys []string, epoch uint64) {
	t.Helper()
	cat, err := m.Offerings(t.Context(), class, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range cat.Types {
		for _, o := range typ.Offerings {
			if !o.Available {
				keys = append(keys, o.Key().String())
				if !strings.HasPrefix(o.Unavailable, "unavailable: ") {
					t.Errorf("%s does not say why: %q", o.Key(), o.Unavailable)
				}
			}
		}
	}
	return keys, cat.Epoch
}

func TestTheNextBestIsTriedAtOnce(t *testing.T) {
	s, m := open(market.Config{}, soldOut(d2, e2))
	i, tried, err := m.Launch(t.Context(), request("a", z1, d2, e2, f2), start)
	if err != nil || i.Offering.Type != f2 {
		t.Fatalf("got %v, %v; want %s", i.Offering, err, f2)
	}
	if len(tried) != 3 || tried[0].Err == nil || tried[1].Err == nil || tried[2].Err != nil {
		t.Errorf("attempts %v", tried)
	}
	// The next claim does not ask again for what was refused.
	if _, tried, err = m.Launch(t.Context(), request("b", z1, d2, e2, f2), start.Add(time.Second)); err != nil || len(tried) != 1 {
		t.Errorf("second claim: %v, %v", tried, err)
	}
	if got := strings.Join(s.asked, " "); got != "a:Standard_D2s_v5/eastus-1 a:Standard_E2s_v5/eastus-1 a:Standard_F2s_v2/eastus-1 b:Standard_F2s_v2/eastus-1" {
		t.Errorf("asked %s", got)
	}
}

func TestWhatWasRefusedIsUnavailableUntilItIsTriedAgain(t *testing.T) {
	s, m := open(market.Config{}, soldOut(d2))
	_, before := unavailable(t, m, start)
	now := start
	for _, span := range []time.Duration{3, 6, 12, 24, 48, 60, 60} { // minutes
		_, _, err := m.Launch(t.Context(), request("a", z1, d2), now)
		if cloud.CodeOf(err) != cloud.NoCapacity {
			t.Fatalf("launch at %s: %v", now.Sub(start), err)
		}
		end := now.Add(span * time.Minute)
		keys, epoch := unavailable(t, m, end.Add(-time.Second))
		if len(keys) != 1 || keys[0] != "Standard_D2s_v5 in eastus-1 (on-demand)" || epoch <= before {
			t.Errorf("just before %s: %v, epoch %d after %d", end.Sub(start), keys, epoch, before)
		}
		before = epoch
		if keys, epoch = unavailable(t, m, end); len(keys) != 0 || epoch <= before {
			t.Errorf("at %s: %v, epoch %d after %d", end.Sub(start), keys, epoch, before)
		}
		before, now = epoch, end
	}
	// A sale ends the row of strikes.
	s.answer = soldOut()
	if _, _, err := m.Launch(t.Context(), request("b", z1, d2), now); err != nil {
		t.Fatal(err)
	}
	s.answer = soldOut(d2)
	if _, _, err := m.Launch(t.Context(), request("c", z1, d2), now.Add(time.Second)); err == nil {
		t.Fatal("sold although sold out")
	}
	if b := m.Blocked(now.Add(time.Second)); len(b) != 1 || b[0].Strikes != 1 || b[0].Text != "SkuNotAvailable: none left" {
		t.Errorf("blocked %+v, want a first strike", b)
	}
}

func TestAScopeBlocksWhatItNames(t *testing.T) {
	const all = 21 * 4 * 2 // types × placements × capacity types
	for _, c := range []struct {
		claim string
		scope cloud.Scope
		want  int
	}{
		{"nothing", cloud.Scope{}, 0},
		{"a delay alone is no scope", cloud.Scope{For: time.Hour}, 0},
		{"an offering", cloud.Scope{Type: d2, Zone: z1, CapacityType: model.OnDemand}, 1},
		{"a type", cloud.Scope{Type: d2}, 8},
		{"a type in zones", cloud.Scope{Type: d2, Zonal: true}, 6},
		{"a type outside zones", cloud.Scope{Type: d2, Regional: true, CapacityType: model.Spot}, 1},
		{"a family", cloud.Scope{Family: "standardDSv5Family", CapacityType: model.OnDemand}, 5 * 4},
		{"a family from a size on", cloud.Scope{Family: "standardDSv5Family", CapacityType: model.OnDemand, MinCPU: 8000}, 3 * 4},
		{"a zone", cloud.Scope{Zone: z1}, 21 * 2},
		{"all spot", cloud.Scope{All: true, CapacityType: model.Spot}, all / 2},
		{"everything", cloud.Scope{All: true}, all},
	} {
		t.Run(c.claim, func(t *testing.T) {
			_, m := open(market.Config{}, func(cloud.Order) error {
				return &cloud.Error{Code: cloud.Quota, More: cloud.Extent{Scope: c.scope}, Err: errors.New("no")}
			})
			if _, _, err := m.Launch(t.Context(), request("a", z1, d2), start); cloud.CodeOf(err) != cloud.NoCapacity {
				t.Fatalf("launch: %v", err)
			}
			if keys, _ := unavailable(t, m, start); len(keys) != c.want {
				t.Errorf("%d offerings blocked, want %d", len(keys), c.want)
			}
		})
	}
}

func TestALostAnswerIsFollowedByTheSameQuestion(t *testing.T) {
	s, m := open(market.Config{}, func(o cloud.Order) error {
		if o.Type.Name == d2 {
			return soldOut(d2)(o)
		}
		return errors.New("connection reset")
	})
	for range 2 {
		if _, _, err := m.Launch(t.Context(), request("a", z1, d2, e2, f2), start); cloud.CodeOf(err) != cloud.Unknown {
			t.Fatalf("launch: %v", err)
		}
	}
	// The ranking has changed meanwhile; the open question still comes first, and nothing else is bought beside it.
	s.answer = func(cloud.Order) error { return nil }
	i, _, err := m.Launch(t.Context(), request("a", z1, f2, e2), start)
	if err != nil || i.Offering.Type != e2 {
		t.Errorf("got %v, %v; want %s", i.Offering, err, e2)
	}
	if i, _, _ = m.Launch(t.Context(), request("a", z1, f2, e2), start); i.Offering.Type != f2 {
		t.Errorf("the question stays open after the answer: %v", i.Offering)
	}
	if n := strings.Count(strings.Join(s.asked, " "), f2); n != 1 {
		t.Errorf("asked %v", s.asked)
	}
}

func TestWhatOtherOffersCannotHelpEndsTheAttempt(t *testing.T) {
	for _, code := range []cloud.Code{cloud.Invalid, cloud.Denied, cloud.NotFound, cloud.Unknown, cloud.Throttled} {
		s, m := open(market.Config{}, func(cloud.Order) error { return cloud.Errorf(code, "no") })
		_, tried, err := m.Launch(t.Context(), request("a", z1, d2, e2), start)
		if cloud.CodeOf(err) != code || len(tried) != 1 || len(s.asked) != 1 {
			t.Errorf("%s: %v after %v", code, err, s.asked)
		}
	}
	s, m := open(market.Config{}, soldOut())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Launch(ctx, request("a", z1, d2), start); err == nil || len(s.asked) != 0 {
		t.Errorf("cancelled: %v, asked %v", err, s.asked)
	}
}

func TestThrottlingPausesEveryLaunch(t *testing.T) {
	s, m := open(market.Config{}, func(cloud.Order) error {
		return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: 20 * time.Second}}
	})
	after := func(claim string, now time.Time) time.Duration {
		_, _, err := m.Launch(t.Context(), request(claim, z1, d2), now)
		var e *cloud.Error
		if !errors.As(err, &e) || e.Code != cloud.Throttled {
			t.Fatalf("launch %s: %v, want throttled", claim, err)
		}
		return e.More.RetryAfter
	}
	after("a", start)
	if d := after("b", start.Add(5*time.Second)); d != 15*time.Second || len(s.asked) != 1 {
		t.Errorf("the other claim: come back after %s, asked %v", d, s.asked)
	}
	// A cloud that does not say for how long is given more room each time, up to a bound.
	s.answer = func(cloud.Order) error { return &cloud.Error{Code: cloud.Throttled} }
	now, last := start.Add(time.Minute), time.Duration(0)
	for range 8 {
		after("c", now)
		d := after("c", now)
		if d < last || d > 2*time.Minute {
			t.Errorf("pause %s after %s", d, last)
		}
		now, last = now.Add(d), d
	}
	if last != 2*time.Minute {
		t.Errorf("the last pause is %s, want the bound", last)
	}
	s.answer = soldOut()
	if _, _, err := m.Launch(t.Context(), request("d", z1, d2), now); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestAttemptsAreBoundedAndGoOnWhereTheyStopped(t *testing.T) {
	s, m := open(market.Config{MaxAttempts: 2}, soldOut(d2, e2))
	_, tried, err := m.Launch(t.Context(), request("a", z1, d2, e2, f2), start)
	if cloud.CodeOf(err) != cloud.Throttled || len(tried) != 2 {
		t.Fatalf("first: %v, %v", tried, err)
	}
	if i, _, err := m.Launch(t.Context(), request("a", z1, d2, e2, f2), start.Add(time.Second)); err != nil || i.Offering.Type != f2 {
		t.Errorf("second: %v, %v", i.Offering, err)
	}
	// Refusals that teach nothing would be met again: then nothing is left.
	s.answer = func(cloud.Order) error { return cloud.Errorf(cloud.Quota, "no public addresses left") }
	if _, _, err := m.Launch(t.Context(), request("b", "eastus-2", d2, e2, f2), start); cloud.CodeOf(err) != cloud.NoCapacity {
		t.Errorf("nothing learnt: %v", err)
	}
}

func TestLaunchesArePaced(t *testing.T) {
	s, m := open(market.Config{Rate: 1, Burst: 3}, soldOut())
	codes := []cloud.Code{}
	for i := range 5 {
		_, _, err := m.Launch(t.Context(), request(fmt.Sprint(i), z1, d2), start)
		codes = append(codes, cloud.CodeOf(err))
	}
	if len(s.asked) != 3 || codes[3] != cloud.Throttled || codes[4] != cloud.Throttled {
		t.Errorf("asked %v, codes %v", s.asked, codes)
	}
	if _, _, err := m.Launch(t.Context(), request("later", z1, d2), start.Add(10*time.Second)); err != nil {
		t.Errorf("when all others had their turn: %v", err)
	}
}

// Of a thousand claims each comes back once, when there is a token for it; the machines are bought as fast as the pace allows, in the order of asking.
func TestPacedLaunchesComeBackOnce(t *testing.T) {
	const claims, burst, pace = 1000, 200, 20
	s, m := open(market.Config{Rate: pace, Burst: burst}, soldOut())
	due, asked, last := map[int]time.Time{}, 0, start
	for i := range claims {
		due[i] = start
	}
	for now := start; len(due) > 0 && now.Before(start.Add(time.Hour)); now = now.Add(10 * time.Millisecond) {
		for i := range claims {
			at, waits := due[i]
			if !waits || at.After(now) {
				continue
			}
			asked++
			_, _, err := m.Launch(t.Context(), request(fmt.Sprint(i), z1, d2), now)
			var e *cloud.Error
			if err != nil && errors.As(err, &e) {
				due[i] = now.Add(e.More.RetryAfter)
				continue
			}
			delete(due, i)
			last = now
		}
	}
	if most := 2*claims - burst; len(s.asked) != claims || asked > most {
		t.Errorf("%d machines were bought in %d tries; want %d in %d at most", len(s.asked), asked, claims, most)
	}
	if took, least := last.Sub(start), (claims-burst)*time.Second/pace; took < least-time.Second || took > least+time.Second {
		t.Errorf("it took %v, at that pace it is %v", took, least)
	}
}

// A cloud that asked to wait is not asked by all at once afterwards, and those who come anew wait behind the others.
func TestTurnsAfterAPause(t *testing.T) {
	s, m := open(market.Config{Rate: 1, Burst: 2}, soldOut())
	ask := func(claim string, at time.Time) time.Duration {
		_, _, err := m.Launch(t.Context(), request(claim, z1, d2), at)
		var e *cloud.Error
		if err == nil || !errors.As(err, &e) {
			return 0
		}
		return e.More.RetryAfter
	}
	var waits []time.Duration
	for i := range 6 {
		waits = append(waits, ask(fmt.Sprint(i), start))
	}
	if want := []time.Duration{0, 0, 1500 * time.Millisecond, 2500 * time.Millisecond, 3500 * time.Millisecond, 4500 * time.Millisecond}; !slices.Equal(waits, want) {
		t.Errorf("told to wait %v, want %v", waits, want)
	}
	if d := ask("new", start.Add(1200*time.Millisecond)); d < 4*time.Second {
		t.Errorf("who comes anew is told %v, and four others wait", d)
	}
	s.answer = func(cloud.Order) error {
		return &cloud.Error{Code: cloud.Throttled, More: cloud.Extent{RetryAfter: time.Minute}}
	}
	ask("2", start.Add(1500*time.Millisecond))
	s.answer = soldOut()
	over, now := start.Add(90*time.Second), 0
	for i := 2; i < 6; i++ {
		if ask(fmt.Sprint(i), over) == 0 {
			now++
		}
	}
	if now != 2 {
		t.Errorf("%d are let through after the pause, and two tokens are there", now)
	}
}

func TestAMachineThatFailedLaterTeachesOnce(t *testing.T) {
	_, m := open(market.Config{}, soldOut())
	i := model.Instance{ID: "id", State: model.Failed, FailureCode: string(cloud.NoCapacity), FailureText: "AllocationFailed",
		Offering: model.OfferingKey{Type: d2, Zone: z1, CapacityType: model.OnDemand}}
	for k := range 10 {
		m.Failed(i, start.Add(time.Duration(k)*time.Minute))
	}
	if b := m.Blocked(start.Add(time.Minute)); len(b) != 1 || b[0].Until != start.Add(3*time.Minute) {
		t.Errorf("blocked %+v, want one block of 3 minutes", b)
	}
	if b := m.Blocked(start.Add(4 * time.Minute)); len(b) != 0 {
		t.Errorf("blocked %+v after its time", b)
	}
	i.ID, i.FailureCode = "other", string(cloud.Unknown)
	m.Failed(i, start)
	if b := m.Blocked(start.Add(4 * time.Minute)); len(b) != 0 {
		t.Errorf("an unknown failure blocks %+v", b)
	}
}

func TestWhatIsInFlightCountsAgainstTheQuota(t *testing.T) {
	s, m := open(market.Config{}, soldOut())
	s.left, s.seen, s.bound = 5000, start, true
	for _, claim := range []string{"a", "b"} {
		if _, _, err := m.Launch(t.Context(), request(claim, z1, d2), start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	_, tried, err := m.Launch(t.Context(), request("c", z1, d2), start.Add(2*time.Second))
	if cloud.CodeOf(err) != cloud.NoCapacity || len(tried) != 0 || !strings.Contains(err.Error(), "quota standardDSv5Family has 1 cores left") {
		t.Errorf("third: %v, tried %v", err, tried)
	}
	// Measured anew, the numbers speak for themselves.
	s.left, s.seen = 2000, start.Add(3*time.Second)
	if _, _, err := m.Launch(t.Context(), request("c", z1, d2), start.Add(4*time.Second)); err != nil {
		t.Errorf("after a new measurement: %v", err)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	n := 0
	_, m := open(market.Config{MaxBlocks: 40}, func(cloud.Order) error {
		n++
		return &cloud.Error{Code: cloud.NoCapacity, More: cloud.Extent{Scope: cloud.Scope{Type: fmt.Sprint(n), For: time.Duration(n) * time.Minute}}, Err: errors.New("no")}
	})
	const asked = 100
	for range asked {
		if _, _, err := m.Launch(t.Context(), request("a", z1, d2), start); err == nil {
			t.Fatal("sold")
		}
	}
	b := m.Blocked(start)
	if len(b) != 40 || b[0].Scope.Type != fmt.Sprint(asked) || b[len(b)-1].Scope.Type != fmt.Sprint(asked-40+1) {
		t.Errorf("%d blocks from %v to %v, want the 40 that last longest", len(b), b[0].Scope, b[len(b)-1].Scope)
	}
}

// TestMemoryMatchesAPlainList compares the memory with a list that is searched from the front, for refusals whose
// duration the driver gives.
func TestMemoryMatchesAPlainList(t *testing.T) {
	cat := memcloud.SmallCatalog("eastus")
	rapid.Check(t, func(t *rapid.T) {
		var scope cloud.Scope
		_, m := open(market.Config{Burst: 1000}, func(cloud.Order) error {
			return &cloud.Error{Code: cloud.NoCapacity, More: cloud.Extent{Scope: scope}, Err: errors.New("no")}
		})
		until := map[cloud.Scope]time.Time{}
		now := start
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "s")) * time.Second)
			scope = cloud.Scope{
				Type:         rapid.SampledFrom([]string{"", d2, f2}).Draw(t, "type"),
				Zone:         rapid.SampledFrom([]string{"", "0", z1}).Draw(t, "zone"),
				CapacityType: rapid.SampledFrom([]string{"", model.Spot}).Draw(t, "capacity"),
				Zonal:        rapid.Bool().Draw(t, "zonal"),
			}
			plain := scope
			scope.For = time.Duration(rapid.IntRange(1, 900).Draw(t, "for")) * time.Second
			// Each launch asks for a type of its own name, so that what is closed never keeps it from being refused.
			r := request(fmt.Sprint(i), "eastus-3", "Standard_E32s_v5")
			r.Options[0].Type.Name, r.Options[0].Offering.Type, r.Options[0].Offering.Zone = fmt.Sprint("t", i), fmt.Sprint("t", i), "0x"
			_, tried, _ := m.Launch(context.Background(), r, now)
			if end := now.Add(scope.For); len(tried) == 1 && plain != (cloud.Scope{}) && end.After(until[plain]) {
				until[plain] = end
			}
		}
		got, err := m.Offerings(context.Background(), class, now)
		if err != nil {
			t.Fatal(err)
		}
		for i, typ := range cat.Types {
			for j, o := range typ.Offerings {
				want := true
				for s, end := range until {
					hit := (s.Type == "" || s.Type == typ.Name) && (s.Zone == "" || s.Zone == o.Zone) &&
						(s.CapacityType == "" || s.CapacityType == o.CapacityType) && (!s.Zonal || o.Zone != "0")
					want = want && !(hit && end.After(now))
				}
				if got.Types[i].Offerings[j].Available != want {
					t.Fatalf("%s: available %v, want %v with %v", o.Key(), !want, want, until)
				}
			}
		}
	})
}

// TestWhatIsReservedIsCountedDown launches what the cloud keeps two of: each launch since it counted takes one, until none is left.
func TestWhatIsReservedIsCountedDown(t *testing.T) {
	cat := memcloud.SmallCatalog("eastus")
	two := int64(2)
	kept := &cat.Types[0].Offerings[0]
	kept.CapacityType, kept.Supply, kept.SupplyAt = model.Reserved, &two, start
	m := market.New(&shop{Cloud: memcloud.New(memcloud.Config{Catalog: cat}), answer: func(cloud.Order) error { return nil }}, market.Config{})
	var epoch uint64
	for n := int64(2); n >= 0; n-- {
		now := start.Add(time.Minute * time.Duration(3-n))
		got, err := m.Offerings(t.Context(), class, now)
		if err != nil {
			t.Fatal(err)
		}
		o := got.Types[0].Offerings[0]
		if o.Supply == nil || *o.Supply != n || o.Available != (n > 0) || (o.Unavailable == "") != (n > 0) || got.Epoch <= epoch {
			t.Fatalf("with %d left: %+v in epoch %d after %d", n, o, got.Epoch, epoch)
		}
		epoch = got.Epoch
		r := market.Request{Order: cloud.Order{Claim: fmt.Sprint("c", n), ClaimUID: fmt.Sprint("u", n), Class: class},
			Options: []market.Option{{Type: got.Types[0], Offering: o}}}
		if _, _, err := m.Launch(t.Context(), r, now); err != nil {
			t.Fatal(err)
		}
	}
	if two != 2 {
		t.Error("the fleet's own catalogue was changed")
	}
}

func TestOverTheTwinTheCheapestThatIsLeftIsBought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twin := memcloud.New(memcloud.Config{Catalog: memcloud.SmallCatalog("eastus"), BootDelay: time.Minute})
		m := market.New(twin, market.Config{})
		twin.SellOutType(d2, memcloud.AtOnce)
		i, tried, err := m.Launch(t.Context(), request("a", z1, d2, e2), time.Now())
		if err != nil || i.Offering.Type != e2 || len(tried) != 2 {
			t.Fatalf("got %v, %v after %v", i.Offering, err, tried)
		}
		if l, err := m.List(t.Context()); err != nil || len(l) != 1 {
			t.Errorf("listed %v, %v", l, err)
		}
		if r, err := m.Inspect(t.Context(), class, "1.37.1"); err != nil || r.KubernetesVersion != "1.37.1" {
			t.Errorf("inspect %v, %v", r, err)
		}
		if err := m.Terminate(t.Context(), i.ID); err != nil {
			t.Errorf("terminate: %v", err)
		}
	})
}
