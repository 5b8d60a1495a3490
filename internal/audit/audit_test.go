package audit

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

const text = `
type D2 family=D cpu=2 memory=8Gi zones=1,2 price=0.10 label.fam=D
type D4 family=D cpu=4 memory=16Gi zones=1,2 price=0.20 label.fam=D
type D8 family=D cpu=8 memory=32Gi zones=1 price=0.40 label.fam=D sold-out=1/on-demand
type E4 family=E cpu=4 memory=32Gi zones=1 price=0.22 label.fam=E
pool general taint=soft:PreferNoSchedule limit.cpu=12 req=fam:In:D,E:2
pool gpu taint=gpu:NoSchedule req=karpenter.azure.com/sku-family:DoesNotExist
pool shut not-ready
daemon agent cpu=200m
node n1 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
node n2 pool=general type=D2 zone=1 cpu=2 memory=8Gi initialized cordoned taint=x:NoSchedule
claim c1 req=node.kubernetes.io/instance-type:In:D2,D4 requests.cpu=1
pod web x2 cpu=1700m
pod busy cpu=2500m node=n1
pod tiny cpu=1
pod flat cpu=1500m
pod odd cpu=1 needs=volumes
pod arm cpu=100m select.kubernetes.io/arch=arm64
`

func world(t *testing.T) model.World {
	t.Helper()
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sound is a plan for world with all kinds of entries.
func sound(t *testing.T, w model.World) place.Plan {
	t.Helper()
	p := place.Decide(place.Input{World: w})
	if f := Check(w, p); len(f) > 0 {
		t.Fatalf("the plan is unsound to begin with: %v\n%s", f, p)
	}
	if len(p.NewClaims) == 0 || len(p.Existing) < 2 || len(p.Unscheduled) == 0 {
		t.Fatalf("the plan misses a kind of entry:\n%s", p)
	}
	return p
}

func TestBrokenPlansAreCaught(t *testing.T) {
	pod := func(name string) model.PodKey { return model.PodKey{Namespace: "default", Name: name} }
	nominate := func(p *place.Plan, name, node, claim string) {
		p.Unscheduled = slices.DeleteFunc(p.Unscheduled, func(l place.Unscheduled) bool { return l.Pod == pod(name) })
		p.Existing = append(p.Existing, place.Nomination{Pod: pod(name), Node: node, Claim: claim})
	}
	own := func(p *place.Plan) { p.NewClaims[0].Options = slices.Clone(p.NewClaims[0].Options) }
	for _, c := range []struct {
		name  string
		want  Rule
		spoil func(p *place.Plan)
	}{
		{"a pod twice", OnePlace, func(p *place.Plan) { p.Existing = append(p.Existing, p.Existing[0]) }},
		{"an unknown pod", KnownPod, func(p *place.Plan) { p.Existing[0].Pod.Name = "ghost" }},
		{"a pod that runs", KnownPod, func(p *place.Plan) { p.NewClaims[0].Pods = append(p.NewClaims[0].Pods, pod("busy")) }},
		{"a pod with needs", UndecidedPod, func(p *place.Plan) { nominate(p, "odd", "n1", "") }},
		{"a pool that may not buy", OpenPool, func(p *place.Plan) { p.NewClaims[0].Pool = "shut" }},
		{"a pool that does not exist", OpenPool, func(p *place.Plan) { p.NewClaims[0].Pool = "ghost" }},
		{"an option that is sold out", OnSale, func(p *place.Plan) {
			p.NewClaims[0].Options = append(slices.Clone(p.NewClaims[0].Options), place.Option{Key: model.OfferingKey{Type: "D8", Zone: "1", CapacityType: "on-demand"}, Price: 400_000})
		}},
		{"a wrong price", OnSale, func(p *place.Plan) { own(p); p.NewClaims[0].Options[0].Price-- }},
		{"no options", OnSale, func(p *place.Plan) { p.NewClaims[0].Options = nil }},
		{"worst first", BestFirst, func(p *place.Plan) { own(p); slices.Reverse(p.NewClaims[0].Options) }},
		{"a label that no machine has", Labels, func(p *place.Plan) {
			p.Unscheduled = slices.DeleteFunc(p.Unscheduled, func(l place.Unscheduled) bool { return l.Pod == pod("arm") })
			p.NewClaims[0].Pods = append(p.NewClaims[0].Pods, pod("arm"))
		}},
		{"a node with the wrong label", Labels, func(p *place.Plan) { nominate(p, "arm", "n1", "") }},
		{"a claim with the wrong label", Labels, func(p *place.Plan) { nominate(p, "arm", "", "c1") }},
		{"a claim that asks for what no option is", Labels, func(p *place.Plan) {
			p.NewClaims[0].Requirements = append(slices.Clone(p.NewClaims[0].Requirements), model.Requirement{Key: "x", Op: model.Exists})
		}},
		{"a taint", Taints, func(p *place.Plan) { p.NewClaims[0].Pool = "gpu" }},
		{"too many pods", Room, func(p *place.Plan) {
			for _, k := range p.NewClaims[0].Pods {
				p.Existing = slices.DeleteFunc(p.Existing, func(n place.Nomination) bool { return n.Pod == k })
			}
			for _, n := range p.Existing {
				p.NewClaims[0].Pods = append(p.NewClaims[0].Pods, n.Pod)
			}
			p.Existing = nil
		}},
		{"requests that forget the daemons", Room, func(p *place.Plan) { p.NewClaims[0].Requests.CPU -= 200 }},
		{"a full node", Room, func(p *place.Plan) {
			for i := range p.Existing {
				p.Existing[i].Node, p.Existing[i].Claim = "n1", ""
			}
		}},
		{"a full claim", Room, func(p *place.Plan) {
			for i := range p.Existing {
				p.Existing[i].Node, p.Existing[i].Claim = "", "c1"
			}
		}},
		{"more than the limit", Limits, func(p *place.Plan) { p.NewClaims = append(p.NewClaims, p.NewClaims[0], p.NewClaims[0]) }},
		{"too little variety", Variety, func(p *place.Plan) { p.NewClaims[0].Options = p.NewClaims[0].Options[:1] }},
		{"a wrong sum", Sum, func(p *place.Plan) { p.Price++ }},
		{"a claim that asks for anything", Asks, func(p *place.Plan) { p.NewClaims[0].Requirements = nil }},
		{"a cordoned node", Target, func(p *place.Plan) { p.Existing[0].Node, p.Existing[0].Claim = "n2", "" }},
		{"no target", Target, func(p *place.Plan) { p.Existing[0].Node, p.Existing[0].Claim = "", "" }},
		{"an unknown claim", Target, func(p *place.Plan) { p.Existing[0].Node, p.Existing[0].Claim = "", "ghost" }},
		{"a pod left without a word", Reason, func(p *place.Plan) { p.Unscheduled[0].Why, p.Unscheduled[0].Refusals = "", nil }},
	} {
		w := world(t)
		p := sound(t, w)
		p.NewClaims, p.Unscheduled, p.Existing = slices.Clone(p.NewClaims), slices.Clone(p.Unscheduled), slices.Clone(p.Existing)
		p.NewClaims[0].Pods = slices.Clip(p.NewClaims[0].Pods)
		c.spoil(&p)
		if f := Check(w, p); !slices.ContainsFunc(f, func(f Finding) bool { return f.Rule == c.want }) {
			t.Errorf("%s: want %s, found %v\n%s", c.name, c.want, f, p)
		}
	}
}

// TestOnlyMovablePodsAreMoved gives pods of a leaving node another place, whether or not anything may move them.
func TestOnlyMovablePodsAreMoved(t *testing.T) {
	w, err := worldtext.Parse(`
type D8 family=D cpu=8 memory=32Gi zones=1 price=0.40
pool general
node gone pool=general type=D8 zone=1 cpu=8 memory=32Gi initialized deleting
node here pool=general type=D8 zone=1 cpu=8 memory=32Gi initialized
pod free cpu=100m node=gone
pod kept cpu=100m node=gone do-not-disrupt=true
pod guarded cpu=100m node=gone
pod unready cpu=100m node=gone not-ready
pod ends cpu=100m node=gone terminating
pod agent cpu=100m node=gone daemon
pod stays cpu=100m node=here
pdb strict allowed=0 pods=default/guarded
pdb lenient allowed=0 always-allow-unready pods=default/unready
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, may := range map[string]bool{"free": true, "unready": true, "kept": false, "guarded": false, "ends": false, "agent": false, "stays": false} {
		p := place.Plan{Existing: []place.Nomination{{Pod: model.PodKey{Namespace: "default", Name: name}, Node: "here"}}}
		f := Check(w, p)
		if refused := slices.ContainsFunc(f, func(f Finding) bool { return f.Rule == KnownPod }); refused == may || may && len(f) > 0 {
			t.Errorf("%s may move: %t; found %v", name, may, f)
		}
	}
}
