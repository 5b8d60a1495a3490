package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// A LimitRange gives the pods of a daemon more than its template says. Once one of them has been seen, machines are bought with room
// for that; before, one that is too small is bought again and again.
func TestMachinesHaveRoomForWhatDaemonsWereGiven(t *testing.T) {
	given := func(p *model.Pod) { p.Requests.CPU = 700 }
	Run(t, Config{Admit: given}, func(s *Sim) {
		d := daemon()
		d.Pod.Revision = "cilium/1"
		s.Store.Put(pool(), class(), d)
		s.Scale("small", 1, oneCore())
		s.Until("the small one runs", 2*time.Minute, s.runs("small", 1))
		bought := s.Cloud.Accepted()
		s.Scale("large", 1, core(3300)) // with 100 thousandths beside it four cores would do, with 700 they do not
		s.Until("the large one runs", 3*time.Minute, s.runs("large", 1))
		if n := s.Cloud.Accepted() - bought; n != 1 {
			t.Errorf("%d machines were bought for one pod", n)
		}
	})
}
