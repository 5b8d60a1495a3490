package nomination

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// SettleLimit is how long a pod that lost the place that was bought for it waits at most before another machine is bought.
const SettleLimit = time.Minute

// settleQuiet is how long nothing may become of any planned pod before another machine is bought. kube-scheduler tries a pod that it tried in vain again
// within ten seconds of something that may be of use to it (podMaxBackoffSeconds), not at once.
const settleQuiet = 12 * time.Second

// landed is how long after its registration the pods of a claim have taken their places, or never will.
const landed = 5 * time.Minute

// Settling knows since when planned pods have been without a place, and when something last became of any. The zero value is ready. A restart
// counts anew. It holds one entry for each planned pod without a place. It is not for concurrent use.
//
// While pods of a plan take their places one after the other, kube-scheduler puts some of them where others were to go, whose places are then
// free in turn. A plan made in the midst of that finds rooms too small for one pod whose mates have not moved yet.
type Settling struct {
	lost    map[string]time.Time // by UID
	about   uint64
	stirred time.Time
}

// Look returns those of the pods that need not be bought for yet: some claim was made for them already, and pods of claims were bound, or nodes of
// claims opened, less than settleQuiet ago. It also says how long until it is worth looking again (0 = when something changes). O(pods).
func (s *Settling) Look(w model.World, buying []model.PodKey, now time.Time) (wait map[model.PodKey]bool, next time.Duration) {
	ours := planned.All(&w, func(c *model.Claim) bool { return landing(c, now) })
	uids := map[model.PodKey]string{}
	for p := range w.Indexed().Index.Unbound().All() {
		if !p.Virtual && ours[p.Key()] {
			uids[p.Key()] = p.UID
		}
	}
	if about := stir(&w, uids); about != s.about {
		s.about, s.stirred = about, now
	}
	lost := map[string]time.Time{}
	wait = map[model.PodKey]bool{}
	for _, k := range buying {
		uid, known := uids[k]
		if !known {
			continue
		}
		since, known := s.lost[uid]
		if !known {
			since = now
		}
		lost[uid] = since
		end := since.Add(SettleLimit)
		if q := s.stirred.Add(settleQuiet); q.Before(end) {
			end = q
		}
		if left := end.Sub(now); left > 0 {
			wait[k] = true
			if next == 0 || left < next {
				next = left
			}
		}
	}
	s.lost = lost
	return wait, next
}

// landing reports whether the claim's machine is on its way, or took the first pods not long ago.
func landing(c *model.Claim, now time.Time) bool {
	r, _ := model.FindCondition(c.Conditions, model.Registered)
	return !c.Deleting() && (r.Status != model.True || now.Sub(r.Since) <= landed)
}

// stir is a fingerprint of what becomes of planned pods: who of them waits, by UID, and which claims have opened.
func stir(w *model.World, waiting map[model.PodKey]string) uint64 {
	names := slices.Collect(maps.Values(waiting))
	for i := range w.Claims {
		if c := &w.Claims[i]; !c.Deleting() && c.Is(model.Registered) && len(planned.Pods(*c)) > 0 {
			names = append(names, "\x00"+c.UID)
		}
	}
	slices.Sort(names)
	h := fnv.New64a()
	for _, n := range names {
		h.Write([]byte(n))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
