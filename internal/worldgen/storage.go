package worldgen

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// FileDriver is a CSI driver whose volumes are reached from everywhere and count against no limit. Those of Driver are made in one zone.
const FileDriver = "file.csi.example.com"

// Drivers whose volumes are reached from the node that they were made on alone. HostDriver tells nodes by their names, OwnDriver by NodeLabel, which
// a node has as soon as the driver runs there.
const (
	HostDriver = "host.csi.example.com"
	OwnDriver  = "own.csi.example.com"
	NodeLabel  = "topology.own.csi.example.com/node"
)

// Storage is what a cluster holds of volumes, beside the pods that name claims. Lists are sorted by name.
type Storage struct {
	Classes []model.StorageClass
	Volumes []model.PersistentVolume
	Claims  []model.VolumeClaim
	// ClassOf says which storage class a volume is of; "" where it is not here.
	ClassOf map[string]string
}

// Stored draws a world as Small does whose pods, in place of volumes, name claims in every state that a claim may be in: bound, to be made where
// its first pod goes or at once, being made for a node, named beforehand by either side, lost, going, or not there. Pod.Volumes is empty: what
// claims stand for is the mirror's to say.
func Stored(seed uint64) (model.World, Storage) {
	g := &shelf{gen: &gen{r: rand.New(rand.NewPCG(seed, 0x73746f726564)), w: Small(seed)}, s: Storage{ClassOf: map[string]string{}}}
	g.classes()
	for range g.r.IntN(4) { // volumes that lie ready
		g.make(pick(g.gen, "hand", "hand", "waits"), model.VolumeClaim{})
	}
	shared := map[string]string{}
	for i := range g.w.Pods {
		p := &g.w.Pods[i]
		had := len(p.Volumes)
		p.Volumes, p.VolumeClaims = nil, nil
		if p.DaemonSet {
			continue
		}
		workload, _, _ := strings.Cut(p.Name, "-")
		workload = p.Namespace + "/" + workload
		for n := range 2 {
			switch name := fmt.Sprintf("data-%03d-%d", i, n); {
			case p.Node != "" && n < had:
				p.VolumeClaims = append(p.VolumeClaims, g.mounted(p, name))
				if g.chance(15) {
					shared[workload] = name
				}
			case p.Node != "" || n > 0 && !g.chance(30) || !g.chance(60):
			case n == 0 && shared[workload] != "":
				p.VolumeClaims = append(p.VolumeClaims, shared[workload])
			default:
				p.VolumeClaims = append(p.VolumeClaims, g.claim(p.Namespace, name))
				if n == 0 && g.chance(40) {
					shared[workload] = name
				}
			}
		}
		slices.Sort(p.VolumeClaims)
	}
	slices.SortFunc(g.s.Claims, func(a, b model.VolumeClaim) int { return cmp.Compare(a.ObjectKey(), b.ObjectKey()) })
	return g.w, g.s
}

// shelf is a world and its storage in the making.
type shelf struct {
	*gen
	s Storage
}

// classes draws the storage classes: "waits" and its likes make volumes where their first pod goes, "now" at once, and nobody makes those of "hand".
func (g *shelf) classes() {
	topologies := func() (out []model.Term) {
		for range g.r.IntN(3) {
			t := model.Term{req(model.LabelZone, model.In, some(g.gen, zones()...)...)}
			switch {
			case g.chance(15): // one that says nothing
				t = nil
			case g.chance(20):
				t = append(t, req(LabelFamily, model.In, pick(g.gen, "D", "E")))
			}
			out = append(out, t)
		}
		return out
	}
	g.s.Classes = []model.StorageClass{
		{Name: "files", Provisioner: FileDriver, Waits: true},
		{Name: "hand", Provisioner: "kubernetes.io/no-provisioner", Waits: true},
		{Name: "host", Provisioner: HostDriver, Waits: true},
		{Name: "now", Provisioner: Driver, Terms: topologies()},
		{Name: "own", Provisioner: OwnDriver, Waits: true},
		{Name: "waits", Provisioner: Driver, Waits: true},
		{Name: "waits-zones", Provisioner: Driver, Waits: true, Terms: topologies()},
	}
}

// make adds a volume of a class; it is the claim's if that has a name.
func (g *shelf) make(class string, c model.VolumeClaim) string {
	v := model.PersistentVolume{Name: fmt.Sprintf("pv-%03d", len(g.s.Volumes)), ClaimNamespace: c.Namespace, ClaimName: c.Name}
	switch n := g.r.IntN(10); {
	case n == 0: // nothing to attach, reached from everywhere
	case n == 1 || class == "files":
		v.Driver, v.Handle = FileDriver, v.Name
	default:
		v.Driver, v.Handle = Driver, v.Name
		if g.chance(8) {
			v.Handle = "the same disk"
		}
		v.Terms = g.volume().Terms
		if len(g.w.Nodes) > 0 && g.chance(8) {
			v.Terms = []model.Term{{req(model.LabelHostname, model.In, pick(g.gen, g.w.Nodes...).Name)}}
		}
	}
	g.s.Volumes = append(g.s.Volumes, v)
	g.s.ClassOf[v.Name] = class
	return v.Name
}

// mounted adds a claim that a pod uses where it runs.
func (g *shelf) mounted(p *model.Pod, name string) string {
	c := model.VolumeClaim{Namespace: p.Namespace, Name: name, Class: "waits", Bound: true, OnePod: g.chance(40)}
	c.Volume = g.make(c.Class, c)
	v := &g.s.Volumes[len(g.s.Volumes)-1]
	at := slices.IndexFunc(g.w.Nodes, func(n model.Node) bool { return n.Name == p.Node })
	if v.Terms != nil {
		if v.Terms = nil; g.w.Nodes[at].Labels[model.LabelZone] != "" {
			v.Terms = []model.Term{{req(model.LabelZone, model.In, g.w.Nodes[at].Labels[model.LabelZone])}}
		}
	}
	g.s.Claims = append(g.s.Claims, c)
	return name
}

// claim adds a claim for a pod that waits, in some state, and returns its name.
func (g *shelf) claim(namespace, name string) string {
	c := model.VolumeClaim{Namespace: namespace, Name: name, Class: pick(g.gen, "waits", "waits-zones", "waits-zones", "files", "host", "own"), OnePod: g.chance(40)}
	bind := func() { c.Volume, c.Bound = g.make(c.Class, c), true }
	switch n := g.r.IntN(100); {
	case n < 35:
		bind()
	case n < 65: // to be made
	case n < 71:
		if c.SelectedNode = "gone"; len(g.w.Nodes) > 0 && g.chance(80) {
			c.SelectedNode = pick(g.gen, g.w.Nodes...).Name
		}
	case n < 77:
		c.Class = pick(g.gen, c.Class, "now", "hand")
		if c.Volume = g.make(c.Class, model.VolumeClaim{}); g.chance(30) {
			c.Volume = "never-made"
		}
	case n < 82: // the volume names its claim, which does not know yet
		g.make(c.Class, c)
	case n < 86:
		c.Class = "now"
	case n < 91:
		c.Class = "hand"
	case n < 93:
		bind()
		c.Lost = true
	case n < 95:
		bind()
		c.Deleting = true
	case n < 97:
		c.Class = pick(g.gen, "", "no-such-class")
	default:
		return name // nobody made it
	}
	g.s.Claims = append(g.s.Claims, c)
	return name
}
