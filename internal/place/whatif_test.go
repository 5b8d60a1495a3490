package place_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/karpenter-aks/karpenter/internal/audit"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/worldgen"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
	"pgregory.net/rapid"
)

// TestQuestionsLeaveNoTrace asks about every node, and again: the answers are the same, and so is one from a fresh picture.
func TestQuestionsLeaveNoTrace(t *testing.T) {
	w := workload.Cluster(40, 900, true, 5)
	p := place.NewWhatIf(place.Input{World: w})
	first := map[string]place.Answer{}
	for _, n := range w.Nodes {
		first[n.Name] = p.Without(n.Name)
	}
	for i, n := range w.Nodes {
		if d := cmp.Diff(first[n.Name], p.Without(n.Name)); d != "" {
			t.Fatalf("%s: asked again: %s", n.Name, d)
		}
		if i%8 == 0 {
			if d := cmp.Diff(first[n.Name], place.NewWhatIf(place.Input{World: w}).Without(n.Name)); d != "" {
				t.Fatalf("%s: asked a fresh picture: %s", n.Name, d)
			}
		}
	}
}

// TestWhoLeavesFreesTheLimits takes a node of a pool away whose limits are spent: what is on it may be bought for again, and no more.
func TestWhoLeavesFreesTheLimits(t *testing.T) {
	w, err := worldtext.Parse(`
type D4 cpu=4 memory=16Gi zones=1 price=0.20
type D8 cpu=8 memory=32Gi zones=1 price=0.30
pool general limit.cpu=12 limit.nodes=2
node n1 pool=general type=D8 zone=1 cpu=8 memory=32Gi initialized
node n2 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim c1 pool=general node=n1 is=Launched,Registered,Initialized
pod a cpu=3 node=n1
pod b cpu=4 node=n2
`)
	if err != nil {
		t.Fatal(err)
	}
	p := place.NewWhatIf(place.Input{World: w})
	for range 2 {
		if a := p.Without("n1"); len(a.Buy) != 1 || a.Buy[0].Options[0].Key.Type != "D4" || len(a.Buy[0].Options) != 2 || len(a.Left) > 0 {
			t.Errorf("without n1: %+v", a)
		}
		if a := p.Without("n2"); len(a.Buy) != 0 || len(a.Fits) != 1 {
			t.Errorf("without n2: %+v", a)
		}
		if a := p.Without("n1", "n2"); len(a.Buy) != 1 || len(a.Left) > 0 {
			t.Errorf("without both: %+v", a)
		}
	}
}

// TestAnswersMentionEveryPod compares an answer with the pods that have to go.
func TestAnswersMentionEveryPod(t *testing.T) {
	w := workload.Cluster(40, 2000, true, 6)
	p := place.NewWhatIf(place.Input{World: w})
	bought := 0
	for i := 0; i+1 < len(w.Nodes); i += 2 {
		a := p.Without(w.Nodes[i].Name, w.Nodes[i+1].Name)
		seen := map[model.PodKey]int{}
		for _, f := range a.Fits {
			if f.Node == w.Nodes[i].Name || f.Node == w.Nodes[i+1].Name {
				t.Fatalf("%s goes to %s, which is gone", f.Pod, f.Node)
			}
			seen[f.Pod]++
		}
		for _, b := range a.Buy {
			bought++
			for _, k := range b.Pods {
				seen[k]++
			}
		}
		for _, k := range a.Left {
			seen[k]++
		}
		for _, pod := range w.Pods {
			want := 0
			if pod.Node == w.Nodes[i].Name || pod.Node == w.Nodes[i+1].Name {
				want = 1
			}
			if seen[pod.Key()] != want {
				t.Fatalf("%s is mentioned %d times, want %d", pod.Key(), seen[pod.Key()], want)
			}
		}
	}
	if bought == 0 {
		t.Error("nothing was ever bought; the test asks nothing")
	}
}

// BenchmarkWithout asks what happens without one node of a large cluster.
func BenchmarkWithout(b *testing.B) {
	for _, c := range []struct {
		name     string
		topology bool
	}{{"plain", false}, {"topology", true}} {
		b.Run(c.name+"/nodes=5000", func(b *testing.B) {
			w := workload.Cluster(5000, 150_000, c.topology, 42)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p := place.NewWhatIf(place.Input{World: w})
			runtime.GC()
			runtime.ReadMemStats(&after)
			i := 0
			for b.Loop() {
				p.Without(w.Nodes[i*37%len(w.Nodes)].Name)
				i++
			}
			b.ReportMetric(float64(len(w.Pods)), "pods")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-picture")
		})
	}
}

// TestAnswersPassTheAudit carries a plan out, takes nodes away, and has the audit judge the answer as a plan for the pods that were on them.
func TestAnswersPassTheAudit(t *testing.T) {
	asked, moved, left := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		w = carriedOut(w, place.Decide(place.Input{World: w}))
		p := place.NewWhatIf(place.Input{World: w})
		for i, n := range w.Nodes {
			gone := []string{n.Name}
			if i%2 == 1 {
				gone = append(gone, w.Nodes[i-1].Name)
			}
			a := p.Without(gone...)
			asked, moved, left = asked+1, moved+len(a.Fits), left+len(a.Left)
			plan := place.Plan{Existing: a.Fits, NewClaims: a.Buy, Price: a.Price}
			for _, b := range a.Buy {
				moved += len(b.Pods)
			}
			for _, k := range a.Left {
				plan.Unscheduled = append(plan.Unscheduled, place.Unscheduled{Pod: k, Why: model.WhyNoOfferings})
			}
			if f := audit.Check(bereft(w, gone), plan); len(f) > 0 {
				t.Fatalf("without %v: %v\nworld:\n%s\ncarried out:\n%s\nanswer:\n%s", gone, f, text, worldtext.Print(w), plan)
			}
		}
	})
	if moved < asked {
		t.Errorf("%d pods moved, %d stayed in %d answers: there is little to judge", moved, left, asked)
	}
}

// TestAPriceToKeepChangesNoAnswerThatKeepsIt asks about nodes with and without a price to keep: either the answers are the same, or the one without
// leaves pods, or costs at least what the other says, and that is more than the price.
func TestAPriceToKeepChangesNoAnswerThatKeepsIt(t *testing.T) {
	same, dear := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w, text := drawWorld(t)
		w = carriedOut(w, place.Decide(place.Input{World: w}))
		p := place.NewWhatIf(place.Input{World: w})
		for _, n := range w.Nodes {
			most := model.Price(rapid.Int64Range(0, 2_000_000).Draw(t, "most"))
			free, kept := p.Without(n.Name), p.Within(most, n.Name)
			switch {
			case kept.AtLeast == 0:
				same++
				if d := cmp.Diff(free, kept); d != "" {
					t.Fatalf("without %s for at most %s: %s\nworld:\n%s", n.Name, most, d, text)
				}
			case kept.AtLeast <= most, len(free.Left) == 0 && free.Price < kept.AtLeast:
				t.Fatalf("without %s for at most %s: at least %s, but %s do\nworld:\n%s", n.Name, most, kept.AtLeast, free.Price, text)
			default:
				dear++
			}
		}
	})
	if same == 0 || dear == 0 {
		t.Errorf("%d answers were the same, %d too dear: there is little to judge", same, dear)
	}
}

// carriedOut is the world when all machines of a plan are there, bought as their first option says, and its pods are bound. Pods that it
// leaves are gone.
func carriedOut(w model.World, p place.Plan) model.World {
	at := map[model.PodKey]string{}
	for _, f := range p.Existing {
		at[f.Pod] = f.Node // in flight when there is none: such pods are gone too
	}
	for i, b := range p.NewClaims {
		pool := w.Pools[slices.IndexFunc(w.Pools, func(x model.Pool) bool { return x.Name == b.Pool })]
		c := offer.Claim(b, pool, w.Classes[0], offer.ClaimName(b, i, 0))
		typ, _ := w.Catalogs[pool.Class].Type(b.Options[0].Key.Type)
		n := model.Node{Name: c.Name, ProviderID: "cloud:///" + c.Name, Labels: map[string]string{model.LabelHostname: c.Name, model.LabelPool: b.Pool,
			model.LabelRegistered: "true", model.LabelInitialized: "true"}, Capacity: typ.Capacity, Allocatable: typ.Allocatable, Ready: model.True,
			Taints: pool.Taints, AttachLimits: typ.AttachLimits}
		for _, labels := range []map[string]string{pool.Labels, typ.Labels, offeringOf(typ, b.Options[0].Key).Labels} {
			maps.Copy(n.Labels, labels)
		}
		for _, r := range b.Requirements {
			if r.Op == model.In && len(r.Values) == 1 {
				n.Labels[r.Key] = r.Values[0]
			}
		}
		c.NodeName, c.ProviderID, c.Capacity, c.Allocatable, c.Annotations = n.Name, n.ProviderID, n.Capacity, n.Allocatable, nil
		for _, typ := range []string{model.Launched, model.Registered, model.Initialized} {
			c.Conditions = append(c.Conditions, model.Condition{Type: typ, Status: model.True})
		}
		w.Nodes, w.Claims = append(slices.Clip(w.Nodes), n), append(slices.Clip(w.Claims), c)
		for _, k := range b.Pods {
			at[k] = n.Name
		}
	}
	var pods []model.Pod
	for _, p := range w.Pods {
		if node, planned := at[p.Key()]; planned {
			p.Node, p.Unschedulable = node, false
		}
		if p.Node != "" {
			pods = append(pods, p)
		}
	}
	w.Pods = pods
	return w
}

func offeringOf(t model.InstanceType, k model.OfferingKey) model.Offering {
	return t.Offerings[slices.IndexFunc(t.Offerings, func(o model.Offering) bool { return o.Key() == k })]
}

// bereft is the world without nodes: who can go elsewhere waits.
func bereft(w model.World, gone []string) model.World {
	provider := map[string]bool{}
	for _, n := range w.Nodes {
		provider[n.ProviderID] = provider[n.ProviderID] || slices.Contains(gone, n.Name)
	}
	w.Nodes = slices.DeleteFunc(slices.Clone(w.Nodes), func(n model.Node) bool { return slices.Contains(gone, n.Name) })
	w.Claims = slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return c.ProviderID != "" && provider[c.ProviderID] })
	var pods []model.Pod
	for _, p := range w.Pods {
		if slices.Contains(gone, p.Node) {
			if !p.Reschedulable() {
				continue
			}
			p.Node, p.Unschedulable = "", true
		}
		pods = append(pods, p)
	}
	w.Pods = pods
	return w
}

// TestAnswersThatStandAreAsIfTheyHadHappened lets answers stand, one after the other, and carries each out in a world of its own: what is asked
// next is answered as a fresh picture of that world answers it, as far as what stands bought nothing (of limits that seated pods set to
// others a picture knows nothing, so now and then an answer is another); and the audit takes all answers that stand, together, as one plan.
func TestAnswersThatStandAreAsIfTheyHadHappened(t *testing.T) {
	stood, asked, alike, bought := 0, 0, 0, 0
	for seed := range uint64(500) {
		w := worldgen.Small(seed)
		text := worldtext.Print(w)
		w = carriedOut(w, place.Decide(place.Input{World: w}))
		p := place.NewWhatIf(place.Input{World: w})
		var all place.Plan
		var gone []string
		moved := map[model.PodKey]bool{}
		now := w
		for _, n := range w.Nodes {
			if slices.ContainsFunc(all.Existing, func(f place.Nomination) bool { return f.Node == n.Name }) {
				continue
			}
			if len(all.NewClaims) == 0 && len(gone) > 0 {
				fresh := place.NewWhatIf(place.Input{World: now}).Without(n.Name)
				asked++
				a := p.Without(n.Name)
				if len(a.Left) == len(fresh.Left) && a.Price == fresh.Price {
					alike++
				}
			}
			a, stands := p.Try([]string{n.Name}, func(a place.Answer) bool {
				coming := slices.ContainsFunc(a.Fits, func(f place.Nomination) bool { return f.Node == "" }) // carriedOut knows no such places
				return len(a.Buy) <= 1 && !coming
			})
			if !stands {
				continue
			}
			stood, bought = stood+1, bought+len(a.Buy)
			gone = append(gone, n.Name)
			for _, f := range a.Fits {
				if moved[f.Pod] {
					t.Fatalf("%s moves twice", f.Pod)
				}
				moved[f.Pod] = true
			}
			all.Existing, all.NewClaims, all.Price = append(all.Existing, a.Fits...), append(all.NewClaims, a.Buy...), all.Price+a.Price
			now = carriedOut(bereft(w, gone), all)
		}
		if f := audit.Check(bereft(w, gone), all); len(f) > 0 {
			t.Fatalf("without %v: %v\nworld:\n%s\ncarried out:\n%s\nplan:\n%s", gone, f, text, worldtext.Print(w), all)
		}
	}
	if stood < 500 || asked < 200 || bought < 100 {
		t.Errorf("%d answers stood, %d questions were compared, %d machines were bought: there is little to judge", stood, asked, bought)
	}
	if (asked-alike)*100 > 3*asked {
		t.Errorf("of %d answers %d are as a fresh picture gives them", asked, alike)
	}
	t.Logf("%d answers stood, %d machines were bought, %d of %d answers are as a fresh picture gives them", stood, bought, alike, asked)
}

// TestWaitingPodsTakeTheirRoomFirst asks about a node whose pod would fit where a waiting pod goes.
func TestWaitingPodsTakeTheirRoomFirst(t *testing.T) {
	w, err := worldtext.Parse(`
type D4 cpu=4 memory=16Gi zones=1 price=0.20
pool general
node n1 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
node n2 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
pod a cpu=1 node=n1
pod b cpu=1 node=n2
pod w cpu=2500m
`)
	if err != nil {
		t.Fatal(err)
	}
	if a := place.NewWhatIf(place.Input{World: w}).Without("n1"); len(a.Fits) != 1 || len(a.Buy) != 0 {
		t.Errorf("nobody waits: %+v", a)
	}
	p := place.NewWhatIf(place.Input{World: w, Pods: place.Waiting(w)})
	at := p.Awaited()
	if len(at) != 1 {
		t.Fatalf("awaited: %v", at)
	}
	other := map[string]string{"n1": "n2", "n2": "n1"}[at[0].Node]
	if a := p.Without(other); len(a.Fits) != 0 || len(a.Buy) != 1 {
		t.Errorf("a pod waits: %+v", a)
	}
}

// TestRoomIsHeldForPodsOfMarkedNodes asks on behalf of others, and of the pod itself, about a machine that was bought for a pod whose node is
// marked to leave.
func TestRoomIsHeldForPodsOfMarkedNodes(t *testing.T) {
	w, err := worldtext.Parse(`
type D4 cpu=4 memory=16Gi zones=1 price=0.20
pool general
node old pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized taint=karpenter.sh/disrupted:NoSchedule
node fresh pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim c-fresh pool=general node=fresh provider-id=p-fresh is=Launched,Registered,Initialized annotation.karpenter.azure.com/planned-pods=default/a
pod a cpu=2500m node=old
pod w cpu=2
`)
	if err != nil {
		t.Fatal(err)
	}
	w.Nodes[0].ProviderID = "p-fresh" // sorted by name: fresh is the first
	if plan := place.Decide(place.Input{World: w}); len(plan.Existing) != 0 || len(plan.NewClaims) != 1 {
		t.Errorf("a waiting pod takes the room: %v", plan)
	}
	p := place.NewWhatIf(place.Input{World: w, Pods: place.Waiting(w)})
	if a := p.Without("old"); len(a.Fits) != 1 || a.Fits[0].Node != "fresh" || len(a.Buy) != 0 {
		t.Errorf("the pod that it was bought for: %+v", a)
	}
	p.Close("fresh")
	if a := p.Without("old"); len(a.Fits) != 0 || len(a.Buy) != 1 {
		t.Errorf("a closed node: %+v", a)
	}
}

func TestWhatIfsLeaveOutAMechanismThatThereIs(t *testing.T) {
	if !slices.Contains(place.Mechanisms(), "column generation") {
		t.Errorf("there are %v", place.Mechanisms())
	}
}
