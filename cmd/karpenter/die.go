package main

import (
	"os"
	"strings"
	"syscall"

	"github.com/karpenter-aks/karpenter/internal/control"
)

// dieOnceEnv makes the process kill itself between two effects, once: "point:file". The file is written right before, and
// while it exists nothing happens. It is how the lab's tests show that a crash at any point is survived.
const dieOnceEnv = "KARPENTER_DIE_ONCE_AT"

// dieOnceAt returns what Parts.Mark should do for a value of dieOnceEnv; nil when the value is empty.
func dieOnceAt(value string) func(control.Point) {
	point, file, ok := strings.Cut(value, ":")
	if !ok {
		return nil
	}
	return func(p control.Point) {
		if string(p) != point {
			return
		}
		// O_EXCL: of two goroutines at the same point only one does it, and a restarted process does not do it again.
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_ = f.Close()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // SIGKILL is on its way; this goroutine must not do another thing
	}
}
