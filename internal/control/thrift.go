package control

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/karpenter-aks/karpenter/internal/world"
)

const (
	// collectAt is by how many per cent the heap may grow until it is collected; Go's own default is 100. Most of it is pods, which stay: with 150,000 of them that is 170 MB
	// of live heap, and a collection takes 0.3 s of processor time, every ten seconds or so under a hundred changes a second.
	collectAt = 50
	// readFor is how long after the first picture is whole the loops have looked at everything once.
	readFor = 20 * time.Second
)

// Thrift has the process keep little memory beside what lives, and give back what reading all of the cluster took once that is done. What users ask of Go's
// collector (GOGC) holds instead. It changes settings of the whole process, so only its main function calls it. It returns when
// it is done, or ctx is.
func Thrift(ctx context.Context, w *world.World) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	for ctx.Err() == nil && !w.IsSynced() {
		sleep(ctx, time.Second)
	}
	sleep(ctx, readFor)
	if ctx.Err() == nil {
		debug.FreeOSMemory()
	}
}
