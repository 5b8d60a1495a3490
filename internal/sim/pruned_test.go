package sim

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
	"github.com/karpenter-aks/karpenter/model"
)

// A CRD that is older than we are drops fields from what is written. Everything works, people are told, and nothing is written again and
// again; once the CRD is replaced the fields come by themselves.
func TestFieldsThatTheCRDDoesNotKnowAreNotWrittenForEver(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.Store.Prune("status.nodes", "status.imageID")
		s.furnish()
		s.Scale("inflate", 3, oneCore())
		s.Until("they run", 3*time.Minute, s.runs("inflate", 3))
		s.Pass(5 * time.Minute) // whatever settles, has
		pools, claims := s.Store.Calls(memkube.OpPatchPool), s.Store.Calls(memkube.OpPatchClaim)
		for i := range 1800 { // the world goes on changing, which makes every loop look
			s.Store.Put(model.Namespace{Name: "n", Labels: map[string]string{"i": strconv.Itoa(i)}})
			s.Pass(time.Second)
		}
		// Once every ten minutes.
		if n := s.Store.Calls(memkube.OpPatchPool) - pools; n < 2 || n > 4 {
			t.Errorf("the pool was written %d times in half an hour", n)
		}
		if n := s.Store.Calls(memkube.OpPatchClaim) - claims; n > 0 {
			t.Errorf("claims were written %d times", n)
		}
		told := 0
		for _, e := range s.Store.Events() {
			if e.Reason == "FieldsPruned" && strings.Contains(e.Message, "status.nodes") {
				told++
			}
		}
		if told == 0 {
			t.Error("no event names the field")
		}
		s.Store.Prune()
		s.Until("the field comes with its CRD", 15*time.Minute, func() bool {
			return s.Store.Objects().Pools[0].StatusNodes == int64(len(s.Store.Objects().Nodes))
		})
	})
}
