package sim

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

// Load that is like that of a small cluster, what it costs, and when the cluster is at rest. Stories of this package use it, and
// comparisons with other engines, which play the same load.

// Furnish puts the pool and the class of most stories into the cluster, without limits and without daemons. change, when given, changes the pool before.
func (s *Sim) Furnish(change func(*model.Pool)) {
	p := pool()
	p.Limits = nil
	if change != nil {
		change(&p)
	}
	s.Store.Put(p, class())
}

// Mixed has deployments of six shapes run, about n nodes of the small catalogue full of them. It returns their names.
func (s *Sim) Mixed(n int) (names []string) {
	for i, x := range []struct{ cpu, mem int64 }{{250, 512}, {500, 2048}, {1000, 1024}, {1700, 4096}, {900, 3072}, {300, 1500}} {
		p := model.Pod{Requests: model.Resources{CPU: x.cpu, Memory: x.mem << 20, Pods: 1}}
		names = append(names, fmt.Sprintf("app%d", i))
		s.Scale(names[i], n*520/int(x.cpu), p)
	}
	return names
}

// Halve has half of the pods of the deployments leave.
func (s *Sim) Halve(names []string) {
	s.mu.Lock()
	was := maps.Clone(s.replicas)
	s.mu.Unlock()
	for _, n := range names {
		s.Scale(n, was[n].want/2, was[n].pod)
	}
}

// AllRun reports whether there are nodes, and every pod is on one.
func (s *Sim) AllRun() bool {
	o := s.see()
	return len(o.Nodes) > 0 && !slices.ContainsFunc(o.Pods, func(p model.Pod) bool { return p.Node == "" })
}

// Picture is all of the cluster with what the small catalogue sells. It is shared, and must not be changed.
func (s *Sim) Picture() model.World {
	w := s.see()
	w.Catalogs = map[model.ClassRef]model.Catalog{class().Ref: memcloud.SmallCatalog("westus3")}
	w.Index = nil
	return w.Indexed()
}

// Price is what the nodes of the cluster cost an hour, by the small catalogue.
func (s *Sim) Price() model.Price {
	var sum model.Price
	cat := memcloud.SmallCatalog("westus3")
	for _, c := range s.see().Claims {
		t, _ := cat.Type(c.Labels[model.LabelInstanceType])
		for _, o := range t.Offerings {
			if o.Zone == c.Labels[model.LabelZone] && o.CapacityType == c.Labels[model.LabelCapacityType] {
				sum += o.Price
			}
		}
	}
	return sum
}

// AtRest holds when no node is marked and no claim says that it leaves.
func (s *Sim) AtRest() bool {
	o := s.see()
	return !slices.ContainsFunc(o.Nodes, func(n model.Node) bool {
		return n.Deleting() || n.HasTaint(model.TaintDisrupted)
	}) && !slices.ContainsFunc(o.Claims, func(c model.Claim) bool {
		return c.Deleting() || c.Annotations[model.AnnotationMove] != "" || !c.Is(model.Initialized)
	})
}

// StillSince waits until nothing was written for d, and returns when that began. It gives up after most.
func (s *Sim) StillSince(d, most time.Duration) time.Time {
	last, writes := time.Now(), s.writes.Load()
	for end := time.Now().Add(most); time.Since(last) < d && time.Now().Before(end); time.Sleep(time.Second) {
		if now := s.writes.Load(); now != writes || !s.AtRest() {
			writes, last = now, time.Now()
		}
	}
	return last
}

const (
	loadStep  = 30 * time.Minute // between changes of the load
	weekGlint = 30 * time.Second // between looks at what the cluster costs
)

// Days is what days of load were like.
type Days struct {
	Dollars  float64 // that machines cost from the beginning to the end
	Moved    int64   // pods that were asked to leave
	Bought   int     // machines
	Fleeting int     // machines that were gone within an hour of being bought
}

// Live waits until all deployments run, has them follow the sun for so many days, and then waits until all is still, for three hours at most.
func (s *Sim) Live(days int, names []string) (d Days) {
	s.Until("all run", time.Hour, s.AllRun)
	moved, bought, done := s.moved.Load(), s.Cloud.Accepted(), make(chan struct{})
	var books sync.WaitGroup
	books.Go(func() { s.spend(&d, done) })
	s.days(days, names)
	s.StillSince(10*time.Minute, 3*time.Hour)
	close(done)
	books.Wait()
	d.Moved, d.Bought = s.moved.Load()-moved, s.Cloud.Accepted()-bought
	return d
}

// days has deployments follow the sun for so many days: a third of the pods at night, all by day, and three times a day one of them doubles for a quarter of an hour.
func (s *Sim) days(n int, names []string) {
	r := rand.New(rand.NewPCG(7, 24))
	burst := map[string]time.Time{}
	s.mu.Lock()
	full := maps.Clone(s.replicas)
	s.mu.Unlock()
	began := time.Now()
	for at := time.Duration(0); at < time.Duration(n)*24*time.Hour; at += loadStep / 2 {
		for i, name := range names {
			if r.IntN(2*96) < 1 { // each quarter of an hour of 96 a day, six deployments
				burst[name] = time.Now().Add(loadStep / 2)
			}
			phase := (at + time.Duration(i)*20*time.Minute).Truncate(loadStep).Hours() / 24
			want := float64(full[name].want) * (2 - math.Cos(2*math.Pi*phase)) / 3
			if time.Now().Before(burst[name]) {
				want *= 2
			}
			s.Scale(name, int(want), full[name].pod)
		}
		time.Sleep(time.Until(began.Add(at + loadStep/2)))
	}
}

// spend adds up what the cluster costs until done is closed.
func (s *Sim) spend(d *Days, done chan struct{}) {
	seen := map[string]time.Time{}
	for {
		select {
		case <-done:
			return
		case <-time.After(weekGlint):
		}
		there := map[string]bool{}
		for _, c := range s.Store.Objects().Claims {
			if there[c.Name] = true; seen[c.Name].IsZero() {
				seen[c.Name] = c.Created
			}
		}
		for name, since := range seen {
			if !there[name] {
				delete(seen, name)
				if time.Since(since) < time.Hour {
					d.Fleeting++
				}
			}
		}
		d.Dollars += s.Price().Float() * weekGlint.Hours()
	}
}
