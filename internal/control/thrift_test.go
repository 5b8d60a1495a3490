package control

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-aks/karpenter/internal/world"
)

// The collector is told at once; memory is given back when everything was read, and not before.
func TestThriftWaitsUntilEverythingIsRead(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	synctest.Test(t, func(t *testing.T) {
		w, done := world.New(), false
		go func() { Thrift(t.Context(), w); done = true }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := debug.SetGCPercent(collectAt); got != collectAt || done {
			t.Errorf("the heap may grow by %d %%, want %d; done %v before anything was read", got, collectAt, done)
		}
		w.Begin()
		w.Synced()
		time.Sleep(readFor + time.Second)
		synctest.Wait()
		if !done {
			t.Error("it waits on although everything is read")
		}
	})
}
