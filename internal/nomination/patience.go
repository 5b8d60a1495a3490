package nomination

import (
	"maps"
	"time"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// Quiet is how long a pod may wait with a nomination to a node that takes pods while nothing becomes of any nomination. kube-scheduler
	// tries hundreds of pods a second; when it does nothing for so long, it does not mean to try this one.
	Quiet = 5 * time.Second
	// Limit is how long a pod may so wait at most, whatever becomes of others; PerHundred is added for every hundred pods that are told of a node: on a busy
	// machine kube-scheduler tries twenty a second, and to take the nomination of one whose turn is yet to come gives its room to others.
	Limit      = 30 * time.Second
	PerHundred = 5 * time.Second
	// Turns is how often one pod is told of one node and the nomination taken back, at most. After that it is told of that node no more and
	// finds a place as any pod does.
	Turns = 3
	// backAtOnce bounds how many nominations are taken back at the same time. Each makes kube-scheduler try every waiting pod.
	backAtOnce = 50
)

// turn is one pod that was told of one node.
type turn struct {
	pod  model.PodKey
	uid  string
	node string
}

func turnOf(p *model.Pod, node string) turn { return turn{p.Key(), p.UID, node} }

// Spent are the pods that are told of a node no more, by node. It is never changed once it was given out; nil = none.
type Spent map[turn]bool

func (s Spent) has(p *model.Pod, node string) bool { return len(s) > 0 && s[turnOf(p, node)] }

// stand is a nomination that was seen.
type stand struct {
	seen time.Time
	// open is since when its node takes pods; zero while it does not.
	open time.Time
}

// Patience knows which nominations lead to nothing. The zero value is ready. What stands is read from the pods; since when is
// remembered, and counted anew in the next life. It holds one entry for each waiting pod at most, and one for each turn that a
// waiting pod had. It is not for concurrent use.
type Patience struct {
	stands  map[turn]stand
	turns   map[turn]int
	stirred time.Time // when something last became of a nomination
	limit   time.Duration
	spent   Spent
}

// Spent returns the pods that had all their turns on a node.
func (p *Patience) Spent() Spent { return p.spent }

// Look returns the pods whose nomination should be taken back now, in the order of the picture, and how long until it is worth looking
// again (0 = when something changes). Only nominations of pods that we planned for are looked at. O(pods).
//
// Being nominated is nothing for which kube-scheduler tries a pod again, and the room is kept from all others for as long as the nomination
// stands. Taking it back makes it try every waiting pod.
func (p *Patience) Look(w model.World, now time.Time) (back []model.Pod, next time.Duration) {
	w = w.Indexed()
	told, waits := standing(&w, len(p.turns) > 0)
	maps.DeleteFunc(p.turns, func(t turn, _ int) bool { return !waits[t.uid] })
	stands := make(map[turn]stand, len(told))
	sites := map[string]site{}
	if len(told) > 0 {
		sites = hosts(&w)
	}
	for _, pod := range told {
		t := turnOf(pod, pod.Promised)
		s, known := p.stands[t]
		if !known {
			s.seen = now
		}
		host, there := sites[t.node]
		if takes := there && host.open && host.ready; !takes {
			s.open = time.Time{}
		} else if s.open.IsZero() {
			s.open = now
		}
		stands[t] = s
	}
	for t := range p.stands {
		if _, still := stands[t]; !still {
			p.stirred = now
		}
	}
	p.stands = stands
	p.limit = Limit + time.Duration(len(told)/100)*PerHundred
	for _, pod := range told {
		t := turnOf(pod, pod.Promised)
		left := time.Duration(0)
		if _, there := sites[t.node]; there {
			left = p.due(stands[t]).Sub(now)
		} else if p.turns[t] > 0 { // it was asked for already
			left = stands[t].seen.Add(Quiet).Sub(now)
		}
		if left <= 0 && len(back) < backAtOnce {
			back, left = append(back, *pod), Quiet
			again := stand{seen: now}
			if !stands[t].open.IsZero() {
				again.open = now
			}
			stands[t] = again
			p.take(t)
		}
		if left = max(left, pace); next == 0 || left < next {
			next = left
		}
	}
	p.settle()
	return back, next
}

// due is when a nomination should have led to a binding.
func (p *Patience) due(s stand) time.Time {
	if s.open.IsZero() { // a node is kept shut for a while
		return s.seen.Add(HoldLimit + Quiet)
	}
	quiet, last := s.open.Add(Quiet), s.open.Add(p.limit)
	if q := p.stirred.Add(Quiet); q.After(quiet) {
		quiet = q
	}
	if quiet.After(last) {
		return last
	}
	return quiet
}

func (p *Patience) take(t turn) {
	if p.turns == nil {
		p.turns = map[turn]int{}
	}
	p.turns[t]++
}

// settle makes Spent anew when it changed.
func (p *Patience) settle() {
	out := Spent{}
	for t, n := range p.turns {
		if n >= Turns {
			out[t] = true
		}
	}
	if !maps.Equal(out, p.spent) {
		p.spent = out
	}
}

// standing lists the pods that wait with a nomination of ours, in the order of the picture; and, when asked, the UIDs of all that wait.
func standing(w *model.World, all bool) (told []*model.Pod, waits map[string]bool) {
	waits = map[string]bool{}
	for p := range w.Index.Unbound().All() {
		if !p.Provisionable() || p.Virtual {
			continue
		}
		if all {
			waits[p.UID] = true
		}
		if p.Promised != "" {
			told = append(told, p)
		}
	}
	if len(told) == 0 {
		return nil, waits
	}
	ours := planned.All(w, anyClaim)
	n := 0
	for _, p := range told {
		if ours[p.Key()] {
			told[n] = p
			n++
		}
	}
	return told[:n], waits
}

func anyClaim(*model.Claim) bool { return true }

// hosts are the nodes that are there to stay, by name, and whether they take pods.
func hosts(w *model.World) map[string]site {
	out := map[string]site{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		c := w.Index.ClaimOf(n)
		if n.Deleting() || c != nil && c.Deleting() {
			continue
		}
		s := site{claim: c, node: n, open: true}
		if c != nil {
			s.open, s.ready = c.Is(model.Registered), ready(n, c)
		}
		out[n.Name] = s
	}
	return out
}
