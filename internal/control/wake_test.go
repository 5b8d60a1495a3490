package control

import (
	"context"
	"sync"
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
		c, _, _ := fragile(t)
		c.World.Begin()
		c.World.Synced()
		var passes atomic.Int64
		worth := func(what world.About) world.About { return what &^ world.Claims }
		go c.run(ctx, loop{name: "x", idle: time.Hour, about: world.Nodes | world.Claims, worth: worth,
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

// A loop that can do with a part looks at what the news names, and at everything when more than that changed, and once in idle. What may wait is gathered.
func TestALoopLooksAtWhatTheNewsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _, _ := fragile(t)
		c.World.Begin()
		c.World.Synced()
		var passes atomic.Int64
		var mu sync.Mutex // guards told
		var told []world.News
		parts := func() []world.News {
			mu.Lock()
			defer mu.Unlock()
			return told
		}
		go c.run(ctx, loop{name: "x", idle: time.Hour, about: world.Claims | world.Pods, patient: world.Pods, patience: time.Minute, parts: world.Pods,
			pass: func(context.Context) time.Duration { passes.Add(1); return 0 },
			part: func(_ context.Context, n world.News) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, n)
				return 0
			}})
		tell := func(o model.Object) { c.World.Apply(model.Change{Object: o}) }
		time.Sleep(time.Second)
		tell(model.Pod{Namespace: "d", Name: "p", Node: "a"})
		time.Sleep(30 * time.Second)
		tell(model.Pod{Namespace: "d", Name: "q", Node: "b"})
		synctest.Wait()
		if len(parts()) > 0 || passes.Load() != 1 {
			t.Errorf("%d parts and %d passes before it is time", len(parts()), passes.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(parts()) != 1 || len(parts()[0].Nodes) != 2 || passes.Load() != 1 {
			t.Errorf("parts %+v and %d passes for two pods", parts(), passes.Load())
		}
		tell(model.Claim{Name: "c"})
		time.Sleep(time.Second)
		synctest.Wait()
		if passes.Load() != 2 {
			t.Errorf("%d passes when a claim came", passes.Load())
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if passes.Load() != 4 || len(parts()) != 1 {
			t.Errorf("%d passes and %d parts(), two hours later", passes.Load(), len(parts()))
		}
		cancel()
		synctest.Wait()
	})
}
