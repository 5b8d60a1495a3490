package sim

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud/memcloud"
	"github.com/karpenter-aks/karpenter/model"
)

// big pods take a machine each.
func big() model.Pod {
	return model.Pod{Requests: model.Resources{CPU: 29_000, Memory: 1 << 30, Pods: 1}}
}

func (s *Sim) calls() (lists, looks int64) { return s.lists.Load(), s.looks.Load() }

// However long machines take, the cloud is listed after the start and then every five minutes, a machine that comes or goes costs a few
// looks, and one that serves costs none.
func TestMachinesAreFollowedOneByOneAndListedSeldom(t *testing.T) {
	const machines = 6
	for _, takes := range []time.Duration{20 * time.Second, 2 * time.Minute} {
		Run(t, Config{Cloud: memcloud.Config{Catalog: memcloud.SmallCatalog("westus3"), BootDelay: takes, DeleteDelay: takes}}, func(s *Sim) {
			p := pool()
			p.Limits = map[string]int64{model.ResourceCPU: 1_000_000}
			s.Store.Put(p, class(), daemon())
			begin := time.Now()
			seldom := func(what string, perMachine int64) {
				lists, looks := s.calls()
				if most := 2 + int64(time.Since(begin)/(5*time.Minute)); lists > most {
					t.Errorf("%s, %s each: %d lists in %s, at most %d", what, takes, lists, time.Since(begin), most)
				}
				if looks > perMachine*machines {
					t.Errorf("%s, %s each: %d looks at %d machines", what, takes, looks, machines)
				}
				s.looks.Store(0)
			}
			s.Scale("big", machines, big())
			s.Until("all run", 10*time.Minute, s.runs("big", machines))
			if n := s.Cloud.Accepted(); n != machines {
				t.Fatalf("%d machines", n)
			}
			seldom("coming", 12)
			s.Pass(time.Minute)
			s.looks.Store(0)
			s.Pass(20 * time.Minute)
			seldom("serving", 0)
			s.Scale("big", 0, big())
			s.Until("nothing is left", 15*time.Minute, s.nothingLeft)
			seldom("going", 14)
		})
	}
}

// Somebody switches a machine off, once it serves and before it has joined: its pods get another, long before any timeout.
func TestAMachineThatIsSwitchedOffIsReplaced(t *testing.T) {
	for _, join := range []time.Duration{5 * time.Second, 4 * time.Minute} {
		Run(t, Config{Join: join}, func(s *Sim) {
			s.furnish()
			s.Scale("inflate", 2, oneCore())
			off := ""
			s.Until("it can be switched off", 5*time.Minute, func() bool {
				for _, c := range s.Store.Objects().Claims {
					if (c.Is(model.Initialized) || join > time.Minute) && c.ProviderID != "" && s.Cloud.SwitchOff(c.ProviderID) {
						off = c.Name
					}
				}
				return off != ""
			})
			s.Until("it is given up", 2*time.Minute, func() bool {
				for _, c := range s.Store.Objects().Claims {
					if c.Name == off && !c.Deleting() {
						return false
					}
				}
				return true
			})
			s.Until("the pods have another", 5*time.Minute+join, s.runs("inflate", 2))
			if n := s.Cloud.Accepted(); n < 2 {
				t.Errorf("%d machines were bought", n)
			}
			s.Scale("inflate", 0, oneCore())
			s.Until("nothing is left", 10*time.Minute, s.nothingLeft)
		})
	}
}
