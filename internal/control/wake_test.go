package control

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// A loop runs when something changed that it depends on, unless it says that this is not worth it; and when its time has come.
func TestALoopRunsForWhatItDependsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &Controller{Parts: Parts{World: world.New(), Now: time.Now}}
		c.World.Begin()
		c.World.Synced()
		var passes atomic.Int64
		moot := func(what world.About) bool { return what == world.Claims }
		go c.run(ctx, loop{name: "x", idle: time.Hour, about: world.Nodes | world.Claims, moot: moot,
			pass: func(context.Context) time.Duration { passes.Add(1); return 0 }})
		since := func() int64 {
			time.Sleep(2 * time.Second)
			synctest.Wait()
			return passes.Swap(0)
		}
		since() // the first look
		for _, x := range []struct {
			o    model.Object
			want int64
		}{{model.Pod{Namespace: "d", Name: "p"}, 0}, {model.Claim{Name: "c"}, 0}, {model.Node{Name: "n"}, 1}, {model.Node{Name: "n"}, 0}} {
			c.World.Apply(model.Change{Object: x.o})
			if n := since(); n != x.want {
				t.Errorf("%T: %d passes, want %d", x.o, n, x.want)
			}
		}
		time.Sleep(time.Hour)
		if since() == 0 {
			t.Error("time alone must call it, too")
		}
		cancel()
		synctest.Wait()
	})
}
