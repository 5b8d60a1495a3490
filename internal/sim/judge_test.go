package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Whoever does what must not be done is caught: the controller is stopped, and its hands do one wrong thing each.
func TestTheJudgeSeesWhatIsWrong(t *testing.T) {
	const setup = "0s pool a after=0s budget=1\n0s app web 3 cpu=1500 mem=512 with=nobody"
	type hands struct {
		w     *wire
		l     *line
		nodes []model.Node
		claim func(model.Node) model.Claim
		pods  []model.Pod
	}
	taint := kube.NodePatch{AddTaints: []model.Taint{drain.Taint()}}
	for kind, wrong := range map[string]func(s *Sim, h hands) error{
		"nothing": func(*Sim, hands) error { return nil },
		"budgets": func(s *Sim, h hands) error {
			_ = h.w.PatchNode(t.Context(), h.nodes[0].Name, taint)
			return h.w.PatchNode(t.Context(), h.nodes[1].Name, taint)
		},
		"protected": func(s *Sim, h hands) error {
			s.Store.EditNode(h.nodes[0].Name, func(n *model.Node) { n.Annotations = map[string]string{model.AnnotationDoNotDisrupt: "true"} })
			s.Pass(time.Minute)
			return h.w.PatchNode(t.Context(), h.nodes[0].Name, taint)
		},
		"homes":   func(s *Sim, h hands) error { return h.w.DeleteClaim(t.Context(), h.claim(h.nodes[0]).Name) },
		"halfway": func(s *Sim, h hands) error { return h.w.PatchNode(t.Context(), h.nodes[0].Name, taint) },
		"homeless": func(s *Sim, h hands) error {
			_ = h.w.DeleteClaim(t.Context(), h.claim(h.nodes[0]).Name)
			s.Store.Delete(h.nodes[0])
			i := slices.IndexFunc(h.pods, func(p model.Pod) bool { return p.Node == h.nodes[0].Name })
			return h.w.RemovePod(t.Context(), kube.Removal{Pod: h.pods[i].Key()})
		},
		"evictions": func(s *Sim, h hands) error { return h.l.Terminate(t.Context(), h.nodes[0].ProviderID) },
		"waiting":   func(s *Sim, h hands) error { s.Scale("web", 4, s.replicas["web"].pod); return nil },
		"reasons":   func(s *Sim, h hands) error { s.Scale("web", 4, s.replicas["web"].pod); s.off = false; return nil },
		"notice": func(s *Sim, h hands) error {
			(&player{s: s}).tell(h.nodes[0].Name, model.Condition{Type: model.VMEventScheduled, Status: model.True, Reason: "RedeployScheduled"})
			s.off = false
			return nil
		},
		"repair": func(s *Sim, h hands) error {
			s.Store.SetNodeReady(h.nodes[0].Name, model.Unknown)
			s.off = false
			return nil
		},
		"static": func(s *Sim, h hands) error {
			p := s.Store.Objects().Pools[0]
			n := int64(len(h.nodes))
			p.Replicas = &n
			s.Store.Put(p)
			s.Pass(time.Minute)
			return h.w.DeleteClaim(t.Context(), h.claim(h.nodes[0]).Name)
		},
		"disks": func(s *Sim, h hands) error {
			s.Store.Put(model.Attachment{Name: "va", Node: h.nodes[0].Name, Volume: "pv"})
			return h.l.Terminate(t.Context(), h.nodes[0].ProviderID)
		},
		"leaks": func(s *Sim, h hands) error {
			t, _ := memcloud.SmallCatalog("westus3").Type("Standard_D2s_v5")
			_, err := s.Cloud.Launch(s.t.Context(), cloud.Order{Claim: "x", ClaimUID: "x", Type: t, Offering: t.Offerings[0]})
			return err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			st, err := ReadStory(setup)
			if err != nil {
				t.Fatal(err)
			}
			got := runWith(t, Config{Tick: time.Second}, func(x *Sim) { x.judge = newJudge(x) }, func(s *Sim) {
				s.Store.Put(class(), daemon())
				p := &player{s: s, began: time.Now()}
				p.play(st)
				s.Until("all run", 5*time.Minute, s.runs("web", 3))
				s.rest()
				s.Stop()
				o := s.Store.Objects()
				h := hands{&wire{Store: s.Store, sim: s, life: t.Context()}, &line{Fleet: s.Cloud, sim: s, life: t.Context()}, o.Nodes,
					func(n model.Node) model.Claim { c, _ := claimOf(o, n); return c },
					slices.DeleteFunc(o.Pods, func(p model.Pod) bool { return p.DaemonSet })}
				err := wrong(s, h)
				if err != nil {
					t.Error(err)
				}
				s.Pass(40 * time.Minute)
				s.last(0)
			})
			var kinds []string
			for _, n := range got {
				kinds = append(kinds, kindOf(n))
			}
			if kind == "nothing" && len(got) > 0 || kind != "nothing" && !slices.Contains(kinds, kind) {
				t.Errorf("noted: %q", got)
			}
		})
	}
}

// Of two nodes that leave together, one is written first. Its pods are spread over hosts, and the other is an empty host as long as it is there: together
// they may leave, whichever is first, and one a second before the other may not.
func TestWhoLeavesTogetherIsJudgedTogether(t *testing.T) {
	const setup = "0s pool a after=0s\n0s app web 2 cpu=400 mem=512 with=nobody\n0s app large 1 cpu=1700 mem=512"
	for name, x := range map[string]struct {
		emptyFirst bool
		between    time.Duration
		broken     bool
	}{"the empty one first": {emptyFirst: true}, "the empty one last": {}, "one after the other": {between: time.Second, broken: true}} {
		t.Run(name, func(t *testing.T) {
			st, err := ReadStory(setup)
			if err != nil {
				t.Fatal(err)
			}
			got := runWith(t, Config{Tick: time.Second}, func(x *Sim) { x.judge = newJudge(x) }, func(s *Sim) {
				s.Store.Put(class(), daemon())
				p := &player{s: s, began: time.Now()}
				p.play(st)
				s.Until("all run", 5*time.Minute, func() bool { return s.runs("web", 2)() && s.runs("large", 1)() })
				s.rest()
				s.Stop()
				empty := s.Pods("large")[0].Node
				s.Scale("large", 0, oneCore())
				s.Store.EditNode(empty, func(n *model.Node) { n.Cordoned = true }) // it takes nobody
				for _, p := range s.Pods("web") {
					s.Store.EditPod(p.Key(), func(p *model.Pod) {
						p.PodAntiAffinity = nil
						p.Spread = []model.Spread{{Key: model.LabelHostname, MaxSkew: 1, Hard: true,
							Selector: &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}}}
					})
				}
				s.Pass(time.Minute)
				w := &wire{Store: s.Store, sim: s, life: t.Context()}
				order := s.Store.Objects().Claims
				i := slices.IndexFunc(order, func(c model.Claim) bool { return c.NodeName == empty })
				order = []model.Claim{order[i], order[(i+1)%len(order)]}
				if !x.emptyFirst {
					slices.Reverse(order)
				}
				for _, c := range order {
					if err := w.DeleteClaim(t.Context(), c.Name); err != nil {
						t.Error(err)
					}
					s.Pass(x.between)
				}
				s.Pass(time.Minute)
			})
			homes := slices.ContainsFunc(got, func(n string) bool { return kindOf(n) == "homes" })
			if homes != x.broken {
				t.Errorf("noted: %q", got)
			}
		})
	}
}

// Whoever writes something just before the end of the time that nothing may be written in is not at rest.
func TestRestIsAskedForToTheEnd(t *testing.T) {
	runWith(t, Config{Tick: time.Second}, func(x *Sim) { x.judge = newJudge(x) }, func(s *Sim) {
		s.Store.Put(class(), daemon())
		s.rest()
		began := time.Now()
		time.AfterFunc(restFor-5*time.Second, func() { s.writes.Add(1) })
		s.rest()
		if d := time.Since(began); d < 2*restFor-10*time.Second {
			t.Errorf("at rest after %v, and something was written 5 s before", d)
		}
	})
}

// What is printed is read back, and nonsense is not.
func TestStoriesAreRead(t *testing.T) {
	for seed := range uint64(50) {
		st := Draw(seed)
		back, err := ReadStory("# a comment\n\n" + st.Text())
		if err != nil || back.Text() != st.Text() {
			t.Fatalf("seed %d: %v\n%s\nread back:\n%s", seed, err, st.Text(), back.Text())
		}
	}
	for _, text := range []string{"0s", "seed x", "soon app web 1", "0s dance"} {
		_, err := ReadStory(text)
		if err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// A story is made shorter as far as it still fails.
func TestShrink(t *testing.T) {
	st := Draw(7)
	st.Acts = append(st.Acts, Act{At: time.Hour + 123*time.Millisecond, Verb: "evict", Words: []string{"3"}})
	got := Shrink(st, func(st Story) bool {
		return slices.ContainsFunc(st.Acts, func(a Act) bool { return a.Verb == "evict" && a.Words[0] == "3" })
	})
	if want := "seed 7\n1h0m0s evict 3\n"; got.Text() != want {
		t.Errorf("got %q, want %q", got.Text(), want)
	}
}

// Pods that leave a node need all the cores of the others, and fit by memory in few ways only. One pod more fits in none.
func TestTheJudgeFindsTheTightFit(t *testing.T) {
	var o model.World
	for i, x := range [][2]int64{{7680, 14240}, {3760, 6458}, {1800, 6458}, {1800, 6458}, {300, 1338}} {
		o.Nodes = append(o.Nodes, model.Node{Name: string(rune('a' + i)), Ready: model.True,
			Allocatable: model.Resources{CPU: x[0], Memory: x[1] << 20, Pods: 30}})
	}
	var list []model.Pod
	for _, x := range []struct{ n, cpu, mem int64 }{{10, 250, 2048}, {3, 3000, 512}, {2, 500, 1024}, {10, 250, 512}} {
		for range x.n {
			list = append(list, model.Pod{Namespace: "default", Name: fmt.Sprintf("p-%d", len(list)), Node: "old",
				Requests: model.Resources{CPU: x.cpu, Memory: x.mem << 20, Pods: 1}})
		}
	}
	left, ok := allHoused(o, nil, slices.Clone(list), "old")
	if !ok {
		t.Errorf("pod %s has no place, but there is one for all", left)
	}
	list = append(list, list[0])
	list[len(list)-1].Name = "one-more"
	_, ok = allHoused(o, nil, list, "old")
	if ok {
		t.Error("all have a place, but the cores are too few for one pod more")
	}
}

// A pod that waits because a person changed its StatefulSet meanwhile, or for a machine that never joins, is nobody's fault; others are.
func TestTheJudgeExcusesWhatNobodyCouldKnow(t *testing.T) {
	for what, wrong := range map[string]bool{"a machine that never joins": false, "a machine too small, that never joins": true, "no machine": true} {
		t.Run(what, func(t *testing.T) {
			Run(t, Config{}, func(s *Sim) {
				s.judge = newJudge(s)
				p := oneCore()
				p.Namespace, p.Name, p.Labels, p.Unschedulable = "default", "web-1", map[string]string{"app": "web"}, true
				l := &lineage{app: "web", lost: time.Now(), asked: p.Requests}
				o := model.World{Pods: []model.Pod{p}}
				c := model.Claim{Name: "slow", UID: "slow", Labels: map[string]string{}, Allocatable: model.Resources{CPU: 1900, Memory: 4 << 30, Pods: 30}}
				switch what {
				case "a machine too small, that never joins":
					c.Allocatable.CPU = 500
					fallthrough
				case "a machine that never joins":
					s.silent[c.UID] = true
					o.Claims = append(o.Claims, c)
				}
				if got := !s.judge.unforeseen(o, &p, l); got != wrong {
					t.Errorf("held against the controller: %v, want %v", got, wrong)
				}
			})
		})
	}
}
