package place_test

import (
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
	"pgregory.net/rapid"
)

// drawer writes a random world line by line.
type drawer struct {
	t *rapid.T
	b strings.Builder
}

func (d *drawer) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }
func (d *drawer) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(d.t, label)
}
func (d *drawer) n(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(d.t, label) }

// drawWorld is small but has a bit of everything.
func drawWorld(t *rapid.T) (model.World, string) {
	d := &drawer{t: t}
	types := d.n("types", 1, 6)
	for i := range types {
		cpu := 1 << d.n("cpu", 1, 4)
		extra := d.pick("type-extra", "", "", " sold-out=1/on-demand", " either.kubernetes.azure.com/mode=system,user",
			" label.kubernetes.io/arch=arm64", " price.1/reserved=0.000001 supply.1/reserved=1", " price.1/reserved=0.0001 supply.1/reserved=3", " olabel.1/spot.karpenter.azure.com/ultra=true", " example.com/gpu=2")
		d.line("type T%d attach.disk=3 family=F%d cpu=%d memory=%dGi alloc.cpu=%dm zones=%s price=%d.%d%d spot=0.%d label.karpenter.azure.com/sku-family=F%d%s",
			i, i%2, cpu, cpu*d.n("ratio", 1, 8), cpu*1000-d.n("kept", 50, 300), d.pick("zones", "1", "1,2", "0,1,2"), d.n("p0", 0, 1), d.n("p1", 1, 9), i,
			d.n("spot", 1, 9), i%2, extra)
	}
	pools := d.n("pools", 1, 3)
	for i := range pools {
		d.line("pool p%d weight=%d%s%s%s%s", i, d.n("weight", 0, 1),
			d.pick("limit", "", "", " limit.cpu=6", " limit.nodes=2", " limit.cpu=20 limit.memory=40Gi"),
			d.pick("req", "", " req=karpenter.sh/capacity-type:In:on-demand", " req=karpenter.azure.com/sku-family:In:F0", " req=team:In:a,b",
				" req=karpenter.azure.com/sku-family:Exists::2", " req=team:Exists", " req=kubernetes.azure.com/mode:In:system"),
			d.pick("taint", "", "", " taint=gpu=x:NoSchedule", " startup-taint=cilium:NoExecute"),
			d.pick("label", "", " label.team=a", " not-ready"))
	}
	for i := range d.n("daemons", 0, 2) {
		d.line("daemon d%d cpu=%dm memory=50Mi%s", i, d.n("daemon", 10, 400), d.pick("daemon-extra", " tolerate=*", "", " select.team=a", " select.karpenter.azure.com/sku-family=F1", " example.com/gpu=1"))
	}
	for i := range d.n("nodes", 0, 2) {
		d.line("node n%d pool=p0 zone=1 cpu=4 memory=8Gi%s", i, d.pick("node", " initialized", " not-ready taint=node.kubernetes.io/not-ready:NoSchedule", " initialized cordoned",
			" initialized deleting", " initialized taint=gpu=x:NoSchedule", " initialized label.team=b"))
		d.line("claim c-n%d pool=p0 node=n%d cpu=4 memory=8Gi alloc.cpu=3800m is=Launched%s", i, i, d.pick("node-claim", "", "", " deleting"))
		d.line("pod bound%d cpu=%dm node=n%d", i, d.n("bound", 1, 30)*100, i)
	}
	for i := range d.n("running", 0, 3) {
		d.line("pod run%d cpu=100m node=n%d%s%s", i, i%2, d.pick("running-label", "", " label.app=a", " label.app=b", " label.app=a terminating"),
			d.pick("running-tie", "", "", " apart=host:app=a", " apart=zone:app=b", " apart=karpenter.sh/capacity-type:app=a", " port=80", " volume=run:disk"))
	}
	for i := range d.n("claims", 0, 2) {
		d.line("claim c%d pool=p0 requests.cpu=%d requests.pods=3%s", i, d.n("claim", 1, 3), d.pick("claim-extra", "", " req=team:In:a", " req=karpenter.sh/capacity-type:In:spot",
			" taint=gpu=x:NoSchedule", " req=kubernetes.azure.com/mode:In:user"))
	}
	for i := range d.n("groups", 1, 4) {
		extra := d.pick("pod-extra", "", "", " select.team=a", " select.team=b", " affinity=karpenter.azure.com/sku-family:In:F1", " select.kubernetes.azure.com/mode=user",
			" affinity=topology.kubernetes.io/zone:In:2 affinity=karpenter.sh/capacity-type:In:spot;team:NotIn:b", " affinity=team:In:a affinity=team:In:b;karpenter.azure.com/sku-family:In:F0",
			" affinity=karpenter.azure.com/ultra:DoesNotExist", " example.com/gpu=1", " needs=resource-claims", " select.kubernetes.io/hostname=n0")
		d.line("pod g%d x%d cpu=%dm memory=%dMi%s%s", i, d.n("count", 1, 9), d.n("pod-cpu", 1, 45)*100, d.n("pod-memory", 1, 80)*100,
			extra, d.pick("tolerate", "", " tolerate=gpu:NoSchedule")+d.ties())
	}
	for i := range d.n("moving", 0, 3) { // from nodes that leave, if theirs does
		d.line("pod move%d cpu=200m memory=100Mi node=n%d%s%s", i, i%2, d.pick("movable", "", "", " do-not-disrupt=true", " not-ready"), d.ties())
	}
	d.line("pdb kept allowed=%s pods=%s%s", d.pick("allowed", "0", "1"), d.pick("covered", "default/move0", "default/move1,default/run0", "default/bound0"),
		d.pick("unready", "", " always-allow-unready"))
	w, err := worldtext.Parse(d.b.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, d.b.String())
	}
	return w, d.b.String()
}

// ties draws labels and what a pod asks of other pods, ports and volumes. Most ask about their own like, as nearly all people do; the
// rest ask about others, about both, or about whole namespaces.
func (d *drawer) ties() string {
	app := d.pick("app", "", "a", "a", "b")
	if app == "" {
		return d.pick("things", "", "", "", " port=80", " port=80@10.0.0.1", " volume=v:disk", " volume=z:disk:topology.kubernetes.io/zone:In:1|topology.kubernetes.io/zone:In:2")
	}
	out := " label.app=" + app + d.pick("tier", "", "", "", " label.tier=x") + d.pick("priority", "", "", "", " priority=100") +
		d.pick("spread", "", "", "", " spread=zone:1:app=X", " spread=zone:2:app=X", " spread=host:1:app=X", " spread=host:2:app=X spread=zone:1:app=X",
			" spread=zone:1:app=X:any-affinity", " spread=zone:1:app=X:honor-taints", " spread=karpenter.sh/capacity-type:1:app=X", " spread=team:1:app=X",
			" spread=zone:1:app=X:min=2", " spread=host:1:app=X:min=3", " spread=zone:2:app=X:any-affinity,honor-taints spread=karpenter.sh/capacity-type:1:app=X,tier=x") +
		d.pick("pods", "", "", "", "", " apart=host:app=X", " apart=zone:app=X", " near=zone:app=X", " near=host:app=X",
			" apart=host:app=X:default:x", " apart=karpenter.sh/capacity-type:app=X", " near=karpenter.sh/capacity-type:app=X", " apart=zone:app=X::*",
			" near=team:app=X", " near=zone:app=X near=karpenter.sh/capacity-type:app=X", " near=zone:app=X apart=host:app=X") +
		d.pick("wish", "", "", "", "", " spread=zone:1:app=X:soft", " prefer-apart=10:host:app=X", " prefer-near=50:zone:app=X", " prefer-node=100:topology.kubernetes.io/zone:In:2",
			" prefer-apart=100:zone:app=X prefer-node=1:team:In:b")
	for strings.Contains(out, "X") {
		out = strings.Replace(out, "X", d.pick("whom", app, app, app, "a", "b"), 1)
	}
	return out
}

func TestEveryPlanPassesTheAudit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		p := place.Decide(place.Input{World: w, Limit: rapid.SampledFrom([]int{0, 0, 0, 30, 500}).Draw(t, "limit")})
		if f := audit.Check(w, p); len(f) > 0 {
			t.Fatalf("%v\nworld:\n%s\nplan:\n%s", f, text, p)
		}
		if mentioned, want := count(p), len(place.Waiting(w)); mentioned != want {
			t.Fatalf("%d pods mentioned, want %d\nworld:\n%s\nplan:\n%s", mentioned, want, text, p)
		}
	})
}

// TestEveryOfferingIsRefusedForOneReason adds up what removed the offerings of each pool that refuses a pod.
func TestEveryOfferingIsRefusedForOneReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		p := place.Decide(place.Input{World: w, Limit: rapid.SampledFrom([]int{0, 0, 30}).Draw(t, "limit")})
		for _, l := range p.Unscheduled {
			if l.Why == "" && len(l.Refusals) != len(w.Pools) {
				t.Fatalf("pod %s: %d pools refuse it of %d\nworld:\n%s\nplan:\n%s", l.Pod, len(l.Refusals), len(w.Pools), text, p)
			}
			for _, r := range l.Refusals {
				sum, want := 0, 0
				for _, x := range r.Removed {
					sum += x.Offerings
				}
				pool := w.Pools[slices.IndexFunc(w.Pools, func(p model.Pool) bool { return p.Name == r.Pool })]
				for _, typ := range w.Catalog(pool.Name, pool.Class).Types {
					want += len(typ.Offerings)
				}
				if last := r.Removed[len(r.Removed)-1]; sum != want || last.Why != r.Why || r.Detail == "" {
					t.Fatalf("pod %s, %s: removes %d of %d offerings\nworld:\n%s\nplan:\n%s", l.Pod, r, sum, want, text, p)
				}
			}
		}
	})
}

func count(p place.Plan) int {
	n := len(p.Existing) + len(p.Unscheduled)
	for _, b := range p.NewClaims {
		n += len(b.Pods)
	}
	return n
}

func TestShuffledWorldGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		want := place.Decide(place.Input{World: w})
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		if d := cmp.Diff(want, place.Decide(place.Input{World: shuffled(r, w)})); d != "" {
			t.Fatalf("%s\nworld:\n%s", d, text)
		}
	})
}

// TestAPoolThatTakesNobodyChangesNothing adds a pool whose taint no pod tolerates.
func TestAPoolThatTakesNobodyChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		want := place.Decide(place.Input{World: w})
		other := w
		shut := model.Pool{Name: "a-shut", UID: "pool-a-shut", Class: w.Pools[0].Class, Conditions: []model.Condition{{Type: model.Ready, Status: model.True}},
			Taints: []model.Taint{{Key: "nobody", Value: "here", Effect: model.NoSchedule}}}
		other.Pools = append([]model.Pool{shut}, w.Pools...)
		got := place.Decide(place.Input{World: other})
		if d := cmp.Diff(want.NewClaims, got.NewClaims); d != "" || want.Price != got.Price {
			t.Fatalf("%s\nworld:\n%s", d, text)
		}
		if d := cmp.Diff(want.Existing, got.Existing); d != "" {
			t.Fatalf("%s\nworld:\n%s", d, text)
		}
	})
}

func shuffled(r *rand.Rand, w model.World) model.World {
	w.Pools, w.Claims, w.Nodes = mix(r, w.Pools), mix(r, w.Claims), mix(r, w.Nodes)
	w.Pods, w.Daemons, w.Classes = mix(r, w.Pods), mix(r, w.Daemons), mix(r, w.Classes)
	cats := map[model.ClassRef]model.Catalog{}
	for k, c := range w.Catalogs {
		c.Types = mix(r, c.Types)
		for i := range c.Types {
			c.Types[i].Offerings = mix(r, c.Types[i].Offerings)
		}
		cats[k] = c
	}
	w.Catalogs = cats
	return w
}

func mix[T any](r *rand.Rand, list []T) []T {
	out := append([]T(nil), list...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestBoughtPlanIsNotBoughtAgain plans, creates the claims, and looks again: pods that machines were bought for are expected on these
// machines, and nothing is bought for them. Pods that were left over may get their turn now.
func TestBoughtPlanIsNotBoughtAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		p := place.Decide(place.Input{World: w})
		after := buy(w, p)
		again := place.Decide(place.Input{World: after})
		there := map[model.PodKey]bool{}
		for _, f := range again.Existing {
			there[f.Pod] = f.Claim != ""
		}
		lost := 0
		for _, b := range p.NewClaims {
			for _, k := range b.Pods {
				if !there[k] {
					lost++
				}
			}
		}
		if lost > 0 {
			t.Fatalf("%d planned pods are on no claim:\n%s\nafter:\n%s\nworld:\n%s", lost, again, p, text)
		}
		if f := audit.Check(after, again); len(f) > 0 {
			t.Fatalf("%v\nworld:\n%s\nplan:\n%s", f, worldtext.Print(after), again)
		}
	})
}

// TestThePlanDoesNotDependOnProcessors: the same bytes for any GOMAXPROCS.
func TestThePlanDoesNotDependOnProcessors(t *testing.T) {
	had := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(had)
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		runtime.GOMAXPROCS(1)
		want := place.Decide(place.Input{World: w})
		for n := 2; n <= 4; n++ {
			runtime.GOMAXPROCS(n)
			if d := cmp.Diff(want, place.Decide(place.Input{World: w})); d != "" {
				t.Fatalf("with %d processors: %s\nworld:\n%s", n, d, text)
			}
		}
	})
}

func buy(w model.World, p place.Plan) model.World {
	w.Claims = append([]model.Claim(nil), w.Claims...)
	for i, b := range p.NewClaims {
		for _, pool := range w.Pools {
			if pool.Name == b.Pool {
				w.Claims = append(w.Claims, offer.Claim(b, pool, w.Classes[0], offer.ClaimName(b, i, 0)))
			}
		}
	}
	return w
}

func TestAClaimIsLaunchedAsItWasPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		for i, b := range place.Decide(place.Input{World: w}).NewClaims {
			for _, pool := range w.Pools {
				if pool.Name != b.Pool {
					continue
				}
				c := offer.Claim(b, pool, w.Classes[0], offer.ClaimName(b, i, 0))
				got := offer.Options(c, w.Catalogs[c.Class])
				if len(got) < len(b.Options) || got[0] != b.Options[0] {
					t.Fatalf("purchase %d: planned %v, launched with %v\nworld:\n%s", i, b.Options, got, text)
				}
			}
		}
	})
}

func TestNamesOfClaimsAreStableAndSafe(t *testing.T) {
	b := place.NewClaim{Pool: "general-purpose", Pods: []model.PodKey{{Namespace: "a", Name: "x"}, {Namespace: "a", Name: "y"}}}
	name := offer.ClaimName(b, 0, 0)
	b.Pods[0], b.Pods[1] = b.Pods[1], b.Pods[0]
	if again := offer.ClaimName(b, 0, 0); again != name {
		t.Errorf("order of pods changes the name: %s, %s", name, again)
	}
	seen := map[string]bool{name: true}
	for _, n := range []string{offer.ClaimName(b, 1, 0), offer.ClaimName(b, 0, 1)} {
		if seen[n] {
			t.Errorf("%s is given twice", n)
		}
		seen[n] = true
	}
	b.Pool = strings.Repeat("long-name.", 30)
	if n := offer.ClaimName(b, 0, 0); len(n) > 63 || strings.ContainsAny(n[len(n)-6:], "._ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t.Errorf("unsafe name %q", n)
	}
}

// TestBestEffortOnlyAddsPlaces lets minValues give way: the plan is sound, and as many pods have a place.
func TestBestEffortOnlyAddsPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		strict := place.Decide(place.Input{World: w})
		p := place.Decide(place.Input{World: w, MinValues: place.BestEffort})
		if f := audit.Check(w, p); len(f) > 0 {
			t.Fatalf("%v\nworld:\n%s\nplan:\n%s", f, text, p)
		}
		if len(p.Unscheduled) > len(strict.Unscheduled) {
			t.Fatalf("leaves more:\n%s\nthan strict:\n%s\nworld:\n%s", p, strict, text)
		}
	})
}
