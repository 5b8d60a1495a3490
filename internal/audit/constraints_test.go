package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

const wide = `
type D4 cpu=4 memory=16Gi zones=1,2,3 price=0.20
pool general
node n1 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
node n2 pool=general type=D4 zone=2 cpu=4 memory=16Gi initialized
`

// stage is a world and a plan that a case builds pod by pod.
type stage struct {
	t    *testing.T
	w    model.World
	p    place.Plan
	pool string
}

func newStage(t *testing.T, text string) *stage {
	t.Helper()
	w, err := worldtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, w: w, pool: "general"}
}

func app(name string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{name}}}}
}

func spread(key string, skew int32, sel *model.Selector) model.Spread {
	return model.Spread{Key: key, MaxSkew: skew, Hard: true, Selector: sel, HonorAffinity: true}
}

func near(key, name string) model.PodTerm {
	return model.PodTerm{Key: key, Selector: app(name), Namespaces: []string{"default"}}
}

// pod makes a pod with label app; node is where it runs, or "" when it waits.
func (s *stage) pod(name, app, node string, shape ...func(*model.Pod)) model.Pod {
	p := model.Pod{Namespace: "default", Name: name, Labels: map[string]string{"app": app}, Node: node, Unschedulable: node == "",
		Requests: model.Resources{CPU: 100, Pods: 1}}
	for _, f := range shape {
		f(&p)
	}
	s.w.Pods = append(s.w.Pods, p)
	slices.SortFunc(s.w.Pods, func(x, y model.Pod) int { return strings.Compare(x.Name, y.Name) })
	return p
}

func (s *stage) fits(p model.Pod, node string) {
	s.p.Existing = append(s.p.Existing, place.Nomination{Pod: p.Key(), Node: node})
}

// buy plans a D4 in one of the zones for the pods.
func (s *stage) buy(zones string, pods ...model.Pod) {
	b := place.NewClaim{Pool: s.pool, Class: worldtext.Ref("default")}
	for _, z := range strings.Split(zones, ",") {
		b.Options = append(b.Options, place.Option{Key: model.OfferingKey{Type: "D4", Zone: z, CapacityType: model.OnDemand}, Price: 200_000})
	}
	for _, p := range pods {
		b.Pods = append(b.Pods, p.Key())
		b.Requests = b.Requests.Add(p.Requests)
	}
	b.Requirements = []model.Requirement{{Key: model.LabelInstanceType, Op: model.In, Values: []string{"D4"}},
		{Key: model.LabelZone, Op: model.In, Values: strings.Split(zones, ",")}, {Key: model.LabelCapacityType, Op: model.In, Values: []string{model.OnDemand}}}
	s.p.NewClaims = append(s.p.NewClaims, b)
	s.p.Price += 200_000
}

// want checks that exactly the rules named are broken; "" means a sound plan.
func (s *stage) want(rules ...Rule) {
	s.t.Helper()
	var have []Rule
	found := Check(s.w, s.p)
	for _, f := range found {
		have = append(have, f.Rule)
	}
	slices.Sort(have)
	if have = slices.Compact(have); !slices.Equal(have, rules) {
		s.t.Errorf("want %q, found %v", rules, found)
	}
}

func TestConstraints(t *testing.T) {
	zone, host := model.LabelZone, model.LabelHostname
	spreads := func(list ...model.Spread) func(*model.Pod) {
		return func(p *model.Pod) { p.Spread = slices.Clone(list) }
	}
	joins := func(list ...model.PodTerm) func(*model.Pod) { return func(p *model.Pod) { p.PodAffinity = list } }
	shuns := func(list ...model.PodTerm) func(*model.Pod) { return func(p *model.Pod) { p.PodAntiAffinity = list } }
	port := func(ip string, n int32) func(*model.Pod) {
		return func(p *model.Pod) { p.HostPorts = []model.HostPort{{IP: ip, Protocol: "TCP", Port: n}} }
	}
	disk := func(id string, zones ...string) func(*model.Pod) {
		return func(p *model.Pod) {
			v := model.Volume{ID: id, Driver: "disk.csi.azure.com"}
			if len(zones) > 0 {
				v.Terms = []model.Term{{{Key: "topology.disk.csi.azure.com/zone", Op: model.In, Values: zones}}}
			}
			p.Volumes = append(p.Volumes, v)
		}
	}
	unmade := func(id string) func(*model.Pod) {
		return func(p *model.Pod) {
			p.Volumes = []model.Volume{{ID: id, Driver: "disk.csi.azure.com", Within: []string{"topology.disk.csi.azure.com/zone"}}}
		}
	}
	oneNode := func(id, key string) func(*model.Pod) {
		return func(p *model.Pod) {
			p.Volumes = []model.Volume{{ID: id, Driver: "local.example.com", Within: []string{key}}}
		}
	}
	onePod := func(id string) func(*model.Pod) {
		return func(p *model.Pod) { p.Volumes = []model.Volume{{ID: id, OnePod: true}} }
	}
	even := spreads(spread(zone, 1, app("a")))
	for _, c := range []struct {
		name string
		want []Rule
		make func(s *stage)
	}{
		{"two zones take turns", nil, func(s *stage) {
			for i := range 6 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", even), fmt.Sprint("n", i%2+1))
			}
		}},
		{"one zone takes all", []Rule{Spread}, func(s *stage) {
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", even), "n1")
			}
		}},
		{"a new machine in an empty zone is a domain with nobody", []Rule{Spread}, func(s *stage) {
			s.fits(s.pod("a1", "a", "", even), "n1")
			s.fits(s.pod("a2", "a", "", even), "n1")
			s.fits(s.pod("a3", "a", "", even), "n2")
			s.buy("3", s.pod("other", "b", ""))
		}},
		{"pods that run count", []Rule{Spread}, func(s *stage) {
			s.pod("old", "a", "n1")
			s.fits(s.pod("a1", "a", "", even), "n1")
		}},
		{"pods that end do not count", nil, func(s *stage) {
			s.pod("old", "a", "n1", func(p *model.Pod) { p.DeletedAt = worldtext.Epoch() })
			s.fits(s.pod("a1", "a", "", even), "n1")
		}},
		{"an old skew elsewhere is nobody's fault", nil, func(s *stage) {
			for i := range 4 {
				s.pod(fmt.Sprint("old", i), "a", "n1")
			}
			s.fits(s.pod("a1", "a", "", even), "n2")
		}},
		{"other namespaces do not count", nil, func(s *stage) {
			s.pod("old", "a", "n1", func(p *model.Pod) { p.Namespace = "other" })
			s.fits(s.pod("a1", "a", "", even), "n1")
		}},
		{"a pod that nobody counts goes anywhere within the skew", nil, func(s *stage) {
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("b", i), "b", "", even), "n1")
			}
		}},
		{"too few domains count as an empty one", []Rule{Spread}, func(s *stage) {
			three := even // wants three zones and finds two
			for i := range 4 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", three, func(p *model.Pod) { p.Spread[0].MinDomains = 3 }), fmt.Sprint("n", i%2+1))
			}
		}},
		{"a zone that the pod cannot use does not count", nil, func(s *stage) {
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", spreads(spread(zone, 1, app("a"))), func(p *model.Pod) { p.NodeSelector = map[string]string{zone: "1"} }), "n1")
			}
		}},
		{"unless the policy says that it does", []Rule{Spread}, func(s *stage) {
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", spreads(spread(zone, 1, app("a"))), func(p *model.Pod) {
					p.NodeSelector = map[string]string{zone: "1"}
					p.Spread[0].HonorAffinity = false
				}), "n1")
			}
		}},
		{"a tainted zone counts", []Rule{Spread}, func(s *stage) {
			s.w.Nodes[1].Taints = []model.Taint{{Key: "x", Effect: model.NoSchedule}}
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", spreads(spread(zone, 1, app("a")))), "n1")
			}
		}},
		{"unless taints are honoured", nil, func(s *stage) {
			s.w.Nodes[1].Taints = []model.Taint{{Key: "x", Effect: model.NoSchedule}}
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", spreads(spread(zone, 1, app("a"))), func(p *model.Pod) { p.Spread[0].HonorTaints = true }), "n1")
			}
		}},
		{"a node without one of the labels is no domain of the others", nil, func(s *stage) {
			both := spreads(spread(zone, 1, app("a")), spread("rack", 9, app("a")))
			s.w.Nodes[0].Labels["rack"] = "r"
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", both), "n1")
			}
		}},
		{"and takes no such pods", []Rule{Spread}, func(s *stage) {
			s.fits(s.pod("a", "a", "", spreads(spread("rack", 9, app("a")))), "n1")
		}},
		{"hosts fill up evenly", []Rule{Spread}, func(s *stage) {
			by := spreads(spread(host, 1, app("a")))
			s.buy("1", s.pod("a1", "a", "", by), s.pod("a2", "a", "", by))
		}},
		{"a wish is not judged", nil, func(s *stage) {
			for i := range 3 {
				s.fits(s.pod(fmt.Sprint("a", i), "a", "", spreads(spread(zone, 1, app("a"))), func(p *model.Pod) { p.Spread[0].Hard = false }), "n1")
			}
		}},
		{"every option must do", []Rule{Spread}, func(s *stage) {
			s.buy("1,3", s.pod("a1", "a", "", even))
			s.buy("3", s.pod("a2", "a", "", even))
			s.fits(s.pod("a3", "a", "", even), "n2")
		}},
		{"pods of one kind meet where one started", nil, func(s *stage) {
			j := joins(near(zone, "a"))
			s.fits(s.pod("a1", "a", "", j), "n1")
			s.buy("1", s.pod("a2", "a", "", j))
		}},
		{"and nowhere else", []Rule{Affinity}, func(s *stage) {
			j := joins(near(zone, "a"))
			s.fits(s.pod("a1", "a", "", j), "n1")
			s.buy("2", s.pod("a2", "a", "", j))
		}},
		{"one that runs decides where", []Rule{Affinity}, func(s *stage) {
			s.pod("a1", "a", "n1")
			s.buy("2", s.pod("a2", "a", "", joins(near(zone, "a"))))
		}},
		{"a pod waits for the one it looks for", nil, func(s *stage) {
			s.fits(s.pod("a", "a", "", joins(near(zone, "b"))), "n1")
			s.fits(s.pod("b", "b", ""), "n1")
		}},
		{"and cannot start alone", []Rule{Affinity}, func(s *stage) { s.fits(s.pod("a", "a", "", joins(near(zone, "b"))), "n1") }},
		{"a pod that ends is found while it is there", nil, func(s *stage) {
			s.pod("b", "b", "n1", func(p *model.Pod) { p.DeletedAt = worldtext.Epoch() })
			s.fits(s.pod("a", "a", "", joins(near(zone, "b"))), "n1")
		}},
		{"and holds nobody back", nil, func(s *stage) {
			s.pod("a1", "a", "n1", func(p *model.Pod) { p.DeletedAt = worldtext.Epoch() })
			s.fits(s.pod("a2", "a", "", joins(near(zone, "a"))), "n2")
		}},
		{"the first of a kind is bound first", nil, func(s *stage) {
			s.buy("1", s.pod("a1", "a", "", even), s.pod("a2", "a", "", even))
			s.buy("2", s.pod("a3", "a", "", even, joins(near(zone, "a"))), s.pod("a4", "a", "", even, joins(near(zone, "a"))))
		}},
		{"two who look for each other never start", []Rule{Affinity}, func(s *stage) {
			s.fits(s.pod("a", "a", "", joins(near(zone, "b"))), "n1")
			s.fits(s.pod("b", "b", "", joins(near(zone, "a"))), "n1")
		}},
		{"a machine without the label has no domain", []Rule{Affinity}, func(s *stage) { s.fits(s.pod("a", "a", "", joins(near("rack", "a"))), "n1") }},
		{"an open zone is no place to meet", []Rule{Affinity}, func(s *stage) {
			s.pod("a1", "a", "n1")
			s.buy("1,2", s.pod("a2", "a", "", joins(near(zone, "a"))))
		}},
		{"but one machine is, wherever it stands", nil, func(s *stage) {
			j := joins(near(zone, "a"))
			s.buy("1,2", s.pod("a1", "a", "", j), s.pod("a2", "a", "", j))
		}},
		{"two open machines may miss each other", []Rule{Affinity}, func(s *stage) {
			j := joins(near(zone, "a"))
			s.buy("1,2", s.pod("a1", "a", "", j))
			s.buy("1,2", s.pod("a2", "a", "", j))
		}},
		{"who refuses pods does not meet them", []Rule{AntiAffinity}, func(s *stage) {
			s.pod("b", "b", "n1")
			s.fits(s.pod("a", "a", "", shuns(near(host, "b"))), "n1")
		}},
		{"who is refused by a pod that runs stays away", []Rule{AntiAffinity}, func(s *stage) {
			s.pod("b", "b", "n1", shuns(near(zone, "a")))
			s.buy("1", s.pod("a", "a", ""))
		}},
		{"one of each kind per host", nil, func(s *stage) {
			s.fits(s.pod("a1", "a", "", shuns(near(host, "a"))), "n1")
			s.fits(s.pod("a2", "a", "", shuns(near(host, "a"))), "n2")
			s.buy("1", s.pod("a3", "a", "", shuns(near(host, "a"))))
		}},
		{"not two", []Rule{AntiAffinity}, func(s *stage) {
			s.buy("1", s.pod("a3", "a", "", shuns(near(host, "a"))), s.pod("a4", "a", "", shuns(near(host, "a"))))
		}},
		{"who says it twice refuses nobody more", nil, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", shuns(near(zone, "a"), near(zone, "a"))))
		}},
		{"open zones may be the same zone", []Rule{AntiAffinity}, func(s *stage) {
			s.buy("1,2", s.pod("a3", "a", "", shuns(near(zone, "a"))))
			s.buy("2,3", s.pod("a4", "a", "", shuns(near(zone, "a"))))
		}},
		{"namespaces are picked by label", []Rule{AntiAffinity}, func(s *stage) {
			s.w.Namespaces = []model.Namespace{{Name: "other", Labels: map[string]string{"team": "x"}}}
			s.pod("b", "b", "n1", func(p *model.Pod) { p.Namespace = "other" })
			term := model.PodTerm{Key: host, Selector: app("b"), NamespaceSelector: &model.Selector{Requirements: []model.Requirement{{Key: "team", Op: model.Exists}}}}
			s.fits(s.pod("a", "a", "", shuns(term)), "n1")
		}},
		{"a namespace that nobody picked does not matter", nil, func(s *stage) {
			s.pod("b", "b", "n1", func(p *model.Pod) { p.Namespace = "other" })
			s.fits(s.pod("a", "a", "", shuns(near(host, "b"))), "n1")
		}},
		{"a port is taken once", []Rule{Ports}, func(s *stage) {
			s.pod("old", "b", "n1", port("", 80))
			s.fits(s.pod("a", "a", "", port("10.0.0.1", 80)), "n1")
		}},
		{"also on a new machine", []Rule{Ports}, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", port("0.0.0.0", 80)), s.pod("b", "b", "", port("10.0.0.1", 80)))
		}},
		{"and by daemons", []Rule{Ports}, func(s *stage) {
			s.w.Daemons = []model.Daemon{{Name: "d", Pod: model.Pod{HostPorts: []model.HostPort{{Port: 80}}}}}
			s.buy("1", s.pod("a", "a", "", port("", 80)))
		}},
		{"two addresses are two ports", nil, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", port("10.0.0.2", 80)), s.pod("b", "b", "", port("10.0.0.1", 80)), s.pod("c", "c", "", port("::", 80)))
		}},
		{"a volume is where it is", []Rule{Volumes}, func(s *stage) { s.buy("1", s.pod("a", "a", "", disk("v1", "2"))) }},
		{"for every option", []Rule{Volumes}, func(s *stage) { s.buy("1,2", s.pod("a", "a", "", disk("v1", "2"))) }},
		{"one that is yet to be made is in one zone", []Rule{Volumes}, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", unmade("v1")))
			s.buy("2", s.pod("b", "b", "", unmade("v1")))
		}},
		{"for sure", []Rule{Volumes}, func(s *stage) {
			s.buy("1,2", s.pod("a", "a", "", unmade("v1")))
			s.fits(s.pod("b", "b", "", unmade("v1")), "n1")
		}},
		{"whichever it is", nil, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", unmade("v1")))
			s.fits(s.pod("b", "b", "", unmade("v1")), "n1")
			s.buy("2", s.pod("c", "c", "", unmade("v2")))
		}},
		{"or on one machine", nil, func(s *stage) {
			s.buy("1,2", s.pod("a", "a", "", unmade("v1")), s.pod("b", "b", "", unmade("v1")))
		}},
		{"of a driver that reaches one node only", []Rule{Volumes}, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", oneNode("v1", host)))
			s.buy("1", s.pod("b", "b", "", oneNode("v1", host)))
		}},
		{"on two machines of which nobody knows the driver's label", []Rule{Volumes}, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", oneNode("v1", "topology.example.com/node")))
			s.buy("1", s.pod("b", "b", "", oneNode("v1", "topology.example.com/node")))
		}},
		{"on that node", nil, func(s *stage) {
			s.fits(s.pod("a", "a", "", oneNode("v1", host)), "n1")
			s.fits(s.pod("b", "b", "", oneNode("v1", host)), "n1")
		}},
		{"for one pod at a time", []Rule{Volumes}, func(s *stage) {
			s.buy("1", s.pod("a", "a", "", onePod("v1")), s.pod("b", "b", "", onePod("v1")))
		}},
		{"which runs already", []Rule{Volumes}, func(s *stage) {
			s.pod("old", "b", "n1", onePod("v1"))
			s.buy("1", s.pod("a", "a", "", onePod("v1")))
		}},
		{"or is over", nil, func(s *stage) {
			s.pod("old", "b", "n1", onePod("v1"), func(p *model.Pod) { p.Terminal = true })
			s.buy("1", s.pod("a", "a", "", onePod("v1")), s.pod("c", "c", "", onePod("v2")))
		}},
		{"or moves itself", nil, func(s *stage) {
			s.w.Nodes[0].DeletedAt = s.w.Nodes[0].Created.Add(1)
			s.buy("2", s.pod("old", "b", "n1", onePod("v1")))
		}},
		{"also on nodes", []Rule{Volumes}, func(s *stage) { s.fits(s.pod("a", "a", "", disk("v1", "2")), "n1") }},
		{"two volumes must meet", []Rule{Volumes}, func(s *stage) { s.buy("2", s.pod("a", "a", "", disk("v1", "2", "3"), disk("v2", "1", "3"))) }},
		{"where both can be reached", nil, func(s *stage) { s.buy("3", s.pod("a", "a", "", disk("v1", "2", "3"), disk("v2", "1", "3"))) }},
		{"a full node attaches nothing new", []Rule{Attach}, func(s *stage) {
			s.w.Nodes[0].AttachLimits = map[string]int64{"disk.csi.azure.com": 1}
			s.pod("old", "b", "n1", disk("v1"))
			s.fits(s.pod("a", "a", "", disk("v2")), "n1")
		}},
		{"but shares what it has", nil, func(s *stage) {
			s.w.Nodes[0].AttachLimits = map[string]int64{"disk.csi.azure.com": 1}
			s.pod("old", "b", "n1", disk("v1"))
			s.fits(s.pod("a", "a", "", disk("v1")), "n1")
		}},
		{"a new machine has a limit too", []Rule{Attach}, func(s *stage) {
			types := s.w.Catalogs[worldtext.Ref("default")].Types
			types[0].AttachLimits = map[string]int64{"disk.csi.azure.com": 1}
			s.buy("1", s.pod("a", "a", "", disk("v1")), s.pod("b", "b", "", disk("v2")))
		}},
		{"the heavy pool sells first", []Rule{Weights}, func(s *stage) {
			s.w.Pools = append(s.w.Pools, s.w.Pools[0])
			s.w.Pools[1].Name, s.w.Pools[1].Weight = "heavy", 10
			s.buy("1", s.pod("a", "a", ""))
		}},
		{"unless it cannot", nil, func(s *stage) {
			s.w.Pools = append(s.w.Pools, s.w.Pools[0])
			s.w.Pools[1].Name, s.w.Pools[1].Weight, s.w.Pools[1].Taints = "heavy", 10, []model.Taint{{Key: "x", Effect: model.NoSchedule}}
			s.buy("1", s.pod("a", "a", ""))
		}},
		{"pods that move are counted where they go", nil, func(s *stage) {
			s.w.Nodes[0].DeletedAt = worldtext.Epoch()
			s.buy("1", s.pod("a1", "a", "n1", even))
			s.pod("a2", "a", "n2", even)
		}},
		{"a zone that goes away with its node stops counting", nil, func(s *stage) {
			s.w.Nodes[0].DeletedAt = worldtext.Epoch()
			s.fits(s.pod("a1", "a", "", even), "n2")
			s.fits(s.pod("a2", "a", "", even), "n2")
		}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			s := newStage(t, wide)
			c.make(s)
			s.want(c.want...)
		})
	}
}
