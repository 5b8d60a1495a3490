package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

// What stories tell of StatefulSets and of the disks of their pods.

const (
	diskDriver = "disk.csi.azure.com"
	// diskZone is the node label that says from where a disk is reached.
	diskZone  = "topology.disk.csi.azure.com/zone"
	diskClass = "managed-csi"
	// mostDisks is how many disks a machine of a story can have attached, as Azure's smallest sizes.
	mostDisks = 4
	// attachFor and detachFor are how long a disk takes from nowhere to a node, and from the end of its last pod there to nowhere.
	attachFor, detachFor = 8 * time.Second, 20 * time.Second
	// forcedFor is how long a disk stays attached to a node whose kubelet does not say that it is unmounted: maxWaitForUnmountDuration of
	// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
	forcedFor = 6 * time.Minute
	mostSet   = 4 // pods of a StatefulSet
)

// disks are those of a story, and what is on its way with them. Claims are named with their namespace.
type disks struct {
	zones     map[string]string    // of each claim's disk; "" = there is none yet
	idle      map[string]time.Time // attachments that no pod uses any more, since when
	attaching map[string]time.Time // claims whose disk is on its way to a node, since when
}

func newDisks() disks {
	return disks{zones: map[string]string{}, idle: map[string]time.Time{}, attaching: map[string]time.Time{}}
}

// diskCatalog sells machines that take disks.
func diskCatalog() model.Catalog {
	c := memcloud.SmallCatalog("westus3")
	for i := range c.Types {
		c.Types[i].AttachLimits = map[string]int64{diskDriver: mostDisks}
	}
	return c
}

// set makes a StatefulSet, or changes what its next pods are like.
func (p *player) set(a Act) {
	x := p.like(a)
	x.StatefulSet = true
	d := deployment{want: number(a.word(1)), pod: x, set: true, ordered: a.value("order") == "ready", disks: a.value("disk") != "no"}
	p.s.mu.Lock()
	p.s.replicas[a.word(0)] = d
	p.s.mu.Unlock()
	p.guarded(a)
}

// ordinals plays the controller of StatefulSets: pods have numbers, one that ended comes back under its name and with its disk, the highest leave first. In order,
// each comes when those before it are ready, and leaves when the one above it is gone (podManagementPolicy; k8s.io/kubernetes/pkg/controller/statefulset).
func (s *Sim) ordinals(name string, d deployment) {
	have, highest, ending := map[string]model.Pod{}, d.want, false
	for _, p := range s.see().Pods {
		if p.Labels["app"] == name {
			have[p.Name] = p
			highest, ending = max(highest, serialOf(p)+1), ending || p.Deleting()
		}
	}
	pod := func(i int) (string, model.Pod, bool) {
		key := fmt.Sprintf("%s-%d", name, i)
		p, there := have[key]
		return key, p, there
	}
	for i := highest - 1; i >= d.want; i-- {
		_, p, there := pod(i)
		if d.ordered && ending {
			break
		}
		if there && !p.Deleting() {
			s.Store.DeletePod(p.Key())
			ending = true
		}
	}
	for i := range d.want {
		key, p, there := pod(i)
		if !there {
			s.makeAs(name, key, d)
		}
		if d.ordered && (!there || p.Deleting() || !p.PodReady) {
			return
		}
	}
}

// claimed has a claim for the pod's disk; it stays when the pod goes.
func (s *Sim) claimed(p *model.Pod) {
	c := model.VolumeClaim{Namespace: p.Namespace, Name: "data-" + p.Name, Class: diskClass}
	p.VolumeClaims = []string{c.Name}
	s.mu.Lock()
	_, known := s.disks.zones[c.ObjectKey()]
	if !known {
		s.disks.zones[c.ObjectKey()] = ""
	}
	s.mu.Unlock()
	if !known {
		s.Store.Put(model.StorageClass{Name: diskClass, Provisioner: diskDriver, Waits: true}, c)
	}
}

// zones is where the disks are.
func (s *Sim) zones() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.disks.zones)
}

// claimsOf names the pod's claims.
func claimsOf(p *model.Pod) (out []string) {
	for _, name := range p.VolumeClaims {
		out = append(out, p.Namespace+"/"+name)
	}
	return out
}

// provision makes the disks that the pod lacks, in the zone of the node that the scheduler chose for it.
func (s *Sim) provision(p *model.Pod, n *model.Node) {
	for _, name := range p.VolumeClaims {
		c := model.VolumeClaim{Namespace: p.Namespace, Name: name, Class: diskClass, Volume: "pv-" + name, SelectedNode: n.Name}
		zone := n.Labels[model.LabelZone]
		s.mu.Lock()
		there := s.disks.zones[c.ObjectKey()] != ""
		if !there {
			s.disks.zones[c.ObjectKey()] = zone
		}
		s.mu.Unlock()
		if !there {
			s.Store.Put(c, model.PersistentVolume{Name: c.Volume, Driver: diskDriver, Handle: "/disks/" + name, ClaimNamespace: c.Namespace, ClaimName: c.Name,
				Terms: []model.Term{{{Key: diskZone, Op: model.In, Values: []string{zone}}}}})
		}
	}
}

// reaches reports whether the node reaches the pod's disks and can attach them beside those of the others.
func (c *cluster) reaches(p *model.Pod, n *model.Node, others []*model.Pod) bool {
	if len(p.VolumeClaims) == 0 {
		return true
	}
	for _, claim := range claimsOf(p) {
		if zone := c.zones[claim]; zone != "" && zone != n.Labels[model.LabelZone] {
			return false
		}
	}
	used := len(p.VolumeClaims)
	for _, q := range slices.Concat(c.bound[n.Name], others) {
		used += len(q.VolumeClaims)
	}
	return used <= mostDisks
}

// attach plays the controller that attaches and detaches: a disk is on one node at a time, comes where a pod is that uses it once it has left the node before,
// and leaves a node when no pod there uses it any more and the kubelet says so, or does not for long.
func (s *Sim) attach() {
	s.mu.Lock()
	none := len(s.disks.zones) == 0
	s.mu.Unlock()
	if none {
		return
	}
	o, now := s.see(), time.Now()
	users := map[string]string{} // by claim and node
	for i := range o.Pods {
		for _, claim := range claimsOf(&o.Pods[i]) {
			if o.Pods[i].Node != "" {
				users[claim] = o.Pods[i].Node
			}
		}
	}
	held := map[string]bool{}
	for _, a := range o.Attachments {
		claim := a.ClaimNamespace + "/" + a.ClaimName
		if users[claim] == a.Node {
			held[claim] = true
			delete(s.disks.idle, a.Name)
			continue
		}
		n, there := nodeNamed(o, a.Node)
		since, idle := s.disks.idle[a.Name]
		if !idle {
			since = now
			s.disks.idle[a.Name] = now
		}
		wait := detachFor
		if n.Ready != model.True {
			wait = forcedFor
		}
		if there && now.Sub(since) < wait {
			held[claim] = true
			continue
		}
		delete(s.disks.idle, a.Name)
		s.Store.Remove(a)
		if s.judge != nil && n.Deleting() {
			s.judge.stats.freed++
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(s.disks.attaching)) {
		if users[claim] == "" || held[claim] {
			delete(s.disks.attaching, claim)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(users)) {
		since, begun := s.disks.attaching[claim]
		switch {
		case held[claim]:
		case !begun:
			s.disks.attaching[claim] = now
		case now.Sub(since) >= attachFor:
			delete(s.disks.attaching, claim)
			if s.judge != nil {
				s.judge.stats.disks++
			}
			c := model.VolumeClaim{Namespace: "default", Name: claim[len("default/"):]}
			s.Store.Put(model.Attachment{Name: "va-" + c.Name + "-" + users[claim], Node: users[claim], Volume: "pv-" + c.Name,
				ClaimNamespace: c.Namespace, ClaimName: c.Name})
		}
	}
}

// mounted reports whether the pod's disks are on its node.
func mounted(o model.World, p *model.Pod) bool {
	return !slices.ContainsFunc(p.VolumeClaims, func(name string) bool {
		return !slices.ContainsFunc(o.Attachments, func(a model.Attachment) bool {
			return a.Node == p.Node && a.ClaimNamespace == p.Namespace && a.ClaimName == name
		})
	})
}

// attached looks whether every disk is on one node at most, and every pod where its disk can be.
func (j *judge) attached(o model.World) {
	on := map[string]string{}
	for _, a := range o.Attachments {
		if other := on[a.Volume]; other != "" {
			j.s.note("disks: %s is attached to %s and to %s", a.Volume, other, a.Node)
		}
		on[a.Volume] = a.Node
	}
	if len(o.Attachments) == 0 {
		return
	}
	zones := j.s.zones()
	for i := range o.Pods {
		p := &o.Pods[i]
		n, there := nodeNamed(o, p.Node)
		for _, claim := range claimsOf(p) {
			if there && zones[claim] != n.Labels[model.LabelZone] {
				j.s.note("disks: pod %s runs in %s, and its disk is in %s", p.Key(), n.Labels[model.LabelZone], zones[claim])
			}
		}
	}
}

// plugged looks for pods that wait for their disks at rest.
func (s *Sim) plugged(o model.World) {
	for i := range o.Pods {
		if p := &o.Pods[i]; p.Node != "" && !p.Deleting() && !mounted(o, p) {
			s.note("disks: pod %s waits on node %s for its disk at rest", p.Key(), p.Node)
		}
	}
}

// torn reports whether no machine whatever would take the pod because its disks are where its own rules do not let it be: with spread over zones, a disk of a
// pod that was scaled away, and came back, may be in a zone that has its share. kube-scheduler leaves such pods, and whoever wrote them must help.
func (s *Sim) torn(o model.World, p *model.Pod) bool {
	if len(p.VolumeClaims) == 0 {
		return false
	}
	zones := s.zones()
	return !slices.ContainsFunc([]string{"1", "2", "3"}, func(zone string) bool {
		n := model.Node{Name: "one-more", Labels: map[string]string{model.LabelZone: "westus3-" + zone, model.LabelHostname: "one-more"},
			Allocatable: model.Resources{CPU: roomFor, Memory: 1 << 40, Pods: 100}}
		q, w := *p, o
		q.Nominated = ""
		w.Nodes = append(slices.Clone(o.Nodes), n)
		return newCluster(w, zones).takes(&q, n.Name)
	})
}

// unplugged looks whether the machine that is about to be given back still has a disk. mu is held.
func (j *judge) unplugged(o model.World, n model.Node) {
	for _, a := range o.Attachments {
		if a.Node == n.Name {
			j.s.note("disks: the machine of node %s is given back while %s is attached to it", n.Name, a.Volume)
		}
	}
}

// drawSets draws, for three of ten stories, one or two StatefulSets. It has a source of its own, so that the rest of a story is what it would be without.
func (d *drawer) drawSets(seed uint64) {
	d.r = rand.New(rand.NewPCG(seed, 0x6469736b73))
	if !d.chance(30) {
		return
	}
	end := d.st.Acts[len(d.st.Acts)-1].At + 10*time.Minute
	for i := range 1 + d.r.IntN(2) {
		name := fmt.Sprintf("db%d", i)
		d.at = 0
		words := []any{name, 1 + d.r.IntN(mostSet), fmt.Sprintf("cpu=%d", pick(d, 100, 500, 900, 1700)), fmt.Sprintf("mem=%d", pick(d, 128, 1024, 4096)),
			"order=" + pick(d, "ready", "any"), pick(d, "", "", "", "disk=no"), pick(d, "", "", "spread=zone", "spread=host", "with=nobody"),
			pick(d, "", "pdb-max=1", "pdb-max=1", "pdb-min=1"), pick(d, "", "", "grace=1", "grace=90")}
		d.add("set", words...)
		for range d.r.IntN(4) {
			d.at = time.Duration(d.r.Int64N(int64(end))).Round(100 * time.Millisecond)
			if d.chance(60) {
				d.add("scale", name, d.r.IntN(mostSet+1))
			} else {
				d.add("end-pod", name, d.r.IntN(mostSet))
			}
		}
	}
	slices.SortStableFunc(d.st.Acts, func(a, b Act) int { return int(a.At - b.At) })
}
