package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// A pod of a StatefulSet takes ten minutes to end while its node leaves: its next machine is there before it is gone, one and no more, and waits for it although nothing
// runs there.
func TestAPodThatComesBackFindsItsMachine(t *testing.T) {
	Run(t, Config{}, func(s *Sim) {
		s.furnish()
		db := oneCore()
		db.Namespace, db.Name, db.StatefulSet, db.GraceSeconds = "default", "db-0", true, 600
		s.Store.Put(db)
		pod := func() (p model.Pod) {
			for _, x := range s.Store.Objects().Pods {
				if x.Name == db.Name {
					p = x
				}
			}
			return p
		}
		s.Until("it runs", 2*time.Minute, func() bool { return pod().Node != "" })
		first := pod().Node
		s.Store.DeletePod(db.Key())
		if err := s.Store.DeleteClaim(t.Context(), s.Store.Objects().Claims[0].Name); err != nil {
			t.Fatal(err)
		}
		s.Until("its next machine is there", 3*time.Minute, func() bool {
			for _, c := range s.Store.Objects().Claims {
				if !c.Deleting() && c.Is(model.Initialized) {
					return true
				}
			}
			return false
		})
		if p := pod(); p.Node != first || !p.Deleting() {
			t.Fatalf("it is on %q, and ends: %v", p.Node, p.Deleting())
		}
		s.Until("it is gone", 11*time.Minute, func() bool { return pod().Name == "" })
		s.Store.Put(db)
		s.Until("it is back", 10*time.Second, func() bool { return pod().Node != "" && pod().Node != first })
		s.Pass(5 * time.Minute)
		if n := s.Cloud.Accepted(); n != 2 || pod().Node == "" {
			t.Errorf("%d machines were bought, and it runs on %q", n, pod().Node)
		}
	})
}
